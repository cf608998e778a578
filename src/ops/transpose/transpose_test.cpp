#include "ops/transpose/transpose.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::infer;
using testing::run;

TEST(Transpose, MovesElements) {
  EXPECT_EQ(run(kTranspose, TransposeAttrs{{1, 0}}, {testing::counting({2, 3})}), "f32[3, 2] 0 3 1 4 2 5");
  EXPECT_EQ(run(kTranspose, TransposeAttrs{{1, 2, 0}}, {testing::counting({2, 1, 3})}), "f32[1, 3, 2] 0 3 1 4 2 5");
  EXPECT_EQ(run(kTranspose, TransposeAttrs{}, {testing::counting({2, 1, 2})}), "f32[2, 1, 2] 0 2 1 3");
  EXPECT_EQ(run(kTranspose, TransposeAttrs{{1, 0}}, {Tensor::of_strings({1, 2}, {"a", "b"})}), "string[2, 1] a b");
  EXPECT_EQ(run(kTranspose, TransposeAttrs{{1, 0}},
                {store_i64(DType::I4, {2, 3}, std::vector<int64_t>{1, 2, 3, -4, -5, -6})}),
            "i4[3, 2] 1 -4 2 -5 3 -6");
}

TEST(Transpose, Infers) {
  const Dim b = Dim::symbol("b");
  EXPECT_EQ(infer(kTranspose, TransposeAttrs{{0, 2, 1}}, {Type(DType::F16, {b, 3, 4})}), "f16[b, 4, 3]");
  EXPECT_EQ(infer(kTranspose, TransposeAttrs{{1, 0}}, {Type::unranked(DType::F16)}), "f16[?.0, ?.1]");
  EXPECT_EQ(infer(kTranspose, TransposeAttrs{}, {Type::unranked(DType::F16)}), "f16[*]");
  EXPECT_EQ(infer(kTranspose, TransposeAttrs{{0, 0}}, {Type(DType::F32, {2, 3})}),
            "error: (C1) perm [0, 0] is not a permutation of the 2 axes");
}

}  // namespace
}  // namespace strop::ops
