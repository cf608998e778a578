#include "ops/strings/strings.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::f32;
using testing::i64;
using testing::run;

Tensor texts(std::vector<int64_t> dims, std::vector<std::string> values) {
  return Tensor::of_strings(std::move(dims), std::move(values));
}

TEST(StringConcat, Broadcasts) {
  EXPECT_EQ(run(kStringConcat, {}, {texts({2, 1}, {"a", "b"}), texts({2}, {"x", "y"})}), "string[2, 2] ax ay bx by");
}

TEST(StringNormalizer, DropsStopWordsAndChangesCase) {
  const Tensor days = texts({3}, {"Monday", "tuesday", "MONDAY"});
  EXPECT_EQ(run(kStringNormalizer, StringNormalizerAttrs{CaseChange::Upper, false, {"monday"}}, {days}),
            "string[1] TUESDAY");
  EXPECT_EQ(run(kStringNormalizer, StringNormalizerAttrs{CaseChange::Lower, true, {"Monday"}}, {days}),
            "string[2] tuesday monday");
  EXPECT_EQ(run(kStringNormalizer, StringNormalizerAttrs{CaseChange::None, true, {"a"}}, {texts({1, 1}, {"a"})}),
            "string[1, 1] ");
}

TEST(StringSplit, DelimitersAndSpace) {
  EXPECT_EQ(run(kStringSplit, StringSplitAttrs{",", -1}, {texts({2}, {"a,,b", ""})}, 2),
            "string[2, 3] a  b   ; i64[2] 3 0");
  EXPECT_EQ(run(kStringSplit, StringSplitAttrs{"", 1}, {texts({1}, {"  a  b c "})}, 2),
            "string[1, 2] a b c ; i64[1] 2");
}

TEST(RegexFullMatch, TheWholeTextMustMatch) {
  EXPECT_EQ(run(kRegexFullMatch, RegexFullMatchAttrs{"a+b"}, {texts({3}, {"aab", "aabc", ""})}), "bool[3] 1 0 0");
  EXPECT_TRUE(
      run(kRegexFullMatch, RegexFullMatchAttrs{"("}, {texts({1}, {"a"})}).starts_with("error: (C2) the pattern '('"));
}

TEST(LabelEncoder, TextsNumbersAndNan) {
  const LabelEncoderAttrs names{texts({2}, {"a", "b"}), i64({2}, {7, 8}), i64({}, {-1})};
  EXPECT_EQ(run(kLabelEncoder, names, {texts({3}, {"b", "c", "a"})}), "i64[3] 8 -1 7");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LabelEncoderAttrs numbers{f32({2}, {nan, 0}), texts({2}, {"nan", "zero"}), texts({1}, {"?"})};
  EXPECT_EQ(run(kLabelEncoder, numbers, {f32({3}, {nan, -0.0, 2})}), "string[3] nan zero ?");
}

// Pool: 1-grams 2 and 3; 2-grams (5, 4) and (5, 6).
TEST(TfIdf, CountsGramsWithSkips) {
  TfIdfAttrs attrs;
  attrs.max_length = 2;
  attrs.starts = {0, 2};
  attrs.columns = {0, 1, 2, 3};
  attrs.pool = i64({6}, {2, 3, 5, 4, 5, 6});
  const Tensor x = i64({1, 5}, {5, 2, 4, 2, 5});
  EXPECT_EQ(run(kTfIdf, attrs, {x}), "f32[1, 4] 2 0 0 0");
  attrs.max_skip = 1;
  EXPECT_EQ(run(kTfIdf, attrs, {x}), "f32[1, 4] 2 0 1 0");
  attrs.weighting = TermWeighting::TfIdf;
  attrs.weights = {0.5, 1, 3, 1};
  EXPECT_EQ(run(kTfIdf, attrs, {x}), "f32[1, 4] 1 0 3 0");
  attrs.columns = {0, 1, 2};
  EXPECT_EQ(run(kTfIdf, attrs, {x}), "error: (C2) 4 n-grams, 3 columns, 4 weights");
}

}  // namespace
}  // namespace strop::ops
