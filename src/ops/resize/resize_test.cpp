#include "ops/resize/resize.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/testing.h"
#include "tactics/testing.h"

namespace strop::ops::testing {
namespace {

ResizeAttrs along_last(ResizeMode mode, ResizeCoordinates coordinates, double scale) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.coordinates = coordinates;
  attrs.axes = {-1};
  attrs.scales = {scale};
  return attrs;
}

ResizeAttrs to_size(ResizeAttrs attrs, int64_t size) {
  attrs.scales.clear();
  attrs.sizes = {size};
  return attrs;
}

using enum ResizeMode;
using enum ResizeCoordinates;

TEST(Resize, Coordinates) {
  const std::vector<Value> two = {f32({2}, {0, 8})};
  const std::vector<Value> four = {f32({4}, {0, 8, 16, 24})};
  EXPECT_EQ(run(kResize, along_last(Linear, HalfPixel, 2), two), "f32[4] 0 2 6 8");
  EXPECT_EQ(run(kResize, along_last(Linear, Asymmetric, 2), two), "f32[4] 0 4 8 8");
  EXPECT_EQ(run(kResize, along_last(Linear, TfHalfPixelForNn, 2), two), "f32[4] 2 6 8 8");
  EXPECT_EQ(run(kResize, to_size(along_last(Linear, AlignCorners, 1), 5), two), "f32[5] 0 2 4 6 8");
  EXPECT_EQ(run(kResize, to_size(along_last(Linear, AlignCorners, 1), 1), four), "f32[1] 0");
  EXPECT_EQ(run(kResize, to_size(along_last(Linear, HalfPixel, 1), 1), four), "f32[1] 12");
  EXPECT_EQ(run(kResize, to_size(along_last(Linear, PytorchHalfPixel, 1), 1), four), "f32[1] 0");
  // 4 * 0.625 = 2.5 elements become 2: the centres agree with symmetric half pixels, 0.3 and 1.9 become 0.7 and 2.3.
  EXPECT_EQ(run(kResize, along_last(Linear, HalfPixelSymmetric, 0.625), {f32({4}, {0, 80, 160, 240})}),
            "f32[2] 56 184");
}

TEST(Resize, NearestRoundings) {
  const std::vector<Value> three = {f32({3}, {0, 1, 2})};
  ResizeAttrs attrs = along_last(Nearest, Asymmetric, 2);  // coordinates 0, 0.5, 1, 1.5, 2, 2.5
  EXPECT_EQ(run(kResize, attrs, three), "f32[6] 0 0 1 1 2 2");
  attrs.rounding = ResizeRounding::RoundPreferCeil;
  EXPECT_EQ(run(kResize, attrs, three), "f32[6] 0 1 1 2 2 2");
  attrs.rounding = ResizeRounding::Ceil;
  EXPECT_EQ(run(kResize, along_last(Nearest, Asymmetric, 0.5), three), "f32[1] 0");
  EXPECT_EQ(run(kResize, attrs, {Tensor::of_strings({2}, {"a", "b"})}), "string[4] a b b b");
}

TEST(Resize, CropExtrapolates) {
  ResizeAttrs attrs = to_size(along_last(Linear, TfCropAndResize, 1), 3);
  attrs.roi = {0.5, 1.5};
  attrs.extrapolation_value = 7;
  EXPECT_EQ(run(kResize, attrs, {f32({3}, {0, 10, 20})}), "f32[3] 10 20 7");
}

TEST(Resize, CubicGoesThroughElementsAndKeepsConstants) {
  ResizeAttrs attrs = along_last(Cubic, Asymmetric, 2);
  const auto values = load_f64(
      evaluate({kResize, attrs, {}, std::vector<Value>{f32({4}, {1, 5, 2, 3})}, 1, *std::make_unique<SingleThread>()})
          .value()[0]
          .tensor());
  for (int i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(values[static_cast<size_t>(2 * i)], std::vector<double>({1, 5, 2, 3})[static_cast<size_t>(i)]);
  // Halfway, Keys' kernel with a = -0.75 weighs -0.09375, 0.59375, 0.59375, -0.09375.
  EXPECT_FLOAT_EQ(values[3], 0.59375 * (5 + 2) - 0.09375 * (1 + 3));
  attrs.exclude_outside = true;
  EXPECT_EQ(run(kResize, attrs, {f32({2}, {3, 3})}), "f32[4] 3 3 3 3");
}

TEST(Resize, AntialiasAveragesWhatIsLeftOut) {
  ResizeAttrs attrs = along_last(Linear, HalfPixel, 0.5);
  attrs.antialias = true;
  // Coordinates 0.5, 2.5; weights by distance / 2 from the nearest: 1/8, 3/8, 3/8, 1/8, those beyond an end on the end.
  EXPECT_EQ(run(kResize, attrs, {f32({4}, {8, 0, 0, 16})}), "f32[2] 4 8");
}

TEST(Resize, InfinityStaysInfinity) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run(kResize, along_last(Linear, HalfPixel, 2), {f32({2}, {0, inf})}), "f32[4] 0 inf inf inf");
}

TEST(Resize, AspectRatio) {
  ResizeAttrs attrs;
  attrs.sizes = {7, 8};
  attrs.policy = ResizePolicy::NotLarger;
  EXPECT_EQ(infer(kResize, attrs, {Type(DType::F32, {2, 4})}), "f32[4, 8]");
  attrs.policy = ResizePolicy::NotSmaller;
  EXPECT_EQ(infer(kResize, attrs, {Type(DType::F32, {2, 4})}), "f32[7, 14]");
}

TEST(Resize, Shapes) {
  ResizeAttrs attrs;
  attrs.axes = {2, 3};
  attrs.scales = {2, 0.5};
  const Dim h = Dim::symbol("h");
  EXPECT_EQ(infer(kResize, attrs, {Type(DType::F32, {1, 3, h, Dim(4) * h})}), "f32[1, 3, 2*h, 2*h]");
  attrs.channels_last = true;
  EXPECT_EQ(infer(kResize, attrs, {Type(DType::F32, {1, h, 6, 3})}), "f32[1, 2*h, 3, 3]");
  attrs.scales = {0.7, 1};  // multiplied in f32: 0.7f * 10 is 7
  EXPECT_EQ(infer(kResize, attrs, {Type(DType::F32, {1, 10, 6, 3})}), "f32[1, 7, 6, 3]");
  attrs.scales = {0.7, -1};
  EXPECT_EQ(infer(kResize, attrs, {Type(DType::F32, {1, h, 6, 3})}), "error: (C3) the scale -1 is not positive");
  attrs.scales = {2};
  EXPECT_EQ(infer(kResize, attrs, {Type(DType::F32, {1, h, 6, 3})}), "error: (C2) 1 scales for 2 axes");
  attrs.scales.clear();
  EXPECT_EQ(infer(kResize, attrs, {Type(DType::F32, {1, h, 6, 3}), Type(DType::F32, {2})}, {.late = {{"scales", 1}}}),
            "f32[1, ?.0, ?.1, 3]");
}

TEST(ResizeTactic, AgreesWithTheReference) {
  EXPECT_GE(tactics::testing::expect_like_reference_on_all_cases("Resize.cpu.tables", kResize), 12);
}

TEST(GridSample, Paddings) {
  // Places -2, 0 and 2 of an axis of 3 elements with aligned corners: coordinates -1, 1, 3.
  const std::vector<Value> operands = {f32({1, 1, 1, 3}, {1, 2, 4}), f32({1, 1, 3, 2}, {-2, 0, 0, 0, 2, 0})};
  EXPECT_EQ(run(kGridSample, GridSampleAttrs{Linear, GridPadding::Zeros, true}, operands), "f32[1, 1, 1, 3] 0 2 0");
  EXPECT_EQ(run(kGridSample, GridSampleAttrs{Linear, GridPadding::Border, true}, operands), "f32[1, 1, 1, 3] 1 2 4");
  EXPECT_EQ(run(kGridSample, GridSampleAttrs{Linear, GridPadding::Reflection, true}, operands),
            "f32[1, 1, 1, 3] 2 2 2");
}

TEST(AffineGrid, TheIdentityNamesEveryPlace) {
  const std::vector<Value> identity = {f32({1, 2, 3}, {1, 0, 0, 0, 1, 0})};
  EXPECT_EQ(run(kAffineGrid, AffineGridAttrs{{1, 1, 1, 2}, false}, identity), "f32[1, 1, 2, 2] -0.5 0 0.5 0");
  EXPECT_EQ(run(kAffineGrid, AffineGridAttrs{{1, 1, 2, 2}, true}, identity), "f32[1, 2, 2, 2] -1 -1 1 -1 -1 1 1 1");
}

TEST(Col2Im, OverlapsAdd) {
  // Two blocks of 2 at 0 and 1 of an image of 3.
  EXPECT_EQ(run(kCol2Im, Col2ImAttrs{{3}, {2}, {}, {}, {}}, {f32({1, 2, 2}, {1, 2, 10, 20})}), "f32[1, 1, 3] 1 12 20");
}

TEST(DeformConv, OffsetsMoveTaps) {
  const DeformConvAttrs attrs{{1, 1}, {1, 1}, {0, 0, 0, 0}, 1, 1};
  // One tap of weight 2, moved right by 0.5 everywhere: the average of neighbours, and half of the last.
  EXPECT_EQ(run(kDeformConv, attrs,
                {f32({1, 1, 1, 3}, {1, 3, 5}), f32({1, 1, 1, 1}, {2}), f32({1, 2, 1, 3}, {0, 0, 0, .5, .5, .5})}),
            "f32[1, 1, 1, 3] 4 8 5");
}

}  // namespace
}  // namespace strop::ops::testing
