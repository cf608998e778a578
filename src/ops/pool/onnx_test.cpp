#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops::testing {
namespace {

using onnx::testing::imported;
using onnx::testing::int_attr;
using onnx::testing::ints_attr;
using onnx::testing::node;
using onnx::testing::string_attr;
using onnx::testing::value_info;

const auto kImage = value_info("x", DType::F32, {1, 3, 9, 8});

TEST(ImportPool, SamePadding) {
  const std::string text = imported({node("AveragePool", {"x"}, {"y"},
                                          {ints_attr("kernel_shape", {3, 3}), ints_attr("strides", {2, 2}),
                                           string_attr("auto_pad", "SAME_UPPER"), int_attr("count_include_pad", 1)}),
                                     22,
                                     {kImage}});
  // 9 → 5 needs (5 - 1) * 2 + 3 - 9 = 2 elements, 8 → 4 needs 1, at the end.
  EXPECT_NE(text.find("pads=[1, 0, 1, 1]"), std::string::npos) << text;
  EXPECT_NE(text.find("count_include_pad=true"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[1, 3, 5, 4]"), std::string::npos) << text;
}

TEST(ImportPool, Errors) {
  EXPECT_EQ(imported({node("MaxPool", {"x"}, {"y"}, {ints_attr("kernel_shape", {20, 2})}, "p"), 12, {kImage}}),
            "error: node 'p' (MaxPool): (C4) the window is larger than the padded operand along spatial axis 0");
}

}  // namespace
}  // namespace strop::ops::testing
