#include "tensor/dtype.h"

#include <gtest/gtest.h>

namespace strop {
namespace {

TEST(DType, NamesAreUniqueAndReadBack) {
  for (int code = 1; code < kDTypeCount; ++code) {
    const auto dtype = static_cast<DType>(code);
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
  EXPECT_EQ(parse_dtype("float"), DType::F32);
  EXPECT_EQ(parse_dtype("float16"), DType::F16);
  EXPECT_EQ(parse_dtype("undefined"), std::nullopt);
  EXPECT_EQ(parse_dtype("f33"), std::nullopt);
}

TEST(DType, SizesRoundPackedTypesUp) {
  EXPECT_EQ(byte_size(DType::F32, 3), 12);
  EXPECT_EQ(byte_size(DType::C128, 3), 48);
  EXPECT_EQ(byte_size(DType::I4, 3), 2);
  EXPECT_EQ(byte_size(DType::U2, 5), 2);
  EXPECT_EQ(byte_size(DType::Bool, 5), 5);
  EXPECT_EQ(byte_size(DType::String, 5), 0);
}

TEST(DType, EveryTypeIsOfOneKind) {
  for (int code = 1; code < kDTypeCount; ++code) {
    const auto dtype = static_cast<DType>(code);
    const int kinds = is_float(dtype) + is_integer(dtype) + is_complex(dtype);
    EXPECT_EQ(kinds, dtype == DType::Bool || dtype == DType::String ? 0 : 1) << to_string(dtype);
  }
  EXPECT_TRUE(is_signed_integer(DType::I2));
  EXPECT_FALSE(is_signed_integer(DType::U2));
  EXPECT_TRUE(is_sub_byte(DType::F4E2M1));
  EXPECT_FALSE(is_sub_byte(DType::String));
}

}  // namespace
}  // namespace strop
