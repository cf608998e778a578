/// Operators that depend on the order of elements along an axis.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// The `k` (late-able) largest or smallest elements along `axis`, best first, and their i64 positions. Of equal
/// elements the one at the lower position comes first; NaN counts as above all numbers.
struct TopKAttrs {
  int64_t axis = -1;
  bool largest = true;
  Dim k;
  static constexpr auto fields = std::make_tuple(field("axis", &TopKAttrs::axis), field("largest", &TopKAttrs::largest),
                                                 field("k", &TopKAttrs::k));
};
extern const Operator kTopK;

/// The i64 position of the largest (ArgMax) or smallest (ArgMin) element along `axis`; of equal ones the first, or with
/// `select_last` the last. A NaN is both larger and smaller than all numbers, as in Max and Min.
struct ArgAttrs {
  int64_t axis = 0;
  bool keep_dims = true;
  bool select_last = false;
  static constexpr auto fields =
      std::make_tuple(field("axis", &ArgAttrs::axis), field("keep_dims", &ArgAttrs::keep_dims),
                      field("select_last", &ArgAttrs::select_last));
};
extern const Operator kArgMax;
extern const Operator kArgMin;

/// Sums (CumSum) or products (CumProd) of all elements up to each along `axis` (late-able): without the element itself
/// if `exclusive`, from the end if `reverse`.
struct CumulativeAttrs {
  int64_t axis = 0;
  bool exclusive = false;
  bool reverse = false;
  static constexpr auto fields =
      std::make_tuple(field("axis", &CumulativeAttrs::axis), field("exclusive", &CumulativeAttrs::exclusive),
                      field("reverse", &CumulativeAttrs::reverse));
};
extern const Operator kCumSum;
extern const Operator kCumProd;

/// Matrices of the last two axes with zeros below (`upper`) or above the diagonal `k` (late-able).
struct TriluAttrs {
  bool upper = true;
  Dim k;
  static constexpr auto fields = std::make_tuple(field("upper", &TriluAttrs::upper), field("k", &TriluAttrs::k));
};
extern const Operator kTrilu;

/// Operands data, lengths (i64 [batch]). In each sequence of `batch_axis` the first lengths[b] elements along
/// `time_axis` in reverse order. The axes are 0 and 1.
struct ReverseSequenceAttrs {
  int64_t batch_axis = 1;
  int64_t time_axis = 0;
  static constexpr auto fields = std::make_tuple(field("batch_axis", &ReverseSequenceAttrs::batch_axis),
                                                 field("time_axis", &ReverseSequenceAttrs::time_axis));
};
extern const Operator kReverseSequence;

}  // namespace strop::ops
