#include "ops/detection/detection.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops::testing {
namespace {

// Boxes 0 and 1 overlap by 0.8 / 1.2 of their union, box 2 lies apart; box 1 has its corners the other way round.
const std::vector<Value> kOperands = {f32({1, 3, 4}, {0, 0, 1, 1, 1, 1.2, 0, 0.2, 0, 3, 1, 4}),
                                      f32({1, 1, 3}, {0.5, 0.9, 0.7})};

TEST(NonMaxSuppression, TakesTheBestAndSkipsWhatOverlaps) {
  EXPECT_EQ(run(kNonMaxSuppression, NonMaxSuppressionAttrs{false, 9, 0.5, 0}, kOperands), "i64[2, 3] 0 0 1 0 0 2");
  EXPECT_EQ(run(kNonMaxSuppression, NonMaxSuppressionAttrs{false, 9, 0.7, 0}, kOperands),
            "i64[3, 3] 0 0 1 0 0 2 0 0 0");
  EXPECT_EQ(run(kNonMaxSuppression, NonMaxSuppressionAttrs{false, 1, 0.5, 0}, kOperands), "i64[1, 3] 0 0 1");
  EXPECT_EQ(run(kNonMaxSuppression, NonMaxSuppressionAttrs{false, 9, 0.5, 0.8}, kOperands), "i64[1, 3] 0 0 1");
  EXPECT_EQ(run(kNonMaxSuppression, NonMaxSuppressionAttrs{}, kOperands), "i64[0, 3]");
}

TEST(NonMaxSuppression, Centres) {
  const std::vector<Value> operands = {f32({1, 2, 4}, {0, 0, 2, 2, 1, 0, 2, 2}),
                                       f32({1, 1, 2}, {2, 1})};  // a third in common
  EXPECT_EQ(run(kNonMaxSuppression, NonMaxSuppressionAttrs{true, 9, 0.3, 0}, operands), "i64[1, 3] 0 0 0");
  EXPECT_EQ(run(kNonMaxSuppression, NonMaxSuppressionAttrs{true, 9, 0.4, 0}, operands), "i64[2, 3] 0 0 0 0 0 1");
}

TEST(NonMaxSuppression, Types) {
  const Dim b = Dim::symbol("b");
  EXPECT_EQ(
      infer(kNonMaxSuppression, NonMaxSuppressionAttrs{}, {Type(DType::F32, {1, b, 4}), Type(DType::F32, {1, 80, b})}),
      "i64[?.0, 3]");
  EXPECT_EQ(
      infer(kNonMaxSuppression, NonMaxSuppressionAttrs{}, {Type(DType::F32, {1, b, 5}), Type(DType::F32, {1, 80, b})}),
      "error: (C2) boxes have 5 numbers, not 4");
}

}  // namespace
}  // namespace strop::ops::testing
