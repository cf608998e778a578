#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops {
namespace {

using onnx::testing::float_attr;
using onnx::testing::i64_tensor;
using onnx::testing::imported;
using onnx::testing::int_attr;
using onnx::testing::ints_attr;
using onnx::testing::Message;
using onnx::testing::node;
using onnx::testing::string_attr;
using onnx::testing::tensor_attr;
using onnx::testing::value_info;

TEST(ImportConstant, EveryAttribute) {
  const auto constant = [](const Message& attr, DType dtype) {
    return imported({node("Constant", {}, {"y"}, {attr}), 13, {}, {}, {"y"}, dtype});
  };
  EXPECT_EQ(constant(tensor_attr("value", i64_tensor("", {2}, {3, 4})), DType::I64), "= i64[2] 3 4");
  EXPECT_EQ(constant(float_attr("value_float", 1.5f), DType::F32), "= f32[] 1.5");
  EXPECT_EQ(constant(int_attr("value_int", 7), DType::I64), "= i64[] 7");
  EXPECT_EQ(constant(ints_attr("value_ints", {7, 8}), DType::I64), "= i64[2] 7 8");
  EXPECT_EQ(constant(string_attr("value_string", "a"), DType::String), "= string[] a");
}

TEST(ImportConstantOfShape, KnownAndLate) {
  EXPECT_EQ(imported({node("ConstantOfShape", {"s"}, {"y"}), 9, {}, {i64_tensor("s", {2}, {1, 2})}}),
            "= f32[1, 2] 0 0");
  EXPECT_EQ(imported({node("ConstantOfShape", {"s"}, {"y"}), 9, {value_info("s", DType::I64, {2})}}).substr(0, 15),
            "Fill(shape=[], ");
}

TEST(ImportOneHot, DepthOfAnyKind) {
  const auto indices = value_info("i", DType::I64, {"n"});
  const auto values = value_info("v", DType::F32, {2});
  EXPECT_EQ(imported({node("OneHot", {"i", "d", "v"}, {"y"}), 11, {indices, values}, {i64_tensor("d", {}, {5})}}),
            "OneHot(axis=-1, depth=5) f32[n, 5]");
  EXPECT_EQ(imported({node("OneHot", {"i", "d", "v"}, {"y"}), 11, {indices, values, value_info("d", DType::F32, {1})}}),
            "OneHot(axis=-1, depth=0) late depth f32[n, ?0.0]");
}

}  // namespace
}  // namespace strop::ops
