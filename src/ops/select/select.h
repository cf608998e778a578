/// Operators whose result's size depends on data.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// Operands data, condition (bool vector). The slices along `axis` at which the condition holds, or with `flatten` the
/// elements of the flattened data. A condition that is shorter stands for false beyond its end.
struct CompressAttrs {
  bool flatten = true;
  int64_t axis = 0;
  static constexpr auto fields =
      std::make_tuple(field("flatten", &CompressAttrs::flatten), field("axis", &CompressAttrs::axis));
};
extern const Operator kCompress;

/// i64 [rank, n]: the coordinates of the elements that are not zero, in row-major order. A scalar gives [0, n].
extern const Operator kNonZero;

/// The distinct slices along `axis`, or with `flatten` the distinct elements; ascending if `sorted`, else in order of
/// first occurrence. Results: them; and i64 vectors: where each occurs first, which of them each input slice is, how
/// often each occurs.
struct UniqueAttrs {
  bool flatten = true;
  int64_t axis = 0;
  bool sorted = true;
  static constexpr auto fields =
      std::make_tuple(field("flatten", &UniqueAttrs::flatten), field("axis", &UniqueAttrs::axis),
                      field("sorted", &UniqueAttrs::sorted));
};
extern const Operator kUnique;

}  // namespace strop::ops
