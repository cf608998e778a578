#include "api/npy.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "strop/strop.h"

namespace strop::api {
namespace {

std::string npy(const std::string& header, const std::string& data, char major = 1) {
  std::string bytes(kNpyMagic);
  bytes += {major, '\0', static_cast<char>(header.size()), '\0'};
  if (major > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

std::string message(const std::string& bytes) {
  const auto tensor = parse_npy(bytes);
  return tensor.ok() ? "" : tensor.error().message;
}

const std::string kOne("\0\0\x80\x3f", 4);  // 1.0f

TEST(Npy, ReadsEveryVersion) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
  for (const char major : {1, 2, 3}) {
    const auto tensor = parse_npy(npy(header, kOne + kOne, major));
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(tensor->dims(), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(tensor->data<float>()[1], 1.0f);
  }
}

TEST(Npy, ReadsScalarsEmptyArraysAndTexts) {
  EXPECT_EQ(parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", kOne))->rank(), 0);
  EXPECT_EQ(parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}", ""))->count(), 0);
  // "é" and "" as UTF-32 of two characters each
  const auto texts = parse_npy(npy("{'descr': '<U2', 'fortran_order': False, 'shape': (2,)}",
                                   std::string("\xE9\0\0\0a\0\0\0\0\0\0\0\0\0\0\0", 16)));
  ASSERT_TRUE(texts.ok()) << texts.error().message;
  EXPECT_EQ(texts->strings(), (std::vector<std::string>{"\xC3\xA9"
                                                        "a",
                                                        ""}));
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string start = "{'descr': '<f4', 'fortran_order': ";
  EXPECT_NE(message(npy(start + "True, 'shape': (1, 1)}", kOne)).find("Fortran order"), std::string::npos);
  EXPECT_NE(message(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", kOne)).find("big-endian"),
            std::string::npos);
  EXPECT_NE(message(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", kOne)).find("pickled"),
            std::string::npos);
  EXPECT_NE(message(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", kOne)).find("structured"),
            std::string::npos);
  EXPECT_NE(message(npy(start + "False, 'shape': (2,)}", kOne)).find("4 bytes of data, its shape needs 8"),
            std::string::npos);
  EXPECT_NE(message(npy(start + "False, 'shape': (4611686018427387904, 4)}", kOne)).find("absurd"), std::string::npos);
  EXPECT_NE(message(npy(start + "False, 'shape': (-1,)}", kOne)).find("not a number"), std::string::npos);
  EXPECT_NE(message(npy(start + "False", kOne)), "");
  EXPECT_NE(message(npy("", "")), "");
  EXPECT_NE(message("\x93NUMPY"), "");
  EXPECT_NE(message(std::string(kNpyMagic) + std::string("\1\0\xFF\xFF", 4)), "");
  EXPECT_NE(message(npy(start, "", 4)).find("version 4"), std::string::npos);
}

TEST(Npy, HeaderIsPaddedAndReadBack) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {3}, {2, 3}, {1, 2, 3, 4}}) {
    const std::string header = npy_header("<i8", dims).value();
    EXPECT_EQ(header.size() % 64, 0u);
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    const auto tensor = parse_npy(header + std::string(static_cast<size_t>(count) * 8, '\0'));
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(tensor->dims(), dims);
    EXPECT_EQ(tensor->dtype(), DType::I64);
  }
}

TEST(Npy, WhatIsSavedIsLoaded) {
  const std::string path = testing::TempDir() + "/saved.npy";
  for (const DType dtype : {DType::F32, DType::F16, DType::I8, DType::U64, DType::Bool, DType::C64, DType::String}) {
    const HostTensor tensor = random_tensor(dtype, {3, 5}, 7);
    ASSERT_TRUE(save_npy(path, tensor.view()).ok());
    const auto loaded = load_tensor(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded->dtype(), dtype);
    EXPECT_EQ(compare(loaded->view(), tensor.view()).l0, 0) << to_string(dtype);
  }
  std::filesystem::remove(path);
}

TEST(Npy, TypesThatNumpyLacksAreSavedAsBits) {
  const std::string path = testing::TempDir() + "/bits.npy";
  HostTensor tensor(DType::BF16, {2});
  tensor.data<uint16_t>()[1] = 0x3F80;
  ASSERT_TRUE(save_npy(path, tensor.view()).ok());
  const HostTensor bits = load_tensor(path).value();
  EXPECT_EQ(bits.dtype(), DType::U16);
  EXPECT_EQ(bits.data<uint16_t>()[1], 0x3F80);
  HostTensor packed(DType::I4, {3});  // 1, -2, 7
  packed.data<uint8_t>()[0] = 0xE1;
  packed.data<uint8_t>()[1] = 0x07;
  ASSERT_TRUE(save_npy(path, packed.view()).ok());
  const HostTensor values = load_tensor(path).value();
  EXPECT_EQ(values.dtype(), DType::I8);
  EXPECT_EQ(values.data<int8_t>()[1], -2);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace strop::api
