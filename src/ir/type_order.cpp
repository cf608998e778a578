#include "ir/type_order.h"

namespace strop::ir {

namespace {

int specificity(const Dim& dim) {
  if (dim.is_constant()) return 2;
  return dim.is_unbacked() ? 0 : 1;
}

bool compatible_tensors(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.layout != b.layout) return false;
  if (!a.has_rank() || !b.has_rank()) return true;
  if (a.rank() != b.rank()) return false;
  for (int64_t axis = 0; axis < a.rank(); ++axis) {
    const Dim& left = a.dim(axis);
    const Dim& right = b.dim(axis);
    if (left.is_constant() && right.is_constant() && left.constant() != right.constant()) return false;
  }
  return true;
}

}  // namespace

bool compatible(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case TypeKind::None: return true;
    case TypeKind::Tensor: return compatible_tensors(a.tensor, b.tensor);
    case TypeKind::Sequence:
    case TypeKind::Optional: return compatible(*a.element, *b.element);
  }
  return false;
}

Type more_specific(const Type& a, const Type& b) {
  if (a.kind == TypeKind::Sequence) return Type::sequence(more_specific(*a.element, *b.element));
  if (a.kind == TypeKind::Optional) return Type::optional(more_specific(*a.element, *b.element));
  if (!a.is_tensor() || !b.tensor.has_rank()) return a;
  if (!a.tensor.has_rank()) return b;
  Type result = a;
  for (int64_t axis = 0; axis < a.tensor.rank(); ++axis) {
    Dim& dim = (*result.tensor.shape)[static_cast<size_t>(axis)];
    if (specificity(b.tensor.dim(axis)) > specificity(dim)) dim = b.tensor.dim(axis);
  }
  return result;
}

}  // namespace strop::ir
