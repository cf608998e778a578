#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops {
namespace {

using onnx::testing::float_attr;
using onnx::testing::i64_tensor;
using onnx::testing::imported;
using onnx::testing::ints_attr;
using onnx::testing::node;
using onnx::testing::string_attr;
using onnx::testing::value_info;

const auto kData = value_info("x", DType::F32, {"b", 3});

TEST(ImportPad, Versions) {
  const std::string edge = "Pad(mode=\"edge\", pads=[0, 1, 0, 2], axes=[]) f32[b, 6]";
  EXPECT_EQ(
      imported(
          {node("Pad", {"x"}, {"y"}, {ints_attr("paddings", {0, 1, 0, 2}), string_attr("mode", "edge")}), 1, {kData}}),
      edge);
  EXPECT_EQ(imported({node("Pad", {"x"}, {"y"},
                           {ints_attr("pads", {0, 1, 0, 2}), string_attr("mode", "edge"), float_attr("value", 3)}),
                      2,
                      {kData}}),
            edge);
  EXPECT_EQ(imported({node("Pad", {"x", "p"}, {"y"}, {string_attr("mode", "edge")}),
                      11,
                      {kData},
                      {i64_tensor("p", {4}, {0, 1, 0, 2})}}),
            edge);
  EXPECT_EQ(imported({node("Pad", {"x", "p", "", "a"}, {"y"}, {string_attr("mode", "wrap")}),
                      19,
                      {kData},
                      {i64_tensor("p", {2}, {1, 2}), i64_tensor("a", {1}, {-1})}}),
            "Pad(mode=\"wrap\", pads=[1, 2], axes=[-1]) f32[b, 6]");
  EXPECT_EQ(imported({node("Pad", {"x", "p", "v"}, {"y"}),
                      13,
                      {kData, value_info("p", DType::I64, {4}), value_info("v", DType::F32, {})}}),
            "Pad(mode=\"constant\", pads=[], axes=[]) late pads f32[?0.0, ?0.1]");
  EXPECT_EQ(imported({node("Pad", {"x", "p"}, {"y"}, {string_attr("mode", "mirror")}, "q"),
                      11,
                      {kData},
                      {i64_tensor("p", {4}, {0, 1, 0, 2})}}),
            "error: node 'q' (Pad): mode 'mirror' is none of constant, reflect, edge, wrap");
}

}  // namespace
}  // namespace strop::ops
