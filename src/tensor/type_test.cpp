#include "tensor/type.h"

#include <gtest/gtest.h>

namespace strop {
namespace {

TEST(Type, ParseReadsWhatToStringWrites) {
  const std::vector<std::string> texts = {
      "none",
      "f32[]",
      "f32[1, 3, h, w]",
      "i64[*]",
      "bf16[2*batch, floordiv(h + 1, 2)]",
      "f32[n, 64, h, w]/1c8",
      "string[?1]",
      "seq(f32[*])",
      "optional(seq(i4[3]))",
  };
  for (const std::string& text : texts) {
    const auto type = parse_type(text);
    ASSERT_TRUE(type.ok()) << type.error().message;
    EXPECT_EQ(to_string(*type), text);
  }
}

TEST(Type, ComparesByContent) {
  const Type a(DType::F32, {Dim(2), Dim::symbol("h")});
  EXPECT_TRUE(a == Type(DType::F32, {Dim(2), Dim::symbol("h")}));
  EXPECT_FALSE(a == Type(DType::F16, {Dim(2), Dim::symbol("h")}));
  EXPECT_FALSE(a == Type(DType::F32, {Dim(2), Dim::symbol("w")}));
  EXPECT_FALSE(a == Type::unranked(DType::F32));
  EXPECT_TRUE(Type::sequence(a) == Type::sequence(a));
  EXPECT_FALSE(Type::sequence(a) == Type::optional(a));
  EXPECT_FALSE(Type::sequence(a) == a);
  TensorType blocked = a.tensor;
  blocked.layout = {1, 8};
  EXPECT_FALSE(Type(blocked) == a);
}

TEST(Type, RejectsWhatIsNotAType) {
  for (const char* text : {"", "f32", "f33[2]", "f32[2", "f32]2[", "f32[2,]", "f32[,2]", "f32[2]x", "f32[2]/",
                           "f32[2]/c8", "f32[2]/1c8x", "seq()", "seq(f32[2]", "seq", "optional(none[2])"}) {
    EXPECT_FALSE(parse_type(text).ok()) << text;
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "seq(";
  EXPECT_FALSE(parse_type(deep + std::string(100000, ')')).ok());
  EXPECT_EQ(parse_type("f33[2]").error().message, "'f33[2]' is not a type");
}

TEST(Type, TensorTypeHelpers) {
  const TensorType type{DType::F32, Dims{Dim(4), Dim::symbol("h")}, {}};
  EXPECT_EQ(type.count().to_string(), "4*h");
  EXPECT_FALSE(type.is_static());
  EXPECT_TRUE((TensorType{DType::F32, Dims{}, {}}.is_static()));
  EXPECT_FALSE((TensorType{DType::F32, std::nullopt, {}}.is_static()));
}

}  // namespace
}  // namespace strop
