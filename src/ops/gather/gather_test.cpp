#include "ops/gather/gather.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::i64;
using testing::infer;
using testing::run;

const Dim b = Dim::symbol("b");

TEST(Gather, PicksSlices) {
  EXPECT_EQ(run(kGather, GatherAttrs{0}, {counting({3, 2}), i64({2, 2}, {0, 2, -1, 1})}),
            "f32[2, 2, 2] 0 1 4 5 4 5 2 3");
  EXPECT_EQ(run(kGather, GatherAttrs{-1}, {counting({2, 3}), i64({}, {1})}), "f32[2] 1 4");
  EXPECT_EQ(run(kGather, GatherAttrs{0}, {Tensor::of_strings({2}, {"a", "b"}), i64({1}, {1})}), "string[1] b");
  EXPECT_EQ(run(kGather, GatherAttrs{0}, {counting({3, 2}), i64({1}, {3})}),
            "error: Gather: index 3 is outside an axis of 3 elements");
}

TEST(Gather, InfersShapeVectors) {
  EXPECT_EQ(infer(kGather, GatherAttrs{0}, {Type(DType::I64, {3}), Type(DType::I64, Dims{})},
                  {{}, {Dims{b, 3, 4}, Dims{-3}}}),
            "i64[] known [b]");
  EXPECT_EQ(infer(kGather, GatherAttrs{1}, {Type(DType::F32, {b, 9, 4}), Type(DType::I32, {2, b})}), "f32[b, 2, b, 4]");
  EXPECT_EQ(infer(kGather, GatherAttrs{0}, {Type(DType::F32, {2}), Type(DType::F32, {2})}),
            "error: (C1) indices are f32, not i32 or i64");
}

TEST(GatherElements, PicksElements) {
  EXPECT_EQ(run(kGatherElements, GatherAttrs{1}, {counting({2, 2}), i64({2, 2}, {0, 0, 1, 0})}), "f32[2, 2] 0 0 3 2");
  EXPECT_EQ(run(kGatherElements, GatherAttrs{0}, {counting({3, 3}), i64({2, 3}, {1, 2, 0, -1, 0, 0})}),
            "f32[2, 3] 3 7 2 6 1 2");
}

TEST(GatherND, PicksByTuples) {
  EXPECT_EQ(run(kGatherND, GatherNDAttrs{}, {counting({2, 2}), i64({2, 2}, {0, 0, 1, -1})}), "f32[2] 0 3");
  EXPECT_EQ(run(kGatherND, GatherNDAttrs{}, {counting({2, 2}), i64({1, 1}, {1})}), "f32[1, 2] 2 3");
  EXPECT_EQ(run(kGatherND, GatherNDAttrs{1}, {counting({2, 2, 2}), i64({2, 1}, {1, 0})}), "f32[2, 2] 2 3 4 5");
  EXPECT_EQ(infer(kGatherND, GatherNDAttrs{}, {Type(DType::F32, {2, 3, b}), Type(DType::I64, {b, 7, 2})}),
            "f32[b, 7, b]");
}

}  // namespace
}  // namespace strop::ops
