#include "tensor/dim.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "base/check.h"

namespace strop {
namespace {

Dim sym(const char* name) { return Dim::symbol(name); }

std::optional<int64_t> value(const Dim& dim, const std::map<std::string, int64_t>& symbols) {
  return dim.evaluate([&](const std::string& name) -> std::optional<int64_t> {
    const auto it = symbols.find(name);
    return it == symbols.end() ? std::nullopt : std::optional(it->second);
  });
}

TEST(Dim, EqualExpressionsHaveOneText) {
  const Dim b = sym("batch"), s = sym("seq");
  EXPECT_EQ((b * s * 2 + 1).to_string(), "2*batch*seq + 1");
  EXPECT_EQ((1 + s * 2 * b).to_string(), "2*batch*seq + 1");
  EXPECT_EQ(((b + s) * (b - s)).to_string(), "batch*batch - seq*seq");
  EXPECT_EQ((Dim(0) - b - 3).to_string(), "-batch - 3");
  EXPECT_EQ((b - b).to_string(), "0");
  EXPECT_TRUE((b - b).is_constant());
  EXPECT_EQ((b + 5 - b).constant(), 5);
  EXPECT_EQ(Dim(-4).to_string(), "-4");
  EXPECT_EQ(floor_div(b + 1, 2).to_string(), "floordiv(batch + 1, 2)");
  EXPECT_TRUE(b * s == s * b);
  EXPECT_FALSE(b * s == b + s);
  EXPECT_FALSE(b == Dim(3));
}

TEST(Dim, MinimumAndMaximumAreSymmetric) {
  const Dim b = sym("b"), s = sym("s");
  EXPECT_TRUE(max(b, s) == max(s, b));
  EXPECT_TRUE(min(b, Dim(7)) == min(Dim(7), b));
  EXPECT_EQ(max(b + 3, b).to_string(), "b + 3");
  EXPECT_EQ(min(b + 3, b).to_string(), "b");
  EXPECT_EQ(max(Dim(3), Dim(5)).constant(), 5);
}

TEST(Dim, DivisionIsExactWhereItCanBe) {
  const Dim b = sym("b"), s = sym("s");
  EXPECT_EQ(floor_div(12 * b * s, 4 * s).to_string(), "3*b");
  EXPECT_EQ(floor_div(6 * b * s + 9 * s, 3 * s).to_string(), "2*b + 3");
  EXPECT_EQ(floor_div(b, b).to_string(), "1");
  EXPECT_EQ(floor_div(b + s, b + s).to_string(), "1");
  EXPECT_EQ(floor_div(b, 1).to_string(), "b");
  EXPECT_EQ(floor_div(6 * b, 4).to_string(), "floordiv(6*b, 4)");
  EXPECT_EQ(mod(6 * b, 3).to_string(), "0");
  EXPECT_EQ(mod(b, 3).to_string(), "mod(b, 3)");
  EXPECT_EQ(ceil_div(8 * b, 8).to_string(), "floordiv(8*b + 7, 8)");
  EXPECT_EQ(floor_div(-7, 2).constant(), -4);
  EXPECT_EQ(mod(-7, 2).constant(), 1);
  EXPECT_EQ(mod(7, -2).constant(), -1);
  EXPECT_EQ(ceil_div(Dim(9), Dim(4)).constant(), 3);
}

TEST(Dim, ParseReadsWhatToStringWrites) {
  const Dim b = sym("batch"), s = sym("?1.len"), n = sym("past/kv:0");
  const std::vector<Dim> dims = {Dim(0),
                                 Dim(-17),
                                 b,
                                 2 * b * s - 3 * n + 1,
                                 floor_div(b + 1, 2) * s,
                                 mod(b - s, n),
                                 min(b, max(s, n + 2)) - 5,
                                 Dim(0) - b,
                                 floor_div(Dim(0) - b, Dim(0) - s - 1)};
  for (const Dim& dim : dims) {
    const auto parsed = Dim::parse(dim.to_string());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed->to_string(), dim.to_string());
    EXPECT_TRUE(*parsed == dim);
  }
  EXPECT_EQ(Dim::parse("3*(a + 2) - a*2")->to_string(), "a + 6");
}

TEST(Dim, ParseErrorsSayWhere) {
  EXPECT_EQ(Dim::parse("").error().message, "dimension '': missing operand at position 0");
  EXPECT_EQ(Dim::parse("a +").error().message, "dimension 'a +': missing operand at position 3");
  EXPECT_EQ(Dim::parse("a b").error().message, "dimension 'a b': unexpected text at position 2");
  EXPECT_FALSE(Dim::parse("sqrt(a, b)").ok());
  EXPECT_FALSE(Dim::parse("mod(a)").ok());
  EXPECT_FALSE(Dim::parse("99999999999999999999").ok());
  EXPECT_FALSE(Dim::parse(std::string(100000, '(')).ok());
}

TEST(Dim, Evaluates) {
  const Dim b = sym("b"), s = sym("s");
  EXPECT_EQ(value(2 * b * s + floor_div(s, 3) - mod(s, 3), {{"b", 5}, {"s", 8}}), 80 + 2 - 2);
  EXPECT_EQ(value(max(b, s) - min(b, s), {{"b", 5}, {"s", 8}}), 3);
  EXPECT_EQ(value(floor_div(Dim(0) - s, 3), {{"s", 8}}), -3);
  EXPECT_EQ(value(b, {}), std::nullopt);
  EXPECT_EQ(value(floor_div(b, s), {{"b", 1}, {"s", 0}}), std::nullopt);
  EXPECT_EQ(value(b * b, {{"b", int64_t{1} << 40}}), std::nullopt);
  EXPECT_EQ(value(Dim(3), {}), 3);
}

TEST(Dim, Substitutes) {
  const Dim b = sym("b"), s = sym("s");
  const Dim expression = floor_div(b * s + 1, s) + b;
  EXPECT_EQ(expression.substitute({{"s", Dim(1)}}).to_string(), "2*b + 1");
  EXPECT_EQ(expression.substitute({{"b", s - 1}}).substitute({{"s", Dim(4)}}).constant(), 13 / 4 + 3);
  EXPECT_EQ(expression.substitute({{"x", Dim(1)}}).to_string(), expression.to_string());
}

TEST(Dim, NamesItsSymbols) {
  const Dim dim = floor_div(sym("z") + 1, 2) * sym("a") + max(sym("?u"), sym("z"));
  EXPECT_EQ(dim.symbols(), (std::vector<std::string>{"?u", "a", "z"}));
  EXPECT_TRUE(dim.is_unbacked());
  EXPECT_FALSE((sym("a") + 1).is_unbacked());
  EXPECT_TRUE(sym("a").is_symbol());
  EXPECT_FALSE((sym("a") + 1).is_symbol());
  EXPECT_FALSE((2 * sym("a")).is_symbol());
  EXPECT_FALSE(floor_div(sym("a"), 2).is_symbol());
  EXPECT_TRUE(Dim(4).symbols().empty());
}

TEST(Dim, OverflowIsNeverSilent) {
  const Dim huge(int64_t{1} << 40);
  const Dim s = sym("s");
  EXPECT_THROW(huge * huge, Bug);
  EXPECT_THROW(huge * s * huge, Bug);
  EXPECT_THROW(Dim(std::numeric_limits<int64_t>::max()) + 1, Bug);
  EXPECT_THROW(Dim(std::numeric_limits<int64_t>::max()) * s + s, Bug);
}

TEST(Dim, Lists) {
  EXPECT_EQ(product({Dim(2), sym("h"), Dim(3)}).to_string(), "6*h");
  EXPECT_EQ(product({}).constant(), 1);
  EXPECT_EQ(to_string(Dims{Dim(1), Dim(3), sym("h")}), "[1, 3, h]");
  EXPECT_EQ(as_constants(to_dims({2, 3})), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(as_constants({Dim(2), sym("h")}), std::nullopt);
}

}  // namespace
}  // namespace strop
