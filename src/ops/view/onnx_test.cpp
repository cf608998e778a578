#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops {
namespace {

using onnx::testing::i64_tensor;
using onnx::testing::imported;
using onnx::testing::int_attr;
using onnx::testing::ints_attr;
using onnx::testing::node;
using onnx::testing::unranked_type;
using onnx::testing::value_info;

const auto kData = value_info("x", DType::F32, {"b", 3, 4});
const auto kUnranked = value_info("x", unranked_type(DType::F32));
const auto kTarget = value_info("s", DType::I64, {2});

TEST(ImportView, Reshape) {
  EXPECT_EQ(imported({node("Reshape", {"x"}, {"y"}, {ints_attr("shape", {0, -1})}), 1, {kData}}),
            "Reshape(shape=[b, 12], copy_zeros=false) f32[b, 12]");
  EXPECT_EQ(imported({node("Reshape", {"x", "s"}, {"y"}), 13, {kData}, {i64_tensor("s", {2}, {-1, 6})}}),
            "Reshape(shape=[2*b, 6], copy_zeros=false) f32[2*b, 6]");
  EXPECT_EQ(imported({node("Reshape", {"x", "s"}, {"y"}), 13, {kUnranked}, {i64_tensor("s", {2}, {0, 6})}}),
            "Reshape(shape=[0, 6], copy_zeros=true) f32[?0.0, 6]");
  EXPECT_EQ(imported({node("Reshape", {"x", "s"}, {"y"}), 13, {kData, kTarget}}),
            "Reshape(shape=[], copy_zeros=true) late shape f32[?0.0, ?0.1]");
  EXPECT_EQ(imported({node("Reshape", {"x", "s"}, {"y"}, {int_attr("allowzero", 1)}),
                      14,
                      {value_info("x", DType::F32, {0, 3})},
                      {i64_tensor("s", {2}, {3, 0})}}),
            "Reshape(shape=[3, 0], copy_zeros=false) f32[3, 0]");
}

TEST(ImportView, AxesAsAttributeAndOperand) {
  EXPECT_EQ(imported({node("Unsqueeze", {"x"}, {"y"}, {ints_attr("axes", {0})}), 11, {kData}}),
            "Reshape(shape=[1, b, 3, 4], copy_zeros=false) f32[1, b, 3, 4]");
  EXPECT_EQ(imported({node("Unsqueeze", {"x", "a"}, {"y"}), 13, {kData}, {i64_tensor("a", {1}, {-1})}}),
            "Reshape(shape=[b, 3, 4, 1], copy_zeros=false) f32[b, 3, 4, 1]");
  EXPECT_EQ(imported({node("Squeeze", {"x"}, {"y"}), 13, {value_info("x", DType::F32, {1, 3, 1})}}),
            "Reshape(shape=[3], copy_zeros=false) f32[3]");
  EXPECT_EQ(imported({node("Squeeze", {"x"}, {"y"}), 13, {kData}}), "ReshapeByRule(rule=\"squeeze\", axes=[]) f32[*]");
  EXPECT_EQ(imported({node("Flatten", {"x"}, {"y"}), 9, {kData}}),
            "Reshape(shape=[b, 12], copy_zeros=false) f32[b, 12]");
  EXPECT_EQ(imported({node("Flatten", {"x"}, {"y"}, {int_attr("axis", 2)}), 9, {kUnranked}}),
            "ReshapeByRule(rule=\"flatten\", axes=[2]) f32[?0.0, ?0.1]");
  EXPECT_EQ(imported({node("Unsqueeze", {"x"}, {"y"}, {}, "u"), 11, {kData}}),
            "error: node 'u' (Unsqueeze): attribute 'axes' is missing");
}

TEST(ImportView, IdentityIsItsOperand) { EXPECT_EQ(imported({node("Identity", {"x"}, {"y"}), 17, {kData}}), "= x"); }

}  // namespace
}  // namespace strop::ops
