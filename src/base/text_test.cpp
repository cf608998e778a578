#include "base/text.h"

#include <gtest/gtest.h>

namespace strop {
namespace {

using Views = std::vector<std::string_view>;

TEST(Text, Trims) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, Splits) {
  EXPECT_EQ(split("a,,b", ','), (Views{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (Views{""}));
  EXPECT_EQ(split("a,", ','), (Views{"a", ""}));
  EXPECT_EQ(split_words("  a \t bc\n"), (Views{"a", "bc"}));
  EXPECT_EQ(split_words(" \n"), Views{});
}

TEST(Text, Joins) {
  EXPECT_EQ(join(Views{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(join(Views{}, ", "), "");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("same", "same"), 0);
  EXPECT_EQ(edit_distance("form", "from"), 1);
  EXPECT_EQ(edit_distance("ab", "cd"), 2);
}

TEST(Text, NearestNamesALikelyMisspelling) {
  const Views names = {"passes.fuse_epilogues", "passes.fold_constants", "codegen.tile"};
  EXPECT_EQ(nearest("passes.fuse_epilouges", names), "passes.fuse_epilogues");
  EXPECT_EQ(nearest("codegen.title", names), "codegen.tile");
  EXPECT_EQ(nearest("something else entirely", names), std::nullopt);
  EXPECT_EQ(nearest("zz", Views{"ab", "b"}), std::nullopt);
  EXPECT_EQ(did_you_mean("codegen.til", names), "; did you mean 'codegen.tile'?");
  EXPECT_EQ(did_you_mean("nothing like it", names), "");
}

}  // namespace
}  // namespace strop
