#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops {
namespace {

using onnx::testing::i64_tensor;
using onnx::testing::imported;
using onnx::testing::int_attr;
using onnx::testing::node;
using onnx::testing::value_info;

const auto kData = value_info("x", DType::F32, {"b", 5});

TEST(ImportOrder, TopK) {
  EXPECT_EQ(imported({node("TopK", {"x"}, {"y"}, {int_attr("k", 2)}), 1, {kData}}),
            "TopK(axis=-1, largest=true, k=2) f32[b, 2] i64[b, 2]");
  EXPECT_EQ(imported({node("TopK", {"x", "k"}, {"y"}, {int_attr("largest", 0), int_attr("axis", 0)}),
                      11,
                      {kData},
                      {i64_tensor("k", {1}, {3})}}),
            "TopK(axis=0, largest=false, k=3) f32[3, 5] i64[3, 5]");
  EXPECT_EQ(imported({node("TopK", {"x", "k"}, {"y"}), 11, {kData, value_info("k", DType::I64, {1})}}),
            "TopK(axis=-1, largest=true, k=0) late k f32[b, ?0.0] i64[b, ?0.0]");
}

TEST(ImportOrder, AxesAndDiagonalsAsOperands) {
  EXPECT_EQ(
      imported({node("CumSum", {"x", "a"}, {"y"}, {int_attr("reverse", 1)}), 14, {kData}, {i64_tensor("a", {}, {1})}}),
      "CumSum(axis=1, exclusive=false, reverse=true) f32[b, 5]");
  EXPECT_EQ(imported({node("CumSum", {"x", "a"}, {"y"}), 14, {kData, value_info("a", DType::I64, {})}}),
            "CumSum(axis=0, exclusive=false, reverse=false) late axis f32[b, 5]");
  EXPECT_EQ(
      imported({node("Trilu", {"x", "k"}, {"y"}, {int_attr("upper", 0)}), 14, {kData}, {i64_tensor("k", {}, {-1})}}),
      "Trilu(upper=false, k=-1) f32[b, 5]");
}

}  // namespace
}  // namespace strop::ops
