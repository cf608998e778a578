#include "ops/quantize/quantize.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::f32;
using testing::infer;
using testing::run;

Tensor ints(DType dtype, std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return store_i64(dtype, std::move(dims), values);
}

TEST(QuantizeLinear, RoundsHalvesToEvenAndSaturates) {
  EXPECT_EQ(run(kQuantizeLinear, QuantizeLinearAttrs{}, {f32({6}, {0, 1, 3, 5, 1000, -1000}), f32({}, {2})}),
            "u8[6] 0 0 2 2 255 0");
  const QuantizeLinearAttrs to_i8{1, 0, DType::I8, true, DType::F32};
  EXPECT_EQ(run(kQuantizeLinear, to_i8, {f32({4}, {-5, 5, 500, -500}), f32({}, {2}), ints(DType::I8, {}, {10})}),
            "i8[4] 8 12 127 -128");
}

TEST(QuantizeLinear, NanBecomesTheZeroPointAndInfinityTheBound) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      run(kQuantizeLinear, QuantizeLinearAttrs{}, {f32({3}, {nan, inf, -inf}), f32({}, {1}), ints(DType::U8, {}, {7})}),
      "u8[3] 7 255 0");
}

TEST(QuantizeLinear, ScalesAlongAnAxisOrPerBlock) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run(kQuantizeLinear, QuantizeLinearAttrs{0}, {x, f32({2}, {1, 2})}), "u8[2, 3] 1 2 3 2 2 3");
  EXPECT_EQ(run(kQuantizeLinear, QuantizeLinearAttrs{-1}, {x, f32({3}, {1, 2, 3})}), "u8[2, 3] 1 1 1 4 2 2");
  EXPECT_EQ(run(kQuantizeLinear, QuantizeLinearAttrs{1, 2}, {x, f32({2, 2}, {1, 3, 2, 6})}), "u8[2, 3] 1 2 1 2 2 1");
  EXPECT_EQ(run(kQuantizeLinear, QuantizeLinearAttrs{0, 2}, {x, f32({1, 3}, {1, 2, 3})}), "u8[2, 3] 1 1 1 4 2 2");
}

TEST(QuantizeLinear, ToSmallFloats) {
  const QuantizeLinearAttrs to_e4m3{1, 0, DType::F8E4M3FN, true, DType::F32};
  EXPECT_EQ(run(kQuantizeLinear, to_e4m3, {f32({3}, {1.06, 1000, -1}), f32({}, {1})}), "f8e4m3fn[3] 1 448 -1");
}

TEST(QuantizeLinear, Constraints) {
  const Type x(DType::F32, {2, 3});
  EXPECT_EQ(infer(kQuantizeLinear, QuantizeLinearAttrs{}, {x, Type(DType::F32, {4})}),
            "error: (C3) a scale of shape [4] for axis 1 of [2, 3]");
  EXPECT_EQ(infer(kQuantizeLinear, QuantizeLinearAttrs{5}, {x, Type(DType::F32, {3})}),
            "error: (C2) axis 5 is outside [-2, 2) for rank 2");
  EXPECT_EQ(infer(kQuantizeLinear, QuantizeLinearAttrs{}, {x, Type(DType::F32, {}), Type(DType::I8, {})}),
            "error: (C1) a zero point of i8 for values of u8");
  EXPECT_EQ(infer(kQuantizeLinear, QuantizeLinearAttrs{}, {Type::unranked(DType::F32), Type(DType::F32, {})}), "u8[*]");
}

TEST(DequantizeLinear, Values) {
  EXPECT_EQ(run(kDequantizeLinear, DequantizeLinearAttrs{},
                {ints(DType::U8, {3}, {0, 3, 255}), f32({}, {0.5}), ints(DType::U8, {}, {3})}),
            "f32[3] -1.5 0 126");
  EXPECT_EQ(
      run(kDequantizeLinear, DequantizeLinearAttrs{0}, {ints(DType::I4, {2, 2}, {-8, 7, 1, 2}), f32({2}, {1, 10})}),
      "f32[2, 2] -8 7 10 20");
}

// The example of the standard's text: x_max 2, x_min -3 give scale 5 / 255 and zero point 153.
TEST(DynamicQuantizeLinear, RangeIncludesZero) {
  EXPECT_EQ(run(kDynamicQuantizeLinear, NoAttrs{}, {f32({6}, {0, 2, -3, -2.5, 1.34, 0.5})}, 3).substr(0, 31),
            "u8[6] 153 255 0 26 221 179; f32");
  EXPECT_EQ(run(kDynamicQuantizeLinear, NoAttrs{}, {f32({2}, {0, 0})}, 3), "u8[2] 0 0; f32[] 1; u8[] 0");
  EXPECT_EQ(run(kDynamicQuantizeLinear, NoAttrs{}, {f32({2}, {255, 51})}, 3), "u8[2] 255 51; f32[] 1; u8[] 0");
}

}  // namespace
}  // namespace strop::ops
