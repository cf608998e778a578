// Types and shapes between the plan and the public API.
#include "api/impl.h"
#include "api/strides.h"
#include "runtime/block_types.h"

namespace strop::api {

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
  const runtime::BlockTypes symbolic(block);
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
    const Type type = symbolic.type(port.type);
    for (const Dim& dim : type.tensor.dims()) {
      const auto value = dim.evaluate([&](const std::string& symbol) -> std::optional<int64_t> {
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
