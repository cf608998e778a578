#include "ops/concat/concat.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::infer;
using testing::run;

TEST(Concat, Joins) {
  EXPECT_EQ(run(kConcat, ConcatAttrs{1}, {counting({2, 1}), counting({2, 2})}), "f32[2, 3] 0 0 1 1 2 3");
  EXPECT_EQ(run(kConcat, ConcatAttrs{-2}, {counting({1, 2}), counting({0, 2}), counting({1, 2})}), "f32[2, 2] 0 1 0 1");
  EXPECT_EQ(run(kConcat, ConcatAttrs{0}, {Tensor::of_strings({1}, {"x"}), Tensor::of_strings({1}, {"y"})}),
            "string[2] x y");
}

TEST(Concat, Infers) {
  const Dim b = Dim::symbol("b");
  const Dim s = Dim::symbol("s");
  EXPECT_EQ(infer(kConcat, ConcatAttrs{1}, {Type(DType::F32, {b, s, 4}), Type(DType::F32, {2, 1, 4})}),
            "f32[2, s + 1, 4]");
  EXPECT_EQ(infer(kConcat, ConcatAttrs{0}, {Type::unranked(DType::F32), Type(DType::F32, {2, 4})}), "f32[?.0, 4]");
  EXPECT_EQ(infer(kConcat, ConcatAttrs{0}, {Type(DType::I64, {1}), Type(DType::I64, {2})}, {{}, {Dims{b}, Dims{s, 4}}}),
            "i64[3] known [b, s, 4]");
  EXPECT_EQ(infer(kConcat, ConcatAttrs{0}, {Type(DType::F32, {1, 3}), Type(DType::F32, {1, 4})}),
            "error: (C3) operand 1 has 4 in axis 1, others 3");
  EXPECT_EQ(infer(kConcat, ConcatAttrs{2}, {Type(DType::F32, {1, 3})}),
            "error: (C1) axis 2 is outside [-2, 2) for rank 2");
}

}  // namespace
}  // namespace strop::ops
