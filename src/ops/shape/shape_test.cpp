#include "ops/shape/shape.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::infer;
using testing::run;

const Dim b = Dim::symbol("b");

TEST(Shape, SelectsDimensions) {
  EXPECT_EQ(run(kShape, ShapeAttrs{}, {counting({2, 3})}), "i64[2] 2 3");
  EXPECT_EQ(run(kShape, ShapeAttrs{-1}, {counting({2, 3})}), "i64[1] 3");
  EXPECT_EQ(run(kShape, ShapeAttrs{-9, 1}, {counting({2, 3})}), "i64[1] 2");
  EXPECT_EQ(run(kShape, ShapeAttrs{1, 0}, {counting({2, 3})}), "i64[0]");
  EXPECT_EQ(infer(kShape, ShapeAttrs{}, {Type(DType::F32, {b, 3})}), "i64[2] known [b, 3]");
  EXPECT_EQ(infer(kShape, ShapeAttrs{}, {Type::unranked(DType::F32)}), "i64[?.0]");
}

TEST(DimsTensor, HoldsDimensions) {
  EXPECT_EQ(infer(kDimsTensor, DimsTensorAttrs{{b, 2}}, {}), "i64[2] known [b, 2]");
  EXPECT_EQ(run(kDimsTensor, DimsTensorAttrs{{7}, true}, {}), "i64[] 7");
}

TEST(Size, Counts) {
  EXPECT_EQ(run(kSize, NoAttrs{}, {counting({2, 3})}), "i64[] 6");
  EXPECT_EQ(infer(kSize, NoAttrs{}, {Type(DType::F32, {b, 3})}), "i64[] known [3*b]");
}

}  // namespace
}  // namespace strop::ops
