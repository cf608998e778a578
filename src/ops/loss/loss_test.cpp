#include "ops/loss/loss.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops::testing {
namespace {

const Tensor kScores = f32({3, 2}, {-1, -2, -4, -8, -16, -32});
const Tensor kWeights = f32({2}, {2, 1});

TEST(NegativeLogLikelihood, Reductions) {
  const std::vector<Value> plain = {kScores, Tensor::of_i64({0, 1, 1})};
  const std::vector<Value> weighted = {kScores, Tensor::of_i64({0, 1, 1}), kWeights};
  const auto with = [](LossReduction reduction) { return NegativeLogLikelihoodAttrs{reduction, false, 0}; };
  EXPECT_EQ(run(kNegativeLogLikelihood, with(LossReduction::None), plain), "f32[3] 1 8 32");
  EXPECT_EQ(run(kNegativeLogLikelihood, with(LossReduction::Sum), weighted), "f32[] 42");
  EXPECT_EQ(run(kNegativeLogLikelihood, with(LossReduction::Mean), {kScores, Tensor::of_i64({1, 1, 0}), kWeights}),
            "f32[] 10.5");  // (2 + 8 + 2 * 16) / 4
}

TEST(NegativeLogLikelihood, IgnoredTargetsWeighNothing) {
  const NegativeLogLikelihoodAttrs attrs{LossReduction::Mean, true, -1};
  EXPECT_EQ(run(kNegativeLogLikelihood, attrs, {kScores, Tensor::of_i64({0, -1, 0})}), "f32[] 8.5");
  EXPECT_EQ(run(kNegativeLogLikelihood, attrs, {kScores, Tensor::of_i64({0, 2, 0})}),
            "error: loss: target 2 is outside [0, 2)");
}

TEST(NegativeLogLikelihood, FurtherAxes) {
  const NegativeLogLikelihoodAttrs attrs{LossReduction::None, false, 0};
  EXPECT_EQ(run(kNegativeLogLikelihood, attrs, {f32({1, 2, 2}, {-1, -2, -3, -4}), i64({1, 2}, {1, 0})}),
            "f32[1, 2] 3 2");
}

}  // namespace
}  // namespace strop::ops::testing
