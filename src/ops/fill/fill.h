/// Tensors made of nothing but attributes and small operands.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// `shape` (late-able) filled with the only element of `value`, whose dtype is the result's. No other operands.
struct FillAttrs {
  Dims shape;
  Tensor value;
  static constexpr auto fields = std::make_tuple(field("shape", &FillAttrs::shape), field("value", &FillAttrs::value));
};
extern const Operator kFill;

/// Operands start, limit, delta: scalars of one numeric dtype. start + i * delta for i in
/// [0, max(ceil((limit - start) / delta), 0)).
extern const Operator kRange;

/// Ones on the diagonal `k` (to the right of the main one where positive) of a matrix with the operand's shape.
struct EyeLikeAttrs {
  DType dtype = DType::F32;
  int64_t k = 0;
  static constexpr auto fields = std::make_tuple(field("dtype", &EyeLikeAttrs::dtype), field("k", &EyeLikeAttrs::k));
};
extern const Operator kEyeLike;

/// Operands indices (any numeric dtype), values ([off, on]). A new axis of `depth` (late-able) elements at `axis` of
/// the result: on where its coordinate is the index, off elsewhere. Negative indices count from depth; others give off.
struct OneHotAttrs {
  int64_t axis = -1;
  Dim depth;
  static constexpr auto fields =
      std::make_tuple(field("axis", &OneHotAttrs::axis), field("depth", &OneHotAttrs::depth));
};
extern const Operator kOneHot;

}  // namespace strop::ops
