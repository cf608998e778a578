// Types and tensors that If, Loop and Scan share.
#include <algorithm>
#include <set>

#include "ops/control/control.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

Error different(const Type& a, const Type& b) {
  return violates("{} and {} do not go together", to_string(a), to_string(b));
}

bool is_unranked(const Type& type) { return type.is_tensor() && !type.tensor.has_rank(); }

/// Every unbacked symbol in the type.
void add_unbacked(const Dim& dim, std::set<std::string>& into) {
  for (const std::string& symbol : dim.symbols()) {
    if (symbol.starts_with('?')) into.insert(symbol);
  }
}

void add_unbacked(const Type& type, std::set<std::string>& into) {
  if (type.element) return add_unbacked(*type.element, into);
  if (!type.is_tensor() || !type.tensor.has_rank()) return;
  for (const Dim& dim : type.tensor.dims()) add_unbacked(dim, into);
}

Type hide(const Type& type, const std::set<std::string>& visible, InferContext& ctx) {
  if (type.kind == TypeKind::Sequence) return Type::sequence(hide(*type.element, visible, ctx));
  if (type.kind == TypeKind::Optional) return Type::optional(hide(*type.element, visible, ctx));
  if (!type.is_tensor() || !type.tensor.has_rank()) return type;
  Type result = type;
  for (Dim& dim : *result.tensor.shape) {
    std::set<std::string> used;
    add_unbacked(dim, used);
    if (!std::includes(visible.begin(), visible.end(), used.begin(), used.end())) dim = ctx.unbacked();
  }
  return result;
}

/// The number of elements before and after an axis.
struct Split {
  int64_t outer = 1;
  int64_t inner = 1;
};

Split split_at(const std::vector<int64_t>& dims, int64_t axis, int64_t inner_from) {
  Split split;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (static_cast<int64_t>(i) < axis) split.outer *= dims[i];
    if (static_cast<int64_t>(i) >= inner_from) split.inner *= dims[i];
  }
  return split;
}

}  // namespace

CarriedTypes::CarriedTypes(std::vector<Type> initial, FunctionRef<Dim()> fresh) : types_(std::move(initial)) {
  for (const Type& type : types_) {
    Dims& slots = slots_.emplace_back();
    if (!type.is_tensor() || !type.tensor.has_rank()) continue;
    for (int64_t axis = 0; axis < type.tensor.rank(); ++axis) slots.push_back(fresh());
  }
}

Result<bool> CarriedTypes::widen(std::span<const Type> returned) {
  STROP_CHECK(returned.size() == types_.size(), "{} types for {} carried values", returned.size(), types_.size());
  bool changed = false;
  for (size_t i = 0; i < types_.size(); ++i) {
    size_t axis = 0;
    Type& type = types_[i];
    const bool in_slots = type.is_tensor() && type.tensor.has_rank();
    Type wider = type;
    if (in_slots && returned[i].is_tensor() && returned[i].tensor.has_rank() &&
        returned[i].tensor.rank() == type.tensor.rank() && returned[i].tensor.dtype == type.tensor.dtype) {
      for (Dim& dim : *wider.tensor.shape) {
        const Dim& slot = slots_[i][axis];
        if (!(dim == slot) && !(dim == returned[i].tensor.dim(static_cast<int64_t>(axis)))) dim = slot;
        ++axis;
      }
    } else {
      // Inside sequences a dimension that differs makes the rank unknown: no symbol could stand for all items.
      auto common = common_type(type, returned[i], [] { return Dim::symbol("?item"); });
      if (!common.ok()) return error(common.error().code, "(C3) carried value {}: {}", i, common.error().message);
      wider = std::move(common).value();
    }
    changed |= !(wider == type);
    type = std::move(wider);
  }
  return changed;
}

Result<Type> common_type(const Type& a, const Type& b, FunctionRef<Dim()> fresh) {
  if (a == b) return a;
  if (a.kind == TypeKind::Optional && b.kind != TypeKind::Optional) {
    STROP_ASSIGN(Type element, common_type(*a.element, b, fresh));
    return Type::optional(std::move(element));
  }
  if (b.kind == TypeKind::Optional && a.kind != TypeKind::Optional) return common_type(b, a, fresh);
  if (a.kind != b.kind) return different(a, b);
  if (a.kind == TypeKind::Sequence || a.kind == TypeKind::Optional) {
    const bool tensors = a.element->is_tensor() && b.element->is_tensor();
    if (a.kind == TypeKind::Sequence && tensors && a.element->tensor.dtype == b.element->tensor.dtype) {
      return Type::sequence(Type::unranked(a.element->tensor.dtype));
    }
    STROP_ASSIGN(Type element, common_type(*a.element, *b.element, fresh));
    return a.kind == TypeKind::Sequence ? Type::sequence(std::move(element)) : Type::optional(std::move(element));
  }
  if (!a.is_tensor() || a.tensor.dtype != b.tensor.dtype) return different(a, b);
  if (is_unranked(a) || is_unranked(b) || a.tensor.rank() != b.tensor.rank()) return Type::unranked(a.tensor.dtype);
  Type result = a;
  for (int64_t axis = 0; axis < a.tensor.rank(); ++axis) {
    Dim& dim = (*result.tensor.shape)[static_cast<size_t>(axis)];
    if (!(dim == b.tensor.dim(axis))) dim = fresh();
  }
  return result;
}

Type seen_outside(const Type& type, InferContext& ctx) {
  std::set<std::string> visible;
  for (const Type& input : ctx.inputs) add_unbacked(input, visible);
  return hide(type, visible, ctx);
}

Type without_axis(const Type& type, int64_t axis) {
  Type result = type;
  if (!type.tensor.has_rank()) return result;
  Dims& dims = *result.tensor.shape;
  dims.erase(dims.begin() + (axis < 0 ? axis + type.tensor.rank() : axis));
  return result;
}

Result<Type> with_axis(const Type& type, int64_t axis, const Dim& size) {
  if (!type.is_tensor()) return violates("a collected value must be a tensor, not {}", to_string(type));
  Type result = type;
  if (!type.tensor.has_rank()) return result;
  STROP_ASSIGN(const int64_t at, normalize_axis(axis, type.tensor.rank() + 1, "output axis"));
  Dims& dims = *result.tensor.shape;
  dims.insert(dims.begin() + at, size);
  return result;
}

Tensor take(const Tensor& tensor, int64_t axis, int64_t index) {
  const int64_t at = axis < 0 ? axis + tensor.rank() : axis;
  std::vector<int64_t> dims = tensor.dims();
  dims.erase(dims.begin() + at);
  Tensor result = Tensor::uninitialized(tensor.dtype(), dims);
  const Split split = split_at(tensor.dims(), at, at + 1);
  for (int64_t i = 0; i < split.outer; ++i) {
    copy_elements(result, i * split.inner, tensor, (i * tensor.dim(at) + index) * split.inner, split.inner);
  }
  return result;
}

int64_t total_bytes(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes();
  return bytes;
}

Result<Tensor> stack(const std::vector<Tensor>& tensors, int64_t axis) {
  const Tensor& first = tensors.front();
  STROP_ASSIGN(const int64_t at, normalize_axis(axis, first.rank() + 1, "output axis"));
  std::vector<int64_t> dims = first.dims();
  const auto size = static_cast<int64_t>(tensors.size());
  dims.insert(dims.begin() + at, size);
  for (const Tensor& tensor : tensors) {
    if (tensor.dims() == first.dims() && tensor.dtype() == first.dtype()) continue;
    return bad_data("iterations gave {} and {}, which cannot be stacked", to_string(first.type()),
                    to_string(tensor.type()));
  }
  Tensor result = Tensor::uninitialized(first.dtype(), dims);
  const Split split = split_at(dims, at, at + 1);
  for (int64_t k = 0; k < size; ++k) {
    const Tensor& tensor = tensors[static_cast<size_t>(k)];
    for (int64_t i = 0; i < split.outer; ++i) {
      copy_elements(result, (i * size + k) * split.inner, tensor, i * split.inner, split.inner);
    }
  }
  return result;
}

Result<Tensor> stack_nothing(const std::string& type_text, int64_t axis) {
  STROP_ASSIGN(const Type type, parse_type(type_text));
  std::vector<int64_t> dims;
  if (type.is_tensor() && type.tensor.has_rank()) {
    for (const Dim& dim : type.tensor.dims()) dims.push_back(dim.as_constant().value_or(0));
  }
  STROP_ASSIGN(const int64_t at, normalize_axis(axis, static_cast<int64_t>(dims.size()) + 1, "output axis"));
  dims.insert(dims.begin() + at, 0);
  return Tensor(type.tensor.dtype, std::move(dims));
}

}  // namespace strop::ops
