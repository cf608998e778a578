#include "ops/dim_rules.h"

#include <gtest/gtest.h>

namespace strop::ops {
namespace {

const Dim s = Dim::symbol("s");
const Dim t = Dim::symbol("t");

TEST(DimRules, Nonnegative) {
  EXPECT_TRUE(is_nonnegative(Dim(0)));
  EXPECT_FALSE(is_nonnegative(Dim(-1)));
  EXPECT_TRUE(is_nonnegative(s * t + Dim(2) * s));
  EXPECT_FALSE(is_nonnegative(s - Dim(1)));
  EXPECT_FALSE(is_nonnegative(s - t));
}

TEST(DimRules, SeesThroughDivisionsAndBounds) {
  EXPECT_TRUE(at_most(floor_div(s, Dim(2)), s));
  EXPECT_TRUE(at_most(Dim(2) * floor_div(s, Dim(2)), s));
  EXPECT_FALSE(at_most(Dim(3) * floor_div(s, Dim(2)), s));
  EXPECT_FALSE(at_most(ceil_div(s, Dim(2)) * Dim(2), s));
  EXPECT_TRUE(at_most(min(s, t), t));
  EXPECT_TRUE(at_most(t, max(s, t)));
  EXPECT_FALSE(at_most(max(s, t), t));
  EXPECT_TRUE(at_most(mod(s, Dim(4)), Dim(3)));
  EXPECT_FALSE(at_most(mod(s, Dim(4)), Dim(2)));
}

TEST(DimRules, ClampsOnlyWhereNeeded) {
  EXPECT_EQ(smaller(s, s + t).to_string(), "s");
  EXPECT_EQ(larger(s - Dim(2), Dim(0)).to_string(), "max(0, s - 2)");
  EXPECT_EQ(clamp(floor_div(s, Dim(2)), Dim(0), s).to_string(), "floordiv(s, 2)");
}

TEST(DimRules, WrapNegativeHoldsForEverySign) {
  EXPECT_EQ(wrap_negative(Dim(-2), s), s - Dim(2));
  EXPECT_EQ(wrap_negative(t, s), t);
  const Dim wrapped = wrap_negative(t - Dim(5), s);
  for (int64_t value = 0; value < 10; ++value) {
    const auto lookup = [&](const std::string& name) { return std::optional<int64_t>(name == "s" ? 7 : value); };
    EXPECT_EQ(wrapped.evaluate(lookup), value < 5 ? value - 5 + 7 : value - 5) << value;
  }
}

}  // namespace
}  // namespace strop::ops
