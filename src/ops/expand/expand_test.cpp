#include "ops/expand/expand.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::infer;
using testing::run;

const Dim b = Dim::symbol("b");

TEST(Expand, BroadcastsBothWays) {
  EXPECT_EQ(run(kExpand, ExpandAttrs{{2, 1}}, {counting({3})}), "f32[2, 3] 0 1 2 0 1 2");
  EXPECT_EQ(run(kExpand, ExpandAttrs{{1, 2}}, {counting({2, 1})}), "f32[2, 2] 0 0 1 1");
  EXPECT_EQ(run(kExpand, ExpandAttrs{{0}}, {counting({1})}), "f32[0]");
}

TEST(Expand, Infers) {
  EXPECT_EQ(infer(kExpand, ExpandAttrs{{b, 1, 4}}, {Type(DType::F32, {3, 1})}), "f32[b, 3, 4]");
  EXPECT_EQ(infer(kExpand, ExpandAttrs{}, {Type(DType::F32, {3}), Type(DType::I64, {2})}, {{{"shape", 1}}}),
            "f32[?.0, ?.1]");
  EXPECT_EQ(infer(kExpand, ExpandAttrs{{3}}, {Type(DType::I64, {1})}, {{}, {Dims{b}}}), "i64[3] known [b, b, b]");
}

TEST(Tile, Repeats) {
  EXPECT_EQ(run(kTile, TileAttrs{{2, 2}}, {counting({1, 2})}), "f32[2, 4] 0 1 0 1 0 1 0 1");
  EXPECT_EQ(run(kTile, TileAttrs{{-1}}, {counting({2})}), "error: (C2) axis 0 is repeated -1 times");
}

TEST(Tile, Infers) {
  EXPECT_EQ(infer(kTile, TileAttrs{{b, 2}}, {Type(DType::F32, {3, b})}), "f32[3*b, 2*b]");
  EXPECT_EQ(infer(kExpand, ExpandAttrs{{-2, 1, 1}}, {Type(DType::F32, {2, 3})}),
            "error: (C2) the shape [-2, 1, 1] has a negative dimension");
  EXPECT_EQ(infer(kTile, TileAttrs{{2, -1}}, {Type(DType::F32, {3, 2})}), "error: (C2) axis 1 is repeated -1 times");
  EXPECT_EQ(infer(kTile, TileAttrs{{2}}, {Type(DType::F32, {3, b})}), "error: (C1) 1 repeats for rank 2");
  EXPECT_EQ(infer(kTile, TileAttrs{}, {Type::unranked(DType::F32), Type(DType::I64, {2})}, {{{"repeats", 1}}}),
            "f32[?.0, ?.1]");
}

}  // namespace
}  // namespace strop::ops
