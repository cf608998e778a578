/// Parts of a tensor.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// Along axes[i] the elements starts[i], starts[i] + steps[i], … before ends[i]. Negative starts and ends count from
/// the axis' end; both are then clamped to the axis, so that a far end means "all". Axes that are not named are kept
/// whole. Empty `axes` means 0, 1, …; empty `steps` means 1. All four fields are late-able.
struct SliceAttrs {
  Dims axes;
  Dims starts;
  Dims ends;
  Dims steps;
  static constexpr auto fields = std::make_tuple(field("axes", &SliceAttrs::axes), field("starts", &SliceAttrs::starts),
                                                 field("ends", &SliceAttrs::ends), field("steps", &SliceAttrs::steps));
};
extern const Operator kSlice;

/// One axis' part: elements first, first + step, …, `count` of them.
struct AxisSlice {
  Dim first;
  Dim count;
  int64_t step = 1;
};
/// The part of an axis of `size` elements that [start, end) by `step` (not 0) names.
AxisSlice slice_axis(const Dim& size, const Dim& start, const Dim& end, int64_t step);

/// Concrete parts of every axis of `dims`, the whole where not named. Errors: (C1)–(C3) of Slice.
struct ConcreteSlice {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
};
Result<std::vector<ConcreteSlice>> concrete_slices(const SliceAttrs& attrs, const std::vector<int64_t>& dims);

/// Consecutive parts of `sizes` along `axis`, one output each; `sizes` is late-able. Import makes Slices where the
/// sizes are known.
struct SplitAttrs {
  int64_t axis = 0;
  Dims sizes;
  static constexpr auto fields = std::make_tuple(field("axis", &SplitAttrs::axis), field("sizes", &SplitAttrs::sizes));
};
extern const Operator kSplit;

/// Along axes[i] (empty: all) exactly shape[i] elements: cut centred where there are more, padded with zeros centred
/// where there are fewer. An odd surplus is cut, or padded, one more at the end. `shape` is late-able.
struct CenterCropPadAttrs {
  std::vector<int64_t> axes;
  Dims shape;
  static constexpr auto fields =
      std::make_tuple(field("axes", &CenterCropPadAttrs::axes), field("shape", &CenterCropPadAttrs::shape));
};
extern const Operator kCenterCropPad;

}  // namespace strop::ops
