#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops::testing {
namespace {

using onnx::testing::f32_tensor;
using onnx::testing::float_attr;
using onnx::testing::i64_tensor;
using onnx::testing::imported;
using onnx::testing::int_attr;
using onnx::testing::node;
using onnx::testing::OneNode;
using onnx::testing::string_attr;
using onnx::testing::value_info;

const auto kX = value_info("x", DType::F32, {2, 3, 4, 5});
const auto kHalf = value_info("x", DType::F16, {4});
const auto kInts = value_info("x", DType::I64, {4});

TEST(ImportPointwise, BroadcastingBeforeOpset7FollowsTheAxis) {
  const auto b = value_info("b", DType::F32, {3, 4});
  EXPECT_EQ(imported({node("Add", {"x", "b"}, {"y"}, {int_attr("broadcast", 1), int_attr("axis", 1)}), 6, {kX, b}}),
            "Reshape(shape=[3, 4, 1], copy_zeros=false) f32[3, 4, 1]; "
            "Pointwise(program=(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2) f32[2, 3, 4, 5]");
  const auto suffix = value_info("b", DType::F32, {4, 5});
  EXPECT_EQ(imported({node("Add", {"x", "b"}, {"y"}, {int_attr("broadcast", 1)}), 6, {kX, suffix}}),
            "Pointwise(program=(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2) f32[2, 3, 4, 5]");
  EXPECT_EQ(
      imported({node("Add", {"x", "b"}, {"y"}, {int_attr("broadcast", 1), int_attr("axis", 3)}, "n"), 6, {kX, b}}),
      "error: node 'n' (Add): operand 1 of rank 2 does not fit operand 0 of rank 4 at axis 3");
}

TEST(ImportPointwise, SlopesOfPReluBeforeOpset7BelongToChannels) {
  const auto slope = value_info("b", DType::F32, {3});
  EXPECT_EQ(imported({node("PRelu", {"x", "b"}, {"y"}), 6, {kX, slope}}),
            "Reshape(shape=[3, 1, 1], copy_zeros=false) f32[3, 1, 1]; "
            "Pointwise(program=(x0: f32, x1: f32) { v2 = LeakyRelu(x0, x1) } -> v2) f32[2, 3, 4, 5]");
}

TEST(ImportPointwise, ClipTakesItsBoundsFromAttributesOrOperands) {
  EXPECT_EQ(
      imported({node("Clip", {"x"}, {"y"}, {float_attr("min", 0), float_attr("max", 6)}), 6, {kX}}),
      "Pointwise(program=(x0: f32) { v1 = Constant<f32>(0); v2 = Constant<f32>(6); v3 = Clip(x0, v1, v2) } -> v3) "
      "f32[2, 3, 4, 5]");
  EXPECT_EQ(imported({node("Clip", {"x", "", "hi"}, {"y"}), 13, {kX}, {f32_tensor("hi", {}, {6})}}),
            "Pointwise(program=(x0: f32) { v1 = Constant<f32>(6); v2 = Min(x0, v1) } -> v2) f32[2, 3, 4, 5]");
  EXPECT_EQ(imported({node("Clip", {"x", "lo"}, {"y"}), 13, {kX, value_info("lo", DType::F32, {})}}),
            "Pointwise(program=(x0: f32, x1: f32) { v2 = Max(x0, x1) } -> v2) f32[2, 3, 4, 5]");
  EXPECT_EQ(imported({node("Clip", {"x"}, {"y"}), 13, {kX}}), "= x");
}

TEST(ImportPointwise, PowMeetsInATypeThatLosesNothing) {
  EXPECT_EQ(imported({node("Pow", {"x", "e"}, {"y"}), 13, {kX}, {f32_tensor("e", {}, {2})}}),
            "Pointwise(program=(x0: f32) { v1 = Mul(x0, x0) } -> v1) f32[2, 3, 4, 5]");
  EXPECT_EQ(imported({node("Pow", {"x", "e"}, {"y"}), 13, {kX}, {i64_tensor("e", {}, {3})}}),
            "Pointwise(program=(x0: f32) { v1 = Constant<f32>(3); v2 = Pow(x0, v1) } -> v2) f32[2, 3, 4, 5]");
  EXPECT_EQ(imported({node("Pow", {"x", "e"}, {"y"}), 13, {kX, value_info("e", DType::I64, {5})}}),
            "Pointwise(program=(x0: f32, x1: i64) { v2 = Cast<f64>(x0); v3 = Cast<f64>(x1); v4 = Pow(v2, v3); "
            "v5 = Cast<f32>(v4) } -> v5) f32[2, 3, 4, 5]");
  EXPECT_EQ(
      imported({node("Pow", {"x", "e"}, {"y"}), 13, {kInts, value_info("e", DType::I32, {4})}, {}, {"y"}, DType::I64}),
      "Pointwise(program=(x0: i64, x1: i32) { v2 = Cast<i64>(x1); v3 = Pow(x0, v2) } -> v3) i64[4]");
}

TEST(ImportPointwise, VariadicOperators) {
  const auto other = value_info("b", DType::F32, {5});
  EXPECT_EQ(imported({node("Mean", {"x", "b"}, {"y"}), 13, {kX, other}}),
            "Pointwise(program=(x0: f32, x1: f32) { v2 = Add(x0, x1); v3 = Constant<f32>(2); v4 = Div(v2, v3) } -> v4) "
            "f32[2, 3, 4, 5]");
  EXPECT_EQ(imported({node("Max", {"x"}, {"y"}), 13, {kX}}), "= x");
}

TEST(ImportPointwise, ParametersAreConstantsOfTheOperandsType) {
  EXPECT_EQ(
      imported({node("LeakyRelu", {"x"}, {"y"}, {float_attr("alpha", 0.1f)}), 16, {kHalf}, {}, {"y"}, DType::F16}),
      "Pointwise(program=(x0: f16) { v1 = Constant<f16>(0.0999755859375); v2 = LeakyRelu(x0, v1) } -> v2) f16[4]");
  EXPECT_EQ(imported({node("Gelu", {"x"}, {"y"}, {string_attr("approximate", "tanh")}), 20, {kX}}),
            "Pointwise(program=(x0: f32) { v1 = GeluTanh(x0) } -> v1) f32[2, 3, 4, 5]");
  EXPECT_EQ(imported({node("Gelu", {"x"}, {"y"}, {string_attr("approximate", "erf")}, "g"), 20, {kX}}),
            "error: node 'g' (Gelu): approximate must be 'none' or 'tanh', not 'erf'");
}

TEST(ImportPointwise, CastsOfEveryOpset) {
  EXPECT_EQ(imported({node("Cast", {"x"}, {"y"}, {string_attr("to", "INT32")}), 1, {kX}, {}, {"y"}, DType::I32}),
            "Pointwise(program=(x0: f32) { v1 = Cast<i32>(x0) } -> v1) i32[2, 3, 4, 5]");
  const int64_t f8 = static_cast<int64_t>(DType::F8E4M3FN);
  EXPECT_EQ(imported({node("Cast", {"x"}, {"y"}, {int_attr("to", f8), int_attr("saturate", 0)}),
                      19,
                      {kX},
                      {},
                      {"y"},
                      DType::F8E4M3FN}),
            "Pointwise(program=(x0: f32) { v1 = CastWrap<f8e4m3fn>(x0) } -> v1) f8e4m3fn[2, 3, 4, 5]");
  EXPECT_EQ(imported({node("Cast", {"x"}, {"y"}, {int_attr("to", 8)}), 13, {kInts}, {}, {"y"}, DType::String}),
            "CastString(to=string) string[4]");
  EXPECT_EQ(imported({node("Cast", {"x"}, {"y"}, {int_attr("to", 1)}), 13, {kX}}), "= x");
  const int64_t scale = static_cast<int64_t>(DType::F8E8M0);
  EXPECT_EQ(imported({node("Cast", {"x"}, {"y"}, {int_attr("to", scale), string_attr("round_mode", "down")}),
                      24,
                      {kX},
                      {},
                      {"y"},
                      DType::F8E8M0}),
            "CastScale(rounding=\"down\", saturate=true) f8e8m0[2, 3, 4, 5]");
}

TEST(ImportPointwise, DropoutKeepsEverything) {
  EXPECT_EQ(imported({node("Dropout", {"x"}, {"y"}, {float_attr("ratio", 0.5f)}), 7, {kX}}), "= x");
  EXPECT_EQ(imported({node("Dropout", {"x"}, {"y", "m"}), 13, {kX}, {}, {"m"}, DType::Bool}),
            "Pointwise(program=(x0: _) { v0 = Constant<bool>(1) } -> v0) bool[2, 3, 4, 5]");
  const auto training = onnx::testing::tensor<uint8_t>("t", DType::Bool, {}, {1});
  EXPECT_EQ(imported({node("Dropout", {"x", "", "t"}, {"y"}, {}, "d"), 13, {kX}, {training}}),
            "error: node 'd' (Dropout): training_mode is true: export the model for inference");
}

TEST(ImportPointwise, WrongTypesAreNamed) {
  EXPECT_EQ(imported({node("Exp", {"x"}, {"y"}, {}, "e"), 13, {kInts}, {}, {"y"}, DType::I64}),
            "error: node 'e' (Exp): operand 0 must not be i64");
  EXPECT_EQ(imported({node("Add", {"x", "b"}, {"y"}, {}, "a"), 13, {kX, value_info("b", DType::F16, {5})}}),
            "error: node 'a' (Add): operands 0 and 1 must have one type, not f32 and f16");
  EXPECT_EQ(imported({node("Not", {"x"}, {"y"}, {}, "n"), 13, {kX}, {}, {"y"}, DType::Bool}),
            "error: node 'n' (Not): operand 0 must be bool, not f32");
}

}  // namespace
}  // namespace strop::ops::testing
