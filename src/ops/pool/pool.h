/// Pooling over sliding windows and over regions of interest.
#pragma once

#include <array>

#include "ops/operator.h"

namespace strop::ops {

enum class PoolKind : uint8_t {
  Max,      ///< NaN if any element is; -inf (0 for integers) if the window has none
  Average,  ///< the sum divided by the window's elements in the operand, or (count_include_pad) in the padded operand
  Lp,       ///< (sum of |x|^p)^(1/p)
};
template <>
inline constexpr auto kEnumNames<PoolKind> = std::to_array<std::string_view>({"max", "average", "lp"});

/// Operand x [N, C, spatial…], or [N, spatial…, C] with channels_last; any number of spatial axes. Vectors have one
/// entry per spatial axis; pads are all beginnings, then all ends, and may be symbolic. With ceil_mode a last window
/// may reach beyond the padded operand, but starts inside it or its leading padding. Result 0 has x's dtype and layout.
/// Result 1 (Max only) is i64 of the same shape: where the maximum (the first in row-major order) is among x's
/// elements, counted in the order [N, C, spatial…] whatever the layout, with the spatial axes in reverse order if
/// column_major_indices; -1 for an empty window.
struct PoolAttrs {
  PoolKind kind = PoolKind::Max;
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  Dims pads;
  bool ceil_mode = false;
  bool count_include_pad = false;
  double p = 2;
  bool column_major_indices = false;
  bool channels_last = false;
  static constexpr auto fields = std::make_tuple(
      field("kind", &PoolAttrs::kind), field("kernel", &PoolAttrs::kernel), field("strides", &PoolAttrs::strides),
      field("dilations", &PoolAttrs::dilations), field("pads", &PoolAttrs::pads),
      field("ceil_mode", &PoolAttrs::ceil_mode), field("count_include_pad", &PoolAttrs::count_include_pad),
      field("p", &PoolAttrs::p), field("column_major_indices", &PoolAttrs::column_major_indices),
      field("channels_last", &PoolAttrs::channels_last));
};
extern const Operator kPool;

/// A plain window: dilations 1, everything else as PoolAttrs has it.
PoolAttrs plain_window(PoolKind kind, std::vector<int64_t> kernel, std::vector<int64_t> strides, Dims pads);

/// The result's dimensions. Errors: (C2) rank, (C3) attributes, (C4) a window larger than the padded operand.
Result<Dims> pool_dims(const PoolAttrs& attrs, const Dims& x);

/// Along one axis, the taps [begin, end) of a window that starts at `start` (may be negative) which lie inside the
/// operand, and how many lie inside the padded operand.
struct PoolTaps {
  int64_t start = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t padded = 0;
};
PoolTaps pool_taps(const PoolAttrs& attrs, size_t axis, int64_t size, int64_t position);

std::vector<WorkedCase> pool_cases();

/// The reverse of max pooling: x's elements at the places that `indices` (same shape, i64) say, zeros elsewhere.
/// Indices count the elements of [N, C, (size - 1) * stride + kernel - pads per axis]; `output_shape` (late-able;
/// empty: that shape) may be larger or smaller, the elements keep their coordinates.
struct MaxUnpoolAttrs {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> pads;
  Dims output_shape;
  static constexpr auto fields =
      std::make_tuple(field("kernel", &MaxUnpoolAttrs::kernel), field("strides", &MaxUnpoolAttrs::strides),
                      field("pads", &MaxUnpoolAttrs::pads), field("output_shape", &MaxUnpoolAttrs::output_shape));
};
extern const Operator kMaxUnpool;

/// Operands x [N, C, H, W] and rois [R, 5]: image, x1, y1, x2, y2 (inclusive), multiplied by spatial_scale and rounded
/// to whole pixels. Result [R, C, height, width]: each region divided into bins, the maximum of each; 0 for an empty
/// bin.
struct MaxRoiPoolAttrs {
  int64_t height = 1;
  int64_t width = 1;
  double spatial_scale = 1;
  static constexpr auto fields =
      std::make_tuple(field("height", &MaxRoiPoolAttrs::height), field("width", &MaxRoiPoolAttrs::width),
                      field("spatial_scale", &MaxRoiPoolAttrs::spatial_scale));
};
extern const Operator kMaxRoiPool;

enum class RoiAlignMode : uint8_t {
  Average,  ///< of the samples
  Max,      ///< the largest of all samples' four weighted neighbours
};
template <>
inline constexpr auto kEnumNames<RoiAlignMode> = std::to_array<std::string_view>({"avg", "max"});

/// Operands x [N, C, H, W], rois [R, 4] (x1, y1, x2, y2, multiplied by spatial_scale), the image of each [R]
/// (integers). Result [R, C, height, width]: each bin sampled bilinearly at sampling_ratio² points (0: as many as it
/// has pixels, rounded up). With half_pixel coordinates are shifted by -0.5; without, regions are at least one pixel
/// large. Source: "Mask R-CNN" (He et al., 2017), with the border rules of the ONNX operator.
struct RoiAlignAttrs {
  RoiAlignMode mode = RoiAlignMode::Average;
  int64_t height = 1;
  int64_t width = 1;
  int64_t sampling_ratio = 0;
  double spatial_scale = 1;
  bool half_pixel = true;
  static constexpr auto fields = std::make_tuple(
      field("mode", &RoiAlignAttrs::mode), field("height", &RoiAlignAttrs::height),
      field("width", &RoiAlignAttrs::width), field("sampling_ratio", &RoiAlignAttrs::sampling_ratio),
      field("spatial_scale", &RoiAlignAttrs::spatial_scale), field("half_pixel", &RoiAlignAttrs::half_pixel));
};
extern const Operator kRoiAlign;

}  // namespace strop::ops
