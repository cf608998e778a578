#include "ops/pool/pool.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/testing.h"
#include "tactics/testing.h"

namespace strop::ops::testing {
namespace {

TEST(Pool, MaximaAndTheirPlaces) {
  const PoolAttrs halves = plain_window(PoolKind::Max, {2, 2}, {2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(run(kPool, halves, {counting({1, 1, 4, 4})}, 2), "f32[1, 1, 2, 2] 5 7 13 15; i64[1, 1, 2, 2] 5 7 13 15");
  // Indices count on over images and channels; the first of equal elements wins.
  const PoolAttrs pairs = plain_window(PoolKind::Max, {2}, {2}, {0, 0});
  EXPECT_EQ(run(kPool, pairs, {f32({2, 1, 2}, {4, 4, 1, 6})}, 2), "f32[2, 1, 1] 4 6; i64[2, 1, 1] 0 3");
  PoolAttrs columns = plain_window(PoolKind::Max, {2, 2}, {1, 1}, {0, 0, 0, 0});
  columns.column_major_indices = true;
  EXPECT_EQ(run(kPool, columns, {counting({1, 1, 2, 3})}, 2), "f32[1, 1, 1, 2] 4 5; i64[1, 1, 1, 2] 3 5");
}

TEST(Pool, ChannelsLastIsTheSameTransposed) {
  PoolAttrs pairs = plain_window(PoolKind::Max, {2}, {1}, {0, 0});
  pairs.channels_last = true;
  EXPECT_EQ(run(kPool, pairs, {f32({1, 3, 2}, {1, 60, 2, 50, 0, 40})}, 2),
            "f32[1, 2, 2] 2 60 2 50; i64[1, 2, 2] 1 3 1 4");
}

TEST(Pool, NanWins) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const PoolAttrs all = plain_window(PoolKind::Max, {3}, {1}, {0, 0});
  EXPECT_EQ(run(kPool, all, {f32({1, 1, 3}, {1, nan, 5})}, 2), "f32[1, 1, 1] nan; i64[1, 1, 1] 1");
}

TEST(Pool, AveragesDivideByWhatTheyCount) {
  PoolAttrs attrs = plain_window(PoolKind::Average, {3}, {1}, {1, 1});
  EXPECT_EQ(run(kPool, attrs, {f32({1, 1, 3}, {6, 3, 9})}), "f32[1, 1, 3] 4.5 6 6");
  attrs.count_include_pad = true;
  EXPECT_EQ(run(kPool, attrs, {f32({1, 1, 3}, {6, 3, 9})}), "f32[1, 1, 3] 3 6 4");
  // With ceil_mode the last window reaches beyond the padded operand: what lies there is not counted.
  attrs.strides = {3};
  attrs.pads = {0, 1};
  attrs.ceil_mode = true;
  EXPECT_EQ(run(kPool, attrs, {f32({1, 1, 4}, {3, 3, 3, 8})}), "f32[1, 1, 2] 3 4");
}

TEST(Pool, LpIsANorm) {
  EXPECT_EQ(run(kPool, plain_window(PoolKind::Lp, {2}, {2}, {0, 0}), {f32({1, 1, 4}, {3, -4, 6, 8})}),
            "f32[1, 1, 2] 5 10");
}

TEST(Pool, Dilated) {
  PoolAttrs attrs = plain_window(PoolKind::Max, {2}, {1}, {0, 0});
  attrs.dilations = {2};
  EXPECT_EQ(run(kPool, attrs, {f32({1, 1, 4}, {9, 1, 2, 3})}), "f32[1, 1, 2] 9 3");
}

TEST(Pool, Shapes) {
  PoolAttrs attrs = plain_window(PoolKind::Max, {1}, {2}, {0, 1});
  EXPECT_EQ(infer(kPool, attrs, {Type(DType::F32, {1, 1, 2})}), "f32[1, 1, 2]");
  attrs.ceil_mode = true;  // the second window would start in the trailing padding
  EXPECT_EQ(infer(kPool, attrs, {Type(DType::F32, {1, 1, 2})}), "f32[1, 1, 1]");
  const PoolAttrs halves = plain_window(PoolKind::Average, {2, 2}, {2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(infer(kPool, halves, {Type(DType::F16, {Dim::symbol("n"), 3, Dim(2) * Dim::symbol("h"), 9})}),
            "f16[n, 3, h, 4]");
  EXPECT_EQ(infer(kPool, halves, {Type::unranked(DType::F32)}), "f32[*]");
  EXPECT_EQ(infer(kPool, halves, {Type(DType::F32, {1, 1, 1, 4})}),
            "error: (C4) the window is larger than the padded operand along spatial axis 0");
  EXPECT_EQ(infer(kPool, halves, {Type(DType::F32, {1, 1, 4})}),
            "error: (C2) a window of 2 axes over an operand of rank 3");
  EXPECT_EQ(infer(kPool, halves, {Type(DType::I32, {1, 1, 4, 4})}), "error: (C1) cannot pool i32");
}

TEST(PoolTactics, AgreeWithTheReference) {
  EXPECT_GE(tactics::testing::expect_like_reference_on_all_cases("Pool.cpu.channels_last", kPool), 3);
  EXPECT_GE(tactics::testing::expect_like_reference_on_all_cases("Pool.cpu.planes", kPool), 9);
}

TEST(MaxUnpool, PutsElementsBack) {
  MaxUnpoolAttrs attrs{{2, 2}, {2, 2}, {0, 0, 0, 0}, {}};
  const std::vector<Value> operands = {f32({1, 1, 1, 2}, {5, 6}), i64({1, 1, 1, 2}, {1, 7})};
  EXPECT_EQ(run(kMaxUnpool, attrs, operands), "f32[1, 1, 2, 4] 0 5 0 0 0 0 0 6");
  attrs.output_shape = {1, 1, 2, 5};
  EXPECT_EQ(run(kMaxUnpool, attrs, operands), "f32[1, 1, 2, 5] 0 5 0 0 0 0 0 0 6 0");
  attrs.output_shape = {1, 1, 2, 3};
  EXPECT_EQ(run(kMaxUnpool, attrs, operands), "error: MaxUnpool: index 7 is outside output_shape [1, 1, 2, 3]");
}

TEST(MaxRoiPool, BinsOfARegion) {
  EXPECT_EQ(run(kMaxRoiPool, MaxRoiPoolAttrs{2, 2, 1}, {counting({1, 1, 4, 4}), f32({1, 5}, {0, 0, 0, 3, 3})}),
            "f32[1, 1, 2, 2] 5 7 13 15");
  EXPECT_EQ(run(kMaxRoiPool, MaxRoiPoolAttrs{1, 1, 1}, {counting({1, 1, 4, 4}), f32({1, 5}, {1, 0, 0, 3, 3})}),
            "error: MaxRoiPool: region 0 is of image 1");
}

TEST(RoiAlign, ARampGivesBinCentres) {
  std::vector<double> ramp;
  for (int i = 0; i < 64; ++i) ramp.push_back(i % 8);
  const std::vector<Value> operands = {f32({1, 1, 8, 8}, ramp), f32({1, 4}, {1, 1, 5, 5}), Tensor::of_i64({0})};
  EXPECT_EQ(run(kRoiAlign, RoiAlignAttrs{RoiAlignMode::Average, 1, 2, 2, 1, true}, operands),
            "f32[1, 1, 1, 2] 1.5 3.5");
  EXPECT_EQ(run(kRoiAlign, RoiAlignAttrs{RoiAlignMode::Average, 1, 2, 0, 1, false}, operands), "f32[1, 1, 1, 2] 2 4");
}

}  // namespace
}  // namespace strop::ops::testing
