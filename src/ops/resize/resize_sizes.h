/// How large the result of a Resize is.
#pragma once

#include "ops/resize/resize.h"

namespace strop::ops {

/// One of attrs.axes, settled for concrete dims (in memory order).
struct ResizedAxis {
  int64_t axis = 0;   ///< numbered as in [N, C, spatial…]
  int64_t size = 0;   ///< of the result
  double scale = 1;   ///< that coordinates are divided by
  double length = 0;  ///< the size before it was rounded
};
/// Errors: (C1) axes, (C2) counts of scales or sizes, (C3) their values.
Result<std::vector<ResizedAxis>> resized_axes(const ResizeAttrs& attrs, const std::vector<int64_t>& dims);

/// attrs.axes, or all, as non-negative distinct numbers. Error: (C1).
Result<std::vector<int64_t>> resize_axes(const ResizeAttrs& attrs, int64_t rank);

/// floor(dim * scale), or nullopt where that has no expression; constants are multiplied in f32, as scales are f32.
/// Error: (C3) a scale that is not positive, or too large.
Result<std::optional<Dim>> scaled_size(const Dim& dim, double scale);

}  // namespace strop::ops
