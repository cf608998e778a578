#include "ops/norm/norm.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::f32;
using testing::infer;
using testing::run;

const Dim s = Dim::symbol("s");

LayerNormAttrs exact(int64_t axis, bool rms = false) {
  LayerNormAttrs attrs;
  attrs.axis = axis;
  attrs.epsilon = 0;
  attrs.rms = rms;
  return attrs;
}

TEST(LayerNorm, Values) {
  // Mean 3, deviation 2.
  const Tensor x = f32({1, 4}, {1, 1, 5, 5});
  EXPECT_EQ(run(kLayerNorm, exact(-1), {x}), "f32[1, 4] -1 -1 1 1");
  EXPECT_EQ(run(kLayerNorm, exact(-1), {x, f32({4}, {1, 2, 3, 4}), f32({1}, {10})}), "f32[1, 4] 9 8 13 14");
  EXPECT_EQ(run(kLayerNorm, exact(-1), {x}, 4), "f32[1, 4] -1 -1 1 1; f32[1, 4] 1 1 5 5; f32[1, 1] 3; f32[1, 1] 0.5");
  // Squares 1, 1, 49, 49: their mean's root is 5.
  EXPECT_EQ(run(kLayerNorm, exact(0, true), {f32({2, 2}, {1, -1, 7, 7}), f32({}, {10})}), "f32[2, 2] 2 -2 14 14");
}

TEST(LayerNorm, ResidualSum) {
  LayerNormAttrs attrs = exact(-1);
  const int32_t x = attrs.prologue.add_input(0, DType::F32);
  attrs.prologue.outputs = {attrs.prologue.add(Fn::Add, {x, attrs.prologue.add_input(1, DType::F32)})};
  EXPECT_EQ(run(kLayerNorm, attrs, {f32({1, 2}, {1, 2}), Value(), Value(), f32({1, 2}, {2, 5})}, 2),
            "f32[1, 2] -1 1; f32[1, 2] 3 7");
}

TEST(LayerNorm, Types) {
  const std::vector<Type> x = {Type(DType::F16, {s, 4, 5}), Type(DType::F16, {5})};
  EXPECT_EQ(infer(kLayerNorm, exact(1), x, {}, 4), "f16[s, 4, 5]; f16[s, 4, 5]; f32[s, 1, 1]; f32[s, 1, 1]");
  EXPECT_EQ(infer(kLayerNorm, exact(-1, true), {Type(DType::F16, {s, 5}), Type(DType::F32, {5})}), "f32[s, 5]");
  EXPECT_EQ(infer(kLayerNorm, exact(-1), {Type(DType::F32, {2, 5}), Type(DType::F32, {3})}),
            "error: (C2) operand 1 is f32[3] and does not broadcast to f32[2, 5]");
  EXPECT_EQ(infer(kLayerNorm, exact(2), {Type(DType::F32, {2, 5})}),
            "error: (C3) axis 2 is outside [-2, 2) for rank 2");
}

TEST(GroupNorm, Values) {
  GroupNormAttrs attrs;
  attrs.epsilon = 0;
  const Tensor scale = f32({2}, {1, 10});
  const Tensor bias = f32({2}, {0, 100});
  const Tensor first = f32({1, 2, 2}, {1, 3, 2, 6});
  EXPECT_EQ(run(kGroupNorm, attrs, {first, scale, bias}), "f32[1, 2, 2] -1 1 90 110");
  attrs.channels_last = true;
  EXPECT_EQ(run(kGroupNorm, attrs, {f32({1, 2, 2}, {1, 2, 3, 6}), scale, bias}), "f32[1, 2, 2] -1 90 1 110");
  attrs.groups = 1;
  EXPECT_EQ(run(kGroupNorm, attrs, {f32({1, 2, 2}, {1, 1, 5, 5})}), "f32[1, 2, 2] -1 -1 1 1");
}

TEST(GroupNorm, Types) {
  GroupNormAttrs attrs;
  attrs.groups = 3;
  EXPECT_EQ(infer(kGroupNorm, attrs, {Type(DType::F32, {s, 6, s}), Type(DType::F32, {6})}), "f32[s, 6, s]");
  EXPECT_EQ(infer(kGroupNorm, attrs, {Type(DType::F32, {s, 7})}),
            "error: (C2) 7 channels cannot be divided into 3 groups");
  EXPECT_EQ(infer(kGroupNorm, attrs, {Type(DType::F32, {s, 6}), Type(DType::F32, {3})}),
            "error: (C3) operand 1 is f32[3], 6 values are needed");
}

TEST(BatchNorm, Values) {
  const auto operands = [](const Tensor& x) {
    return std::vector<Value>{x, f32({2}, {1, 2}), f32({2}, {0, 5}), f32({2}, {1, 3}), f32({2}, {4, 1})};
  };
  EXPECT_EQ(run(kBatchNorm, BatchNormAttrs{0}, operands(counting({1, 2, 2}))), "f32[1, 2, 2] -0.5 0 3 5");
  EXPECT_EQ(infer(kBatchNorm, BatchNormAttrs{}, std::vector<Type>(5, Type(DType::F32, {3}))),
            "error: (C3) operand 1 is f32[3], 1 values are needed");
}

TEST(LocalResponseNorm, Windows) {
  // size 2: channels c and c + 1; x / (1 + (x[c]² + x[c + 1]²) / 2).
  EXPECT_EQ(run(kLocalResponseNorm, LocalResponseNormAttrs{2, 1, 1, 1}, {f32({1, 3, 1}, {2, 4, 2})}),
            "f32[1, 3, 1] 0.1818181872367859 0.3636363744735718 0.6666666865348816");
}

}  // namespace
}  // namespace strop::ops
