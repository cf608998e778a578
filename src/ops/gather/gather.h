/// Elements picked by index tensors (i32 or i64; negative indices count from the end).
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// Operands data, indices. Along `axis` of the data the slices that `indices` name: the result's shape is
/// data[:axis] + indices + data[axis + 1:].
struct GatherAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::make_tuple(field("axis", &GatherAttrs::axis));
};
extern const Operator kGather;

/// Operands data, indices of the same rank. result[i][j]… = data[i][…indices[i][j]… at `axis`…]; the shape is indices'.
extern const Operator kGatherElements;  // GatherAttrs

/// Operands data, indices. The last axis of `indices` holds index tuples into data after its first `batch_dims` axes,
/// which both operands share.
struct GatherNDAttrs {
  int64_t batch_dims = 0;
  static constexpr auto fields = std::make_tuple(field("batch_dims", &GatherNDAttrs::batch_dims));
};
extern const Operator kGatherND;

}  // namespace strop::ops
