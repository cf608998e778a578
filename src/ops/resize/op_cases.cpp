#include "ops/resize/resize.h"

namespace strop::ops {
namespace {

ResizeAttrs by_scales(ResizeMode mode, double height, double width) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.axes = {2, 3};
  attrs.scales = {height, width};
  return attrs;
}

ResizeAttrs by_sizes(ResizeMode mode, ResizeCoordinates coordinates, Dims sizes) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.coordinates = coordinates;
  attrs.axes = {2, 3};
  attrs.sizes = std::move(sizes);
  return attrs;
}

template <class Change>
ResizeAttrs with(ResizeAttrs attrs, Change change) {
  change(attrs);
  return attrs;
}

void last(ResizeAttrs& attrs) { attrs.channels_last = true; }
void asymmetric_floor(ResizeAttrs& attrs) {
  attrs.coordinates = ResizeCoordinates::Asymmetric;
  attrs.rounding = ResizeRounding::Floor;
}

}  // namespace

std::vector<WorkedCase> resize_cases() {
  using enum ResizeMode;
  const Type planes(DType::F32, {2, 3, 9, 21});
  const Type pixels(DType::F32, {2, 9, 11, 20});
  const auto antialias = [](ResizeAttrs& attrs) { attrs.antialias = true; };
  const auto exclude = [](ResizeAttrs& attrs) { attrs.exclude_outside = true; };
  const auto one_axis = [](ResizeAttrs& attrs) {
    attrs.axes = {2};
    attrs.scales = {1.5};
  };
  const auto crop = [](ResizeAttrs& attrs) {
    attrs.roi = {0.2, -0.1, 0.7, 0.9};
    attrs.extrapolation_value = 3;
  };
  const ResizeAttrs cropped = with(by_sizes(Linear, ResizeCoordinates::TfCropAndResize, {5, 8}), crop);
  return {
      {"nearest_2x_f32", with(by_scales(Nearest, 2, 2), asymmetric_floor), {planes}},
      {"nearest_2x_last_f32", with(with(by_scales(Nearest, 2, 2), asymmetric_floor), last), {pixels}},
      {"nearest_half_pixel_f32", by_scales(Nearest, 1.7, 0.6), {planes}},
      {"nearest_half_pixel_last_f32", with(by_scales(Nearest, 1.7, 0.6), last), {pixels}},
      {"nearest_u8", by_scales(Nearest, 2, 3), {Type(DType::U8, {1, 2, 4, 5})}},
      {"linear_2x_f32", by_scales(Linear, 2, 2), {planes}},
      {"linear_2x_last_f32", with(by_scales(Linear, 2, 2), last), {pixels}},
      {"linear_align_corners_f32", by_sizes(Linear, ResizeCoordinates::AlignCorners, {17, 30}), {planes}},
      {"linear_align_corners_last_f32",
       with(by_sizes(Linear, ResizeCoordinates::AlignCorners, {17, 30}), last),
       {pixels}},
      {"linear_pytorch_smaller_f32", by_sizes(Linear, ResizeCoordinates::PytorchHalfPixel, {3, 1}), {planes}},
      {"linear_antialias_f32", with(by_sizes(Linear, ResizeCoordinates::HalfPixel, {4, 7}), antialias), {planes}},
      {"linear_one_axis_f32", with(by_scales(Linear, 1, 1), one_axis), {Type(DType::F32, {2, 5, 33})}},
      {"linear_f16", by_scales(Linear, 2, 2), {Type(DType::F16, {1, 2, 4, 5})}},
      {"cubic_f32", by_scales(Cubic, 1.5, 2.25), {planes}},
      {"cubic_last_f32", with(by_scales(Cubic, 0.5, 2), last), {pixels}},
      {"cubic_exclude_outside_f32", with(by_scales(Cubic, 2, 2), exclude), {planes}},
      {"crop_f32", cropped, {planes}},
  };
}

}  // namespace strop::ops
