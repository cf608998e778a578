#include "onnx/tensor_proto.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "onnx/model_writer.h"

namespace strop::onnx {
namespace {

using ::testing::ElementsAre;
using testing::Message;

/// A tensor message kept alive, with what is needed to decode it.
struct Decoded {
  std::shared_ptr<const std::string> bytes;
  Result<Tensor> tensor;
};

Decoded decode(const Message& message) {
  auto bytes = std::make_shared<const std::string>(message.bytes());
  const auto proto = parse_tensor_proto(*bytes);
  if (!proto.ok()) return {bytes, proto.error()};
  TensorSource source{bytes, ExternalFiles()};
  return {bytes, to_tensor(*proto, source)};
}

Message typed(DType dtype, const std::vector<int64_t>& dims) {
  return Message().packed(1, dims).integer(2, static_cast<int64_t>(dtype));
}

std::string failure(const Message& message) {
  const Decoded d = decode(message);
  return d.tensor.ok() ? "" : d.tensor.error().message;
}

TEST(TensorProto, RawData) {
  EXPECT_THAT(load_f64(*decode(testing::f32_tensor("x", {2}, {1.5f, -2})).tensor), ElementsAre(1.5, -2));
  EXPECT_THAT(load_i64(*decode(testing::i64_tensor("x", {2}, {1, -2})).tensor), ElementsAre(1, -2));
  const Message nibbles = typed(DType::I4, {3}).text(9, "\x2f\x07");
  EXPECT_THAT(load_i64(*decode(nibbles).tensor), ElementsAre(-1, 2, 7));
  EXPECT_EQ(decode(testing::f32_tensor("x", {0, 3}, {})).tensor->dims(), (std::vector<int64_t>{0, 3}));
}

// Only the alignment decides whether the bytes are used in place.
TEST(TensorProto, UsesAlignedBytesInPlace) {
  for (int padding = 0; padding < 8; ++padding) {
    const Message message = Message()
                                .text(12, std::string(static_cast<size_t>(padding), 'x'))
                                .append(testing::f32_tensor("w", {2}, {1, 2}));
    const Decoded d = decode(message);
    ASSERT_TRUE(d.tensor.ok());
    const auto* data = static_cast<const char*>(d.tensor->raw());
    const bool in_place = data >= d.bytes->data() && data < d.bytes->data() + d.bytes->size();
    const auto at = d.bytes->find(std::string("\0\0\x80\x3f", 4));
    EXPECT_EQ(in_place, reinterpret_cast<uintptr_t>(d.bytes->data() + at) % 4 == 0) << padding;
    EXPECT_THAT(load_f64(*d.tensor), ElementsAre(1, 2));
    EXPECT_THROW(d.tensor->mutable_raw(), Bug);
  }
}

TEST(TensorProto, TypedFields) {
  EXPECT_THAT(load_f64(*decode(typed(DType::F32, {3}).f32(4, 1).f32(4, 2).f32(4, 3)).tensor), ElementsAre(1, 2, 3));
  Message run;
  run.raw(1.0f).raw(2.0f);
  EXPECT_THAT(load_f64(*decode(typed(DType::F32, {3}).text(4, run.bytes()).f32(4, 3)).tensor), ElementsAre(1, 2, 3));
  EXPECT_THAT(load_f64(*decode(typed(DType::F32, {2}).text(4, run.bytes())).tensor), ElementsAre(1, 2));
  EXPECT_THAT(load_f64(*decode(typed(DType::F64, {}).tag(10, 1).raw(2.5)).tensor), ElementsAre(2.5));
  EXPECT_THAT(load_i64(*decode(typed(DType::I32, {2}).packed(5, {7, -7})).tensor), ElementsAre(7, -7));
  EXPECT_THAT(load_i64(*decode(typed(DType::I8, {2}).packed(5, {7, -7})).tensor), ElementsAre(7, -7));
  EXPECT_THAT(load_i64(*decode(typed(DType::U16, {1}).packed(5, {65535})).tensor), ElementsAre(65535));
  EXPECT_THAT(load_i64(*decode(typed(DType::Bool, {3}).packed(5, {0, 1, 2})).tensor), ElementsAre(0, 1, 1));
  EXPECT_THAT(load_i64(*decode(typed(DType::I64, {1}).packed(7, {INT64_MIN})).tensor), ElementsAre(INT64_MIN));
  EXPECT_THAT(load_i64(*decode(typed(DType::U32, {1}).packed(11, {4000000000})).tensor), ElementsAre(4000000000));
  EXPECT_THAT(load_i64(*decode(typed(DType::U64, {1}).packed(11, {-1})).tensor),
              ElementsAre(-1));  // the bits of 2^64-1
  EXPECT_THAT(decode(typed(DType::String, {2}).text(6, "a").text(6, "\xff")).tensor->strings(),
              ElementsAre("a", "\xff"));
}

TEST(TensorProto, NarrowTypesTravelAsBitsInInt32Data) {
  EXPECT_THAT(load_f64(*decode(typed(DType::F16, {2}).packed(5, {0x3c00, 0xc000})).tensor), ElementsAre(1, -2));
  EXPECT_THAT(load_f64(*decode(typed(DType::BF16, {1}).packed(5, {0x3fc0})).tensor), ElementsAre(1.5));
  EXPECT_THAT(load_f64(*decode(typed(DType::F8E4M3FN, {1}).packed(5, {0x38})).tensor), ElementsAre(1));
  EXPECT_THAT(load_f64(*decode(typed(DType::F8E5M2, {1}).packed(5, {0x3c})).tensor), ElementsAre(1));
  EXPECT_THAT(load_f64(*decode(typed(DType::F8E8M0, {1}).packed(5, {128})).tensor), ElementsAre(2));
  // Two nibbles, or four pairs of bits, per number; the last one may be part empty.
  EXPECT_THAT(load_i64(*decode(typed(DType::U4, {3}).packed(5, {0x21, 0x0f})).tensor), ElementsAre(1, 2, 15));
  EXPECT_THAT(load_i64(*decode(typed(DType::I4, {2}).packed(5, {0x8f})).tensor), ElementsAre(-1, -8));
  EXPECT_THAT(load_f64(*decode(typed(DType::F4E2M1, {2}).packed(5, {0x72})).tensor), ElementsAre(1, 6));
  EXPECT_THAT(load_i64(*decode(typed(DType::U2, {5}).packed(5, {0xe4, 0x02})).tensor), ElementsAre(0, 1, 2, 3, 2));
  EXPECT_THAT(load_i64(*decode(typed(DType::I2, {4}).packed(5, {0xe4})).tensor), ElementsAre(0, 1, -2, -1));
}

TEST(TensorProto, ComplexNumbersArePairs) {
  const Decoded d = decode(typed(DType::C64, {1}).f32(4, 1).f32(4, -2));
  ASSERT_TRUE(d.tensor.ok());
  EXPECT_EQ(d.tensor->data<float>()[0], 1);
  EXPECT_EQ(d.tensor->data<float>()[1], -2);
  EXPECT_EQ(failure(typed(DType::C128, {1}).tag(10, 1).raw(2.5)),
            "has 1 numbers of data where its type and shape need 2");
}

TEST(TensorProto, RefusesWhatDoesNotFit) {
  EXPECT_EQ(failure(testing::f32_tensor("x", {3}, {1, 2})), "has 8 bytes of data where its type and shape need 12");
  EXPECT_EQ(failure(typed(DType::F32, {2}).f32(4, 1)), "has 1 numbers of data where its type and shape need 2");
  EXPECT_EQ(failure(typed(DType::I32, {2})), "has 0 numbers of data where its type and shape need 2");
  EXPECT_EQ(failure(typed(DType::I4, {3}).packed(5, {1})), "has 1 numbers of data where its type and shape need 2");
  EXPECT_EQ(failure(typed(DType::String, {2}).text(6, "a")), "has 1 strings of data where its type and shape need 2");
  EXPECT_EQ(failure(typed(DType::String, {1}).text(9, "a")), "strings cannot be raw data");
  EXPECT_EQ(failure(typed(DType::F32, {-1}).f32(4, 1)), "has a negative dimension, -1");
  EXPECT_EQ(failure(typed(DType::F32, {1 << 20, 1 << 20, 2})), "has more than 2^40 elements");
  EXPECT_EQ(failure(typed(DType::F32, {INT64_MAX, INT64_MAX})), "has more than 2^40 elements");
  EXPECT_EQ(failure(Message().integer(2, 99)), "has element type 99, which ONNX does not define");
  EXPECT_EQ(failure(Message()), "has element type 0, which ONNX does not define");
  EXPECT_EQ(failure(typed(DType::F32, {1}).message(3, Message())), "is stored in segments");
  EXPECT_EQ(failure(typed(DType::F32, {1}).text(4, "abc")),
            "is damaged at byte 10 (in TensorProto, field 4): a packed run that ends inside a number");
}

TEST(TensorProto, SparseBecomesDense) {
  const std::string values = testing::f32_tensor("s", {2}, {5, 6}).bytes();
  const std::string linear = testing::i64_tensor("", {2}, {1, 5}).bytes();
  const std::string pairs = testing::i64_tensor("", {2, 2}, {0, 1, 1, 2}).bytes();
  const std::string outside = testing::i64_tensor("", {2}, {1, 6}).bytes();
  TensorSource source;
  SparseTensorProto sparse{*parse_tensor_proto(values), *parse_tensor_proto(linear), {2, 3}};
  EXPECT_THAT(load_f64(*to_tensor(sparse, source)), ElementsAre(0, 5, 0, 0, 0, 6));
  sparse.indices = *parse_tensor_proto(pairs);
  EXPECT_THAT(load_f64(*to_tensor(sparse, source)), ElementsAre(0, 5, 0, 0, 0, 6));
  sparse.indices = *parse_tensor_proto(outside);
  EXPECT_EQ(to_tensor(sparse, source).error().message, "sparse index 6 is outside [0, 6)");
  sparse.indices = *parse_tensor_proto(values);
  EXPECT_EQ(to_tensor(sparse, source).error().message, "sparse indices must be i64 of [values] or [values, rank]");
  sparse.dims = {1 << 15, 1 << 15};
  EXPECT_EQ(to_tensor(sparse, source).error().code, ErrorCode::Unsupported);
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("strop_external_" + std::to_string(::getpid()));
    std::filesystem::create_directories(root_ / "model" / "sub");
    write("model/w.bin", std::string(4, '\0') + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    write("model/sub/w.bin", std::string("\0\0\x40\x40", 4));
    write("secret.bin", std::string(64, 'x'));
    std::filesystem::create_symlink(root_ / "secret.bin", root_ / "model" / "leak.bin");
    std::filesystem::create_symlink("w.bin", root_ / "model" / "alias.bin");
    std::filesystem::create_directory_symlink(root_, root_ / "model" / "up");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& content) {
    std::ofstream(root_ / name, std::ios::binary) << content;
  }

  Result<Tensor> load(const std::vector<int64_t>& dims, std::string_view location, std::string_view offset = "",
                      std::string_view length = "") {
    const std::string bytes = testing::external_tensor("w", dims, location, offset, length).bytes();
    TensorSource source{nullptr, ExternalFiles(root_ / "model")};
    return to_tensor(*parse_tensor_proto(bytes), source);
  }
  std::string failure(const std::vector<int64_t>& dims, std::string_view location, std::string_view offset = "",
                      std::string_view length = "") {
    const auto result = load(dims, location, offset, length);
    return result.ok() ? "" : result.error().message;
  }

  std::filesystem::path root_;
};

TEST_F(ExternalData, ReadsInPlace) {
  EXPECT_THAT(load_f64(*load({2}, "w.bin", "4", "8")), ElementsAre(1, 2));
  EXPECT_THAT(load_f64(*load({2}, "w.bin", "4")), ElementsAre(1, 2));
  EXPECT_THAT(load_f64(*load({1}, "sub/w.bin")), ElementsAre(3));
  EXPECT_THAT(load_f64(*load({1}, "./sub/w.bin")), ElementsAre(3));
  EXPECT_THAT(load_f64(*load({1}, "alias.bin", "8")), ElementsAre(2));
  EXPECT_EQ(load({0}, "w.bin", "12")->count(), 0);
}

TEST_F(ExternalData, NeverLeavesTheFolder) {
  EXPECT_EQ(failure({1}, "/etc/passwd"),
            "is external data in '/etc/passwd'; only relative paths without '..' are allowed");
  EXPECT_EQ(failure({1}, "../secret.bin"),
            "is external data in '../secret.bin'; only relative paths without '..' are allowed");
  EXPECT_EQ(failure({1}, "sub/../../secret.bin"),
            "is external data in 'sub/../../secret.bin'; only relative paths without '..' are allowed");
  EXPECT_EQ(failure({1}, "leak.bin"), "is external data in 'leak.bin', a link that leaves the model's folder");
  EXPECT_EQ(failure({1}, "up/secret.bin"),
            "is external data in 'up/secret.bin', a link that leaves the model's folder");
  EXPECT_EQ(failure({1}, std::string_view("w.bin\0x", 7)),
            "is external data in 'w.bin\\x00x'; only relative paths without '..' are allowed");
}

TEST_F(ExternalData, ChecksTheRange) {
  EXPECT_EQ(failure({3}, "w.bin", "4"), "is external data at bytes [4, +12) of 'w.bin', which has 12 bytes");
  EXPECT_EQ(failure({1}, "w.bin", "18446744073709551615"),
            "is external data at bytes [18446744073709551615, +4) of 'w.bin', which has 12 bytes");
  EXPECT_EQ(failure({1}, "w.bin", "-4"), "has external data with offset '-4', which is not a number");
  EXPECT_EQ(failure({1}, "w.bin", "4", "8"), "has 8 bytes of external data where its type and shape need 4");
  EXPECT_EQ(failure({1}, ""), "has external data without a location");
  EXPECT_EQ(failure({1}, "none.bin"), "is external data in 'none.bin': No such file or directory");
}

TEST_F(ExternalData, NeedsAFolder) {
  const std::string bytes = testing::external_tensor("w", {1}, "w.bin").bytes();
  TensorSource source;
  EXPECT_EQ(to_tensor(*parse_tensor_proto(bytes), source).error().message,
            "is external data in 'w.bin', but the model came without a folder");
}

}  // namespace
}  // namespace strop::onnx
