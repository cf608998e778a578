/// Resampling: resizing along axes, and sampling at given or learned places.
#pragma once

#include <array>

#include "ops/operator.h"

namespace strop::ops {

enum class ResizeMode : uint8_t { Nearest, Linear, Cubic };
template <>
inline constexpr auto kEnumNames<ResizeMode> = std::to_array<std::string_view>({"nearest", "linear", "cubic"});

/// Which coordinate of the operand a coordinate x of the result falls on, along an axis of `in` elements whose result
/// has `length` = scale * in (not rounded) and `out` elements.
enum class ResizeCoordinates : uint8_t {
  HalfPixel,           ///< (x + 0.5) / scale - 0.5
  HalfPixelSymmetric,  ///< the same, moved so that the centres agree: + in / 2 * (1 - out / length)
  PytorchHalfPixel,    ///< HalfPixel; -0.5 where length is 1
  AlignCorners,        ///< x * (in - 1) / (length - 1); 0 where length is 1
  Asymmetric,          ///< x / scale
  TfHalfPixelForNn,    ///< (x + 0.5) / scale
  TfCropAndResize,     ///< AlignCorners on the part of the axis that `roi` names, its middle where length is 1
};
template <>
inline constexpr auto kEnumNames<ResizeCoordinates> =
    std::to_array<std::string_view>({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                     "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});

enum class ResizeRounding : uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };
template <>
inline constexpr auto kEnumNames<ResizeRounding> =
    std::to_array<std::string_view>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});

/// What becomes of sizes that would change the ratio of the axes.
enum class ResizePolicy : uint8_t {
  Stretch,     ///< taken as they are
  NotLarger,   ///< one scale for all axes: the largest with which no size is exceeded
  NotSmaller,  ///< one scale for all axes: the smallest with which every size is reached
};
template <>
inline constexpr auto kEnumNames<ResizePolicy> = std::to_array<std::string_view>({"stretch", "not_larger",
                                                                                  "not_smaller"});

/// Resizes `axes` (empty: all), either by `scales` (size floor(size * scale)) or to `sizes`, one per axis; the other is
/// empty. scales, sizes and roi (starts, then ends, as fractions of the axes; TfCropAndResize only) are late-able. Axes
/// are numbered as in [N, C, spatial…], also with channels_last, where operand and result are [N, spatial…, C].
/// Elements beyond an end are the end's, or left out (the weights adding up to 1) with exclude_outside; TfCropAndResize
/// gives extrapolation_value for coordinates outside. antialias widens the filter by 1 / scale where scale < 1.
/// Cubic: the convolution kernel of Keys (1981) with parameter cubic_coeff_a.
struct ResizeAttrs {
  ResizeMode mode = ResizeMode::Nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::HalfPixel;
  ResizeRounding rounding = ResizeRounding::RoundPreferFloor;
  ResizePolicy policy = ResizePolicy::Stretch;
  std::vector<int64_t> axes;
  std::vector<double> scales;
  Dims sizes;
  std::vector<double> roi;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_coeff_a = -0.75;
  double extrapolation_value = 0;
  bool channels_last = false;
  static constexpr auto fields = std::make_tuple(
      field("mode", &ResizeAttrs::mode), field("coordinates", &ResizeAttrs::coordinates),
      field("rounding", &ResizeAttrs::rounding), field("policy", &ResizeAttrs::policy),
      field("axes", &ResizeAttrs::axes), field("scales", &ResizeAttrs::scales), field("sizes", &ResizeAttrs::sizes),
      field("roi", &ResizeAttrs::roi), field("antialias", &ResizeAttrs::antialias),
      field("exclude_outside", &ResizeAttrs::exclude_outside), field("cubic_coeff_a", &ResizeAttrs::cubic_coeff_a),
      field("extrapolation_value", &ResizeAttrs::extrapolation_value),
      field("channels_last", &ResizeAttrs::channels_last));
};
extern const Operator kResize;

/// One resized axis of concrete sizes: result element i is the sum of weights[i * taps + k] * operand element
/// indices[i * taps + k], or the extrapolation value where outside[i].
struct ResizeAxis {
  size_t axis = 0;  ///< in memory order: channels_last is accounted for
  int64_t in = 0;
  int64_t out = 0;
  int64_t taps = 1;
  std::vector<int64_t> indices;
  std::vector<double> weights;
  std::vector<bool> outside;  ///< empty: nowhere
};
struct ResizePlan {
  std::vector<int64_t> dims;     ///< of the result, in memory order
  std::vector<ResizeAxis> axes;  ///< those that change something, in the order of attrs.axes
};
Result<ResizePlan> plan_resize(const ResizeAttrs& attrs, const std::vector<int64_t>& dims);

/// The axis' place in memory.
inline size_t resize_memory_axis(bool channels_last, int64_t axis, int64_t rank) {
  if (!channels_last || axis == 0) return static_cast<size_t>(axis);
  return static_cast<size_t>(axis == 1 ? rank - 1 : axis - 1);
}

std::vector<WorkedCase> resize_cases();

enum class GridPadding : uint8_t {
  Zeros,       ///< elements outside are 0
  Border,      ///< they are the nearest inside
  Reflection,  ///< mirrored at the borders, which are the outermost elements' centres (align_corners) or their edges
};
template <>
inline constexpr auto kEnumNames<GridPadding> = std::to_array<std::string_view>({"zeros", "border", "reflection"});

/// Operands x [N, C, spatial…] and grid [N, out spatial…, axes]: per result element a place in x, last spatial axis
/// first, from -1 to 1 between the centres (align_corners) or the edges of the outermost elements. Result
/// [N, C, out spatial…] of x's dtype. Cubic is Keys' kernel with parameter -0.75; nearest rounds halves to even.
struct GridSampleAttrs {
  ResizeMode mode = ResizeMode::Linear;
  GridPadding padding = GridPadding::Zeros;
  bool align_corners = false;
  static constexpr auto fields =
      std::make_tuple(field("mode", &GridSampleAttrs::mode), field("padding", &GridSampleAttrs::padding),
                      field("align_corners", &GridSampleAttrs::align_corners));
};
extern const Operator kGridSample;

/// Operand theta [N, k, k + 1], k = 2 or 3; `size` (late-able) is [N, C, spatial…] with k spatial axes. Result
/// [N, spatial…, k]: theta times (x, y[, z], 1) of each place in a GridSample's coordinates.
struct AffineGridAttrs {
  Dims size;
  bool align_corners = false;
  static constexpr auto fields =
      std::make_tuple(field("size", &AffineGridAttrs::size), field("align_corners", &AffineGridAttrs::align_corners));
};
extern const Operator kAffineGrid;

/// Sums overlapping blocks into an image: operand [N, C * block elements, blocks], result [N, C, image…]. image and
/// block are late-able; the others have one entry per axis, or are empty: 1 (pads, beginnings then ends: 0).
struct Col2ImAttrs {
  Dims image;
  Dims block;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;
  static constexpr auto fields = std::make_tuple(
      field("image", &Col2ImAttrs::image), field("block", &Col2ImAttrs::block), field("strides", &Col2ImAttrs::strides),
      field("dilations", &Col2ImAttrs::dilations), field("pads", &Col2ImAttrs::pads));
};
extern const Operator kCol2Im;

/// Convolution whose taps are moved and weighted. Operands x [N, C, H, W], w [M, C/group, kH, kW],
/// offset [N, offset_group * kH * kW * 2, oH, oW] (y, then x per tap), bias [M] or none,
/// mask [N, offset_group * kH * kW, oH, oW] or none. Taps are sampled bilinearly; elements outside are 0.
/// Source: "Deformable ConvNets v2" (Zhu et al., 2018).
struct DeformConvAttrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;
  int64_t group = 1;
  int64_t offset_group = 1;
  static constexpr auto fields =
      std::make_tuple(field("strides", &DeformConvAttrs::strides), field("dilations", &DeformConvAttrs::dilations),
                      field("pads", &DeformConvAttrs::pads), field("group", &DeformConvAttrs::group),
                      field("offset_group", &DeformConvAttrs::offset_group));
};
extern const Operator kDeformConv;

/// The weight of an element at distance `distance` in cubic interpolation.
double cubic_weight(double a, double distance);

}  // namespace strop::ops
