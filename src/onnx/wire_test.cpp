#include "onnx/wire.h"

#include <gtest/gtest.h>

#include "onnx/model_writer.h"

namespace strop::onnx {
namespace {

using testing::Message;

TEST(Wire, ReadsEveryWireType) {
  const std::string bytes =
      Message().integer(1, 300).integer(2, -1).text(3, "abc").f32(4, 1.5f).tag(5, 1).raw<double>(0.25).bytes();
  WireStatus status{bytes.data(), "", 0};
  WireReader r(bytes, "M", status);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.varint(), 300u);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.integer(), -1);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.text(), "abc");
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.fixed_f32(), 1.5f);
  ASSERT_TRUE(r.next());
  double value = 0;
  r.fixed<double>([&](double v) { value = v; });
  EXPECT_EQ(value, 0.25);
  EXPECT_FALSE(r.next());
  EXPECT_TRUE(status.ok());
}

TEST(Wire, ReadsPackedAndSingleIntegers) {
  const std::string bytes = Message().packed(1, {1, 300, -5}).integer(1, 7).bytes();
  WireStatus status{bytes.data(), "", 0};
  WireReader r(bytes, "M", status);
  std::vector<int64_t> values;
  while (r.next()) r.integers([&](int64_t value) { values.push_back(value); });
  EXPECT_EQ(values, (std::vector<int64_t>{1, 300, -5, 7}));
}

std::string failure(const std::string& bytes) {
  WireStatus status{bytes.data(), "", 0};
  WireReader r(bytes, "M", status);
  while (r.next()) {
    if (r.field() == 1) {
      r.integer();
    } else if (r.field() == 2) {
      r.text();
    } else {
      r.skip();
    }
  }
  return status.error;
}

TEST(Wire, SaysWhereAFileIsDamaged) {
  EXPECT_EQ(failure(Message().tag(1, 0).bytes() + "\x80"),
            "damaged at byte 1 (in M, field 1): the data end inside a number");
  EXPECT_EQ(failure(Message().tag(1, 0).bytes()), "damaged at byte 1 (in M, field 1): the data end inside a number");
  EXPECT_EQ(failure(Message().tag(1, 0).bytes() + std::string(11, '\xff')),
            "damaged at byte 1 (in M, field 1): a number longer than 64 bits");
  EXPECT_EQ(failure(Message().tag(2, 2).raw_varint(5).bytes() + "abc"),
            "damaged at byte 2 (in M, field 2): a length of 5 bytes where 3 are left");
  EXPECT_EQ(failure(Message().tag(2, 0).raw_varint(5).bytes()),
            "damaged at byte 1 (in M, field 2): wire type 0 where 2 belongs");
  EXPECT_EQ(failure(Message().tag(3, 3).bytes()), "damaged at byte 1 (in M, field 3): wire type 3 is not used by ONNX");
  EXPECT_EQ(failure(Message().raw_varint(0).bytes()), "damaged at byte 1 (in M, field 0): 0 is not a field number");
  EXPECT_EQ(failure(Message().text(2, "\xff").bytes()), "damaged at byte 3 (in M, field 2): a name that is not UTF-8");
}

// A reader that keeps lengths in 32 bits would take 2^32 + 3 for 3.
TEST(Wire, KeepsLengthsIn64Bits) {
  EXPECT_EQ(failure(Message().tag(2, 2).raw_varint((uint64_t{1} << 32) + 3).bytes() + "abc"),
            "damaged at byte 6 (in M, field 2): a length of 4294967299 bytes where 3 are left");
  EXPECT_EQ(failure(Message().tag(3, 2).raw_varint(UINT64_MAX).bytes() + "abc"),
            "damaged at byte 11 (in M, field 3): a length of 18446744073709551615 bytes where 3 are left");
}

TEST(Wire, Utf8) {
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));          // overlong
  EXPECT_FALSE(is_utf8("\xe0\x80\x80"));      // overlong
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  EXPECT_FALSE(is_utf8("\xe2\x82"));          // cut short
}

}  // namespace
}  // namespace strop::onnx
