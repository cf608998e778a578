#include "ops/order/order.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::f32;
using testing::i64;
using testing::infer;
using testing::run;

const Dim b = Dim::symbol("b");

TEST(TopK, BestFirst) {
  EXPECT_EQ(run(kTopK, TopKAttrs{-1, true, 2}, {f32({2, 3}, {1, 3, 2, 5, 5, 4})}, 2),
            "f32[2, 2] 3 2 5 5; i64[2, 2] 1 2 0 1");
  EXPECT_EQ(run(kTopK, TopKAttrs{0, false, 1}, {f32({2, 2}, {1, 3, 2, 0})}, 2), "f32[1, 2] 1 0; i64[1, 2] 0 1");
  EXPECT_EQ(run(kTopK, TopKAttrs{0, true, 1}, {store_i64(DType::U64, {2}, std::vector<int64_t>{5, -1})}, 2),
            "u64[1] 1.8446744073709552e+19; i64[1] 1");
  EXPECT_EQ(run(kTopK, TopKAttrs{}, {counting({3}), Tensor::of_i64({4})}, 2, {{"k", 1}}),
            "error: (C2) k is 4 for an axis of 3");
  EXPECT_EQ(infer(kTopK, TopKAttrs{-1, true, b}, {Type(DType::F16, {3, 9})}, {}, 2), "f16[3, b]; i64[3, b]");
}

TEST(Arg, TiesAndAxes) {
  const std::vector<Value> data = {f32({2, 3}, {2, 2, 1, 0, 7, 7})};
  EXPECT_EQ(run(kArgMax, ArgAttrs{1, true, false}, data), "i64[2, 1] 0 1");
  EXPECT_EQ(run(kArgMax, ArgAttrs{1, false, true}, data), "i64[2] 1 2");
  EXPECT_EQ(run(kArgMin, ArgAttrs{0, false, false}, data), "i64[3] 1 0 0");
  const Tensor holes = f32({1, 4}, {1, NAN, NAN, 0});
  EXPECT_EQ(run(kArgMax, ArgAttrs{1, false, false}, {holes}), "i64[1] 1");
  EXPECT_EQ(run(kArgMin, ArgAttrs{1, false, false}, {holes}), "i64[1] 1");
  EXPECT_EQ(run(kArgMin, ArgAttrs{1, false, true}, {holes}), "i64[1] 2");
  EXPECT_EQ(run(kArgMin, ArgAttrs{0, false, false}, {f32({0}, {})}), "error: ArgMin: axis 0 is empty");
  EXPECT_EQ(infer(kArgMax, ArgAttrs{-2, false, false}, {Type(DType::F32, {b, 3, 4})}), "i64[b, 4]");
}

TEST(CumSum, Forms) {
  const std::vector<Value> data = {f32({3}, {1, 2, 4})};
  EXPECT_EQ(run(kCumSum, CumulativeAttrs{0, false, false}, data), "f32[3] 1 3 7");
  EXPECT_EQ(run(kCumSum, CumulativeAttrs{0, true, false}, data), "f32[3] 0 1 3");
  EXPECT_EQ(run(kCumSum, CumulativeAttrs{0, false, true}, data), "f32[3] 7 6 4");
  EXPECT_EQ(run(kCumSum, CumulativeAttrs{}, {data[0], Tensor::scalar(DType::I32, -1)}, 1, {{"axis", 1}}),
            "f32[3] 1 3 7");
  EXPECT_EQ(run(kCumProd, CumulativeAttrs{0, true, true}, {i64({3}, {2, 3, 5})}), "i64[3] 15 5 1");
}

TEST(Trilu, Triangles) {
  EXPECT_EQ(run(kTrilu, TriluAttrs{true, 1}, {f32({2, 2}, {1, 2, 3, 4})}), "f32[2, 2] 0 2 0 0");
  EXPECT_EQ(run(kTrilu, TriluAttrs{false, -1}, {f32({1, 2, 2}, {1, 2, 3, 4})}), "f32[1, 2, 2] 0 0 3 0");
}

TEST(ReverseSequence, FirstElements) {
  EXPECT_EQ(run(kReverseSequence, ReverseSequenceAttrs{0, 1}, {counting({2, 3}), i64({2}, {2, 3})}),
            "f32[2, 3] 1 0 2 5 4 3");
  EXPECT_EQ(run(kReverseSequence, ReverseSequenceAttrs{1, 0}, {counting({3, 2}), i64({2}, {1, 3})}),
            "f32[3, 2] 0 5 2 3 4 1");
  EXPECT_EQ(run(kReverseSequence, ReverseSequenceAttrs{0, 1}, {counting({1, 3}), i64({1}, {4})}),
            "error: ReverseSequence: length 4 of at most 3");
}

}  // namespace
}  // namespace strop::ops
