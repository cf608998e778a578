#include "ops/scatter/scatter.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::f32;
using testing::i64;
using testing::infer;
using testing::run;

TEST(ScatterElements, WritesAndCombines) {
  const auto with = [](ScatterReduction reduction) {
    return run(kScatterElements, ScatterElementsAttrs{1, reduction},
               {f32({1, 3}, {1, 2, 3}), i64({1, 3}, {1, -1, 1}), f32({1, 3}, {4, 0.5, 5})});
  };
  EXPECT_EQ(with(ScatterReduction::None), "f32[1, 3] 1 5 0.5");
  EXPECT_EQ(with(ScatterReduction::Add), "f32[1, 3] 1 11 3.5");
  EXPECT_EQ(with(ScatterReduction::Mul), "f32[1, 3] 1 40 1.5");
  EXPECT_EQ(with(ScatterReduction::Max), "f32[1, 3] 1 5 3");
  EXPECT_EQ(with(ScatterReduction::Min), "f32[1, 3] 1 2 0.5");
  EXPECT_EQ(run(kScatterElements, ScatterElementsAttrs{0},
                {f32({2, 2}, {0, 0, 0, 0}), i64({1, 2}, {1, 0}), f32({1, 2}, {1, 2})}),
            "f32[2, 2] 0 2 1 0");
}

TEST(ScatterElements, IntegersWrap) {
  const auto byte = [](int64_t value) { return store_i64(DType::U8, {1}, std::vector<int64_t>{value}); };
  EXPECT_EQ(run(kScatterElements, ScatterElementsAttrs{0, ScatterReduction::Add}, {byte(250), i64({1}, {0}), byte(10)}),
            "u8[1] 4");
}

TEST(ScatterND, WritesSlices) {
  EXPECT_EQ(run(kScatterND, ScatterNDAttrs{}, {counting({2, 2}), i64({1, 1}, {-1}), f32({1, 2}, {8, 9})}),
            "f32[2, 2] 0 1 8 9");
  EXPECT_EQ(
      run(kScatterND, ScatterNDAttrs{ScatterReduction::Add}, {counting({3}), i64({2, 1}, {1, 1}), f32({2}, {8, 9})}),
      "f32[3] 0 18 2");
  EXPECT_EQ(run(kScatterND, ScatterNDAttrs{}, {counting({3}), i64({1, 1}, {3}), f32({1}, {8})}),
            "error: ScatterND: index 3 is outside an axis of 3 elements");
  EXPECT_EQ(
      infer(kScatterND, ScatterNDAttrs{}, {Type(DType::F32, {3}), Type(DType::I64, {1, 2}), Type(DType::F32, {1})}),
      "error: (C4) tuples of 2 indices into data of rank 1");
}

TEST(TensorScatter, WritesIntoTheCache) {
  const std::vector<Value> operands = {counting({2, 3, 1}), f32({2, 2, 1}, {10, 11, 12, 13}), i64({2}, {1, 0})};
  EXPECT_EQ(run(kTensorScatter, TensorScatterAttrs{1}, operands), "f32[2, 3, 1] 0 10 11 12 13 5");
  EXPECT_EQ(run(kTensorScatter, TensorScatterAttrs{1, true}, {operands[0], operands[1], i64({2}, {2, 1})}),
            "f32[2, 3, 1] 11 1 10 3 12 13");
  EXPECT_EQ(run(kTensorScatter, TensorScatterAttrs{1}, {operands[0], operands[1], i64({2}, {2, 1})}),
            "error: TensorScatter: 2 elements at position 2 of 3");
}

}  // namespace
}  // namespace strop::ops
