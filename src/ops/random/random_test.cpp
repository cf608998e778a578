#include "ops/random/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing.h"

namespace strop::ops {
namespace {

std::vector<double> draw(const Operator& op, const Attrs& attrs, const std::vector<Value>& inputs = {}) {
  SingleThread thread;
  const auto results = evaluate({op, attrs, {}, inputs, 1, thread});
  EXPECT_TRUE(results.ok()) << results.error().message;
  return results.ok() ? load_f64((*results)[0].tensor()) : std::vector<double>();
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

RandomAttrs seeded(Distribution distribution, double first, double second) {
  return {distribution, DType::F64, {100, 100}, first, second, true, 3};
}

// 10000 draws: means lie within five standard errors.
TEST(Random, MomentsAndSeeds) {
  const auto normal = draw(kRandom, seeded(Distribution::Normal, 2, 0.5));
  EXPECT_NEAR(mean(normal), 2, 5 * 0.5 / 100);
  std::vector<double> squares;
  for (const double value : normal) squares.push_back((value - 2) * (value - 2));
  EXPECT_NEAR(mean(squares), 0.25, 5 * 0.25 * std::sqrt(2.0) / 100);
  const auto uniform = draw(kRandom, seeded(Distribution::Uniform, -1, 3));
  EXPECT_NEAR(mean(uniform), 1, 5 * 4 / std::sqrt(12.0) / 100);
  for (const double value : uniform) EXPECT_TRUE(value >= -1 && value < 3);
  EXPECT_EQ(normal, draw(kRandom, seeded(Distribution::Normal, 2, 0.5)));
  RandomAttrs unseeded = seeded(Distribution::Normal, 2, 0.5);
  unseeded.seeded = false;
  EXPECT_NE(draw(kRandom, unseeded), draw(kRandom, unseeded));
}

TEST(Bernoulli, ProbabilityIsTheOperand) {
  EXPECT_EQ(draw(kBernoulli, BernoulliAttrs{}, {testing::f32({2}, {0, 1})}), (std::vector<double>{0, 1}));
  const Tensor third = testing::f32({10000}, std::vector<double>(10000, 0.3));
  EXPECT_NEAR(mean(draw(kBernoulli, BernoulliAttrs{DType::F32, true, 1}, {third})), 0.3, 5 * 0.46 / 100);
}

TEST(Multinomial, DrawsByTheirLogarithms) {
  const Tensor logits = testing::f32({1, 3}, {std::log(0.2), -INFINITY, std::log(0.8)});
  const auto drawn = draw(kMultinomial, MultinomialAttrs{DType::I64, 10000, true, 1}, {logits});
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 1), 0);
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 2)) / 10000, 0.8, 5 * 0.4 / 100);
}

}  // namespace
}  // namespace strop::ops
