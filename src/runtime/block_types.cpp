#include "runtime/block_types.h"

namespace strop::runtime {
namespace {

constexpr size_t kMaxTerms = 64;
constexpr size_t kMaxText = 4096;
constexpr size_t kBudget = size_t{1} << 22;  // of all expressions of a block, in characters and pairs of terms

size_t term_count(const Dim& dim) { return dim.is_constant() ? 1 : dim.terms().size(); }

Dim compute(const plan::ShapeInstr& instr, const Dim& a, const Dim& b) {
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

BlockTypes::BlockTypes(const plan::Block& block) : block_(block) {
  const plan::ShapeProgram& shapes = block.shapes;
  size_t spent = 0;
  for (size_t i = 0; i < shapes.instrs.size(); ++i) {
    const plan::ShapeInstr& instr = shapes.instrs[i];
    const Dim opaque = Dim::symbol(fmt::format("?register.{}", i));
    if (instr.op == plan::ShapeOp::Constant) {
      registers_.emplace_back(instr.value);
      continue;
    }
    if (instr.op == plan::ShapeOp::Symbol) {
      registers_.push_back(Dim::symbol(shapes.symbols[static_cast<size_t>(instr.value)]));
      continue;
    }
    const Dim& a = registers_[static_cast<size_t>(instr.a)];
    const Dim& b = registers_[static_cast<size_t>(instr.b)];
    spent += term_count(a) * term_count(b);
    const bool by_zero = (instr.op == plan::ShapeOp::FloorDiv || instr.op == plan::ShapeOp::Mod) && b == Dim(0);
    if (by_zero || spent > kBudget || term_count(a) > kMaxTerms || term_count(b) > kMaxTerms) {
      registers_.push_back(opaque);
      continue;
    }
    Dim result = compute(instr, a, b);
    const size_t length = result.is_constant() ? 0 : result.to_string().size();
    spent += length;
    registers_.push_back(length > kMaxText ? opaque : std::move(result));
  }
  for (size_t i = 0; i < shapes.symbols.size(); ++i)
    ranges_[shapes.symbols[i]] = {block.ranges[i].min, block.ranges[i].max};
}

Type BlockTypes::of(int32_t value) const {
  return value == plan::kNone ? Type() : type(block_.values[static_cast<size_t>(value)].type);
}

Type BlockTypes::type(const plan::TypeDesc& desc) const {
  switch (desc.kind) {
    case TypeKind::None: return {};
    case TypeKind::Sequence: return Type::sequence(parse_type(desc.element).value());
    case TypeKind::Optional: return Type::optional(parse_type(desc.element).value());
    case TypeKind::Tensor: break;
  }
  if (desc.dtype == DType::Undefined) return {};
  if (!desc.dims) return Type::unranked(desc.dtype);
  Dims dims;
  for (const plan::Reg reg : *desc.dims) dims.push_back(registers_[static_cast<size_t>(reg)]);
  return TensorType{desc.dtype, std::move(dims), desc.layout};
}

}  // namespace strop::runtime
