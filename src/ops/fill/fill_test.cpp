#include "ops/fill/fill.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::f32;
using testing::i64;
using testing::infer;
using testing::run;

const Dim b = Dim::symbol("b");

TEST(Fill, EveryElement) {
  EXPECT_EQ(run(kFill, FillAttrs{{2, 3}, Tensor::scalar(DType::F32, 1.5)}, {}), "f32[2, 3] 1.5 1.5 1.5 1.5 1.5 1.5");
  EXPECT_EQ(run(kFill, FillAttrs{{}, Tensor::scalar(DType::I64, 4)}, {}), "i64[] 4");
  EXPECT_EQ(run(kFill, FillAttrs{{0}, Tensor::scalar(DType::I64, 4)}, {}), "i64[0]");
}

TEST(Fill, Infers) {
  EXPECT_EQ(infer(kFill, FillAttrs{{b, 2}, Tensor::scalar(DType::Bool, 1)}, {}), "bool[b, 2]");
  EXPECT_EQ(infer(kFill, FillAttrs{{2}, Tensor::scalar(DType::I64, 7)}, {}), "i64[2] known [7, 7]");
  EXPECT_EQ(infer(kFill, FillAttrs{{-2}, Tensor::scalar(DType::I64, 7)}, {}),
            "error: (C2) the shape [-2] has a negative dimension");
}

TEST(Range, Counts) {
  const auto scalars = [](DType dtype, double a, double z, double step) {
    return std::vector<Value>{Tensor::scalar(dtype, a), Tensor::scalar(dtype, z), Tensor::scalar(dtype, step)};
  };
  EXPECT_EQ(run(kRange, NoAttrs{}, scalars(DType::F32, 1, 5, 2)), "f32[2] 1 3");
  EXPECT_EQ(run(kRange, NoAttrs{}, scalars(DType::I32, 10, 6, -3)), "i32[2] 10 7");
  EXPECT_EQ(run(kRange, NoAttrs{}, scalars(DType::I64, 3, 3, 1)), "i64[0]");
  EXPECT_EQ(run(kRange, NoAttrs{}, scalars(DType::I64, 3, 5, 0)), "error: Range: delta is 0");
}

TEST(Range, InfersItsLength) {
  const std::vector<Type> types(3, Type(DType::I64, Dims{}));
  EXPECT_EQ(infer(kRange, NoAttrs{}, types, {{}, {Dims{0}, Dims{b}, Dims{1}}}), "i64[b]");
  EXPECT_EQ(infer(kRange, NoAttrs{}, types, {{}, {Dims{b}, Dims{b + Dim(3)}, Dims{2}}}), "i64[2] known [b, b + 2]");
  EXPECT_EQ(infer(kRange, NoAttrs{}, types), "i64[?.0]");
}

TEST(EyeLike, Diagonals) {
  EXPECT_EQ(run(kEyeLike, EyeLikeAttrs{DType::I32, 1}, {testing::counting({2, 3})}), "i32[2, 3] 0 1 0 0 0 1");
  EXPECT_EQ(run(kEyeLike, EyeLikeAttrs{DType::F32, -1}, {testing::counting({2, 2})}), "f32[2, 2] 0 0 1 0");
}

TEST(OneHot, Depth) {
  const Tensor off_on = f32({2}, {-1, 5});
  EXPECT_EQ(run(kOneHot, OneHotAttrs{-1, 3}, {i64({3}, {0, -1, 7}), off_on}), "f32[3, 3] 5 -1 -1 -1 -1 5 -1 -1 -1");
  EXPECT_EQ(
      run(kOneHot, OneHotAttrs{0, 2}, {i64({2}, {1, 0}), off_on, Tensor::scalar(DType::F32, 3)}, 1, {{"depth", 2}}),
      "f32[3, 2] -1 5 5 -1 -1 -1");
  EXPECT_EQ(infer(kOneHot, OneHotAttrs{1, b}, {Type(DType::I64, {4, 5}), Type(DType::F16, {2})}), "f16[4, b, 5]");
}

}  // namespace
}  // namespace strop::ops
