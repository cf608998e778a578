#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops {
namespace {

using onnx::testing::i64_tensor;
using onnx::testing::imported;
using onnx::testing::int_attr;
using onnx::testing::ints_attr;
using onnx::testing::node;
using onnx::testing::OneNode;
using onnx::testing::value_info;

const auto kData = value_info("x", DType::F32, {"b", 6});

TEST(ImportSlice, AttributesAndOperands) {
  EXPECT_EQ(imported({node("Slice", {"x"}, {"y"},
                           {ints_attr("starts", {1}), ints_attr("ends", {-1}), ints_attr("axes", {1})}),
                      9,
                      {kData}}),
            "Slice(axes=[1], starts=[1], ends=[-1], steps=[]) f32[b, 4]");
  EXPECT_EQ(
      imported({node("Slice", {"x", "s", "e", "", "t"}, {"y"}),
                13,
                {kData},
                {i64_tensor("s", {2}, {0, 5}), i64_tensor("e", {2}, {INT64_MAX, 0}), i64_tensor("t", {2}, {1, -2})}}),
      "Slice(axes=[], starts=[0, 5], ends=[9223372036854775807, 0], steps=[1, -2]) f32[b, 3]");
  EXPECT_EQ(imported({node("Slice", {"x", "s", "e", "a"}, {"y"}),
                      13,
                      {kData, value_info("e", DType::I64, {1})},
                      {i64_tensor("s", {1}, {0}), i64_tensor("a", {1}, {0})}}),
            "Slice(axes=[0], starts=[0], ends=[], steps=[]) late ends f32[?0.0, 6]");
}

TEST(ImportSplit, EveryForm) {
  const std::string halves =
      "Slice(axes=[1], starts=[0], ends=[3], steps=[]) f32[b, 3]; Slice(axes=[1], starts=[3], ends=[6], steps=[]) "
      "f32[b, 3]";
  const auto split = [](std::vector<std::string> inputs, std::vector<onnx::testing::Message> attrs, int64_t opset) {
    attrs.push_back(int_attr("axis", 1));
    return OneNode{node("Split", inputs, {"y", "z"}, attrs), opset, {kData}, {}, {"y", "z"}};
  };
  EXPECT_EQ(imported(split({"x"}, {}, 2)), halves);
  EXPECT_EQ(imported(split({"x"}, {ints_attr("split", {3, 3})}, 11)), halves);
  EXPECT_EQ(imported(split({"x"}, {int_attr("num_outputs", 2)}, 18)), halves);
  OneNode sizes = split({"x", "n"}, {}, 13);
  sizes.initializers = {i64_tensor("n", {2}, {3, 3})};
  EXPECT_EQ(imported(sizes), halves);
  sizes.initializers = {};
  sizes.inputs.push_back(value_info("n", DType::I64, {2}));
  EXPECT_EQ(imported(sizes), "Split(axis=1, sizes=[]) late sizes f32[b, ?0.0] f32[b, ?0.1]");
}

TEST(ImportSplit, UnevenPartsOfASymbolicAxis) {
  EXPECT_EQ(
      imported({node("Split", {"x"}, {"y", "z"}, {int_attr("num_outputs", 2)}), 18, {kData}, {}, {"y", "z"}}),
      "Slice(axes=[0], starts=[0], ends=[min(b, floordiv(b + 1, 2))], steps=[]) f32[min(b, floordiv(b + 1, 2)), 6]; "
      "Slice(axes=[0], starts=[min(b, floordiv(b + 1, 2))], ends=[b], steps=[]) f32[b - min(b, floordiv(b + 1, 2)), "
      "6]");
}

TEST(ImportSplit, Errors) {
  EXPECT_EQ(imported({node("Split", {"x"}, {"y", "z"}, {int_attr("axis", 1), ints_attr("split", {3, 4})}, "s"),
                      11,
                      {kData},
                      {},
                      {"y", "z"}}),
            "error: node 's' (Split): the split sizes add up to 7, the axis has 6");
  EXPECT_EQ(imported({node("Split", {"x"}, {"y", "z", "w", "v"}, {int_attr("axis", 1)}, "s"),
                      11,
                      {kData},
                      {},
                      {"y", "z", "w", "v"}}),
            "error: node 's' (Split): an axis of 6 cannot be split into 4 equal parts");
}

}  // namespace
}  // namespace strop::ops
