#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops::testing {
namespace {

using onnx::testing::imported;
using onnx::testing::node;
using onnx::testing::string_attr;
using onnx::testing::value_info;

std::string einsum(const std::string& equation, const std::vector<onnx::testing::Message>& inputs) {
  std::vector<std::string> names = {"a", "b"};
  names.resize(inputs.size());
  return imported({node("Einsum", names, {"y"}, {string_attr("equation", equation)}), 12, inputs});
}

TEST(ImportEinsum, PlainContractionsBecomeProducts) {
  const auto a = value_info("a", DType::F32, {2, "s", 4});
  const auto b = value_info("b", DType::F32, {2, 4, 5});
  EXPECT_EQ(einsum("bij,bjk->bik", {a, b}), "MatMul(trans_a=false, trans_b=false, epilogue=identity) f32[2, s, 5]");
  EXPECT_EQ(einsum("bij->jb", {a}).find("Reduce("), 0U);
  EXPECT_NE(einsum("bij,bjk->ik", {a, b}).find("MatMul"), std::string::npos);
  EXPECT_NE(einsum("bii->b", {value_info("a", DType::F32, {2, 3, 3})}).find("Einsum"), std::string::npos);
}

}  // namespace
}  // namespace strop::ops::testing
