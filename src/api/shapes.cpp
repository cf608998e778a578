// Types and shapes between the plan and the public API.
#include "api/impl.h"
#include "api/strides.h"

namespace strop::api {
namespace {

// The expression that a register computes.
Dim expression(const plan::ShapeProgram& shapes, plan::Reg reg) {
  const plan::ShapeInstr& instr = shapes.instrs[static_cast<size_t>(reg)];
  if (instr.op == plan::ShapeOp::Constant) return Dim(instr.value);
  if (instr.op == plan::ShapeOp::Symbol) return Dim::symbol(shapes.symbols[static_cast<size_t>(instr.value)]);
  const Dim a = expression(shapes, instr.a);
  const Dim b = expression(shapes, instr.b);
  switch (instr.op) {
    case plan::ShapeOp::Add: return a + b;
    case plan::ShapeOp::Mul: return a * b;
    case plan::ShapeOp::FloorDiv: return floor_div(a, b);
    case plan::ShapeOp::Mod: return mod(a, b);
    case plan::ShapeOp::Min: return min(a, b);
    case plan::ShapeOp::Max: return max(a, b);
    case plan::ShapeOp::Constant:
    case plan::ShapeOp::Symbol: break;
  }
  STROP_UNREACHABLE();
}

}  // namespace

std::vector<std::string> shape_text(const plan::TypeDesc& type, const plan::ShapeProgram& shapes) {
  std::vector<std::string> dims;
  for (const plan::Reg reg : *type.dims) dims.push_back(expression(shapes, reg).to_string());
  return dims;
}

Result<std::vector<Type>> input_types(const plan::Block& block,
                                      const std::map<std::string, std::vector<int64_t>>& shapes, int64_t unknown) {
  for (const auto& [name, dims] : shapes) {
    bool found = false;
    for (const plan::PortDesc& port : block.inputs) found = found || port.name == name;
    if (!found) return error(ErrorCode::InvalidArgument, "the engine has no input '{}'", name);
  }
  // A symbol that a given shape binds has that value in the other inputs too.
  std::map<std::string, int64_t> bound;
  for (const plan::SymbolBinding& binding : block.bindings) {
    const auto given = shapes.find(block.inputs[static_cast<size_t>(binding.input)].name);
    if (given == shapes.end() || given->second.size() <= static_cast<size_t>(binding.axis)) continue;
    bound[block.shapes.symbols[static_cast<size_t>(binding.symbol)]] = given->second[static_cast<size_t>(binding.axis)];
  }
  std::vector<Type> types;
  for (const plan::PortDesc& port : block.inputs) {
    const auto given = shapes.find(port.name);
    if (given != shapes.end()) {
      types.emplace_back(port.type.dtype, to_dims(given->second));
      continue;
    }
    if (port.type.kind != TypeKind::Tensor || !port.type.dims) {
      return error(ErrorCode::InvalidArgument, "input '{}' has no known rank: give its shape", port.name);
    }
    Dims dims;
    for (const plan::Reg reg : *port.type.dims) {
      const auto value =
          expression(block.shapes, reg).evaluate([&](const std::string& symbol) -> std::optional<int64_t> {
            const auto it = bound.find(symbol);
            return it == bound.end() ? unknown : it->second;
          });
      dims.emplace_back(value.value_or(unknown));
    }
    types.emplace_back(port.type.dtype, std::move(dims));
  }
  return types;
}

Tensor borrow(const TensorView& view) {
  if (!is_dense(view)) {
    auto dense = densify(view);
    STROP_CHECK(dense.ok(), "{}", dense.error().message);
    return std::move(*dense);
  }
  if (view.dtype != DType::String) return Tensor::borrow(view.dtype, view.shape, view.data);
  const auto* first = static_cast<const std::string*>(view.data);
  return Tensor::of_strings(view.shape, std::vector<std::string>(first, first + view.count()));
}

TensorView view_of(const Tensor& tensor) {
  return {tensor.dtype(), tensor.dims(), const_cast<void*>(tensor.raw()), {}};
}

}  // namespace strop::api
