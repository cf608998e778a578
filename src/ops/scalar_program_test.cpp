#include "ops/scalar_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/scalar_functions.h"

namespace strop::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

/// fn over operands of one floating dtype.
double number(Fn fn, std::vector<double> operands, DType dtype = DType::F64) {
  ScalarProgram program;
  ScalarInstr instr{.fn = fn, .dtype = result_rule(fn) == ScalarResult::Bool ? DType::Bool : dtype};
  for (size_t i = 0; i < operands.size(); ++i) instr.args[i] = program.add_input(static_cast<int32_t>(i), dtype);
  program.instrs.push_back(instr);
  EXPECT_TRUE(verify(program).ok());
  std::vector<ScalarValue> values(program.instrs.size());
  std::vector<ScalarValue> in(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) in[i].number = operands[i];
  evaluate_scalar(program, in.data(), values.data());
  return instr.dtype == DType::Bool ? static_cast<double>(values.back().integer) : values.back().number;
}

int64_t integer(Fn fn, std::vector<int64_t> operands, DType dtype) {
  ScalarProgram program;
  ScalarInstr instr{.fn = fn, .dtype = result_rule(fn) == ScalarResult::Bool ? DType::Bool : dtype};
  for (size_t i = 0; i < operands.size(); ++i) instr.args[i] = program.add_input(static_cast<int32_t>(i), dtype);
  program.instrs.push_back(instr);
  EXPECT_TRUE(verify(program).ok());
  std::vector<ScalarValue> values(program.instrs.size());
  std::vector<ScalarValue> in(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) in[i].integer = operands[i];
  evaluate_scalar(program, in.data(), values.data());
  return values.back().integer;
}

int64_t cast_number(double value, DType from, DType to, Fn fn = Fn::Cast) {
  ScalarProgram program;
  program.add_declared(fn, to, {program.add_input(0, from)});
  ScalarValue in{.number = value};
  ScalarValue values[2];
  evaluate_scalar(program, &in, values);
  return values[1].integer;
}

ScalarProgram gelu_like() {
  ScalarProgram program;
  const auto x = program.add_input(0, DType::F32);
  const auto y = program.add_input(1, DType::F32);
  const auto half = program.add_number(DType::F32, 0.5);
  const auto product = program.add(Fn::Mul, {program.add(Fn::Add, {x, y}), half});
  program.outputs = {program.add_declared(Fn::Cast, DType::F16, {product})};
  return program;
}

TEST(ScalarFunctions, FloatingValues) {
  EXPECT_EQ(number(Fn::Round, {2.5}), 2);
  EXPECT_EQ(number(Fn::Round, {-1.5}), -2);
  EXPECT_NEAR(number(Fn::Sigmoid, {1}), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(number(Fn::Sigmoid, {-800}), 0, 1e-300);
  EXPECT_NEAR(number(Fn::Softplus, {100}), 100, 1e-13);
  EXPECT_NEAR(number(Fn::Softplus, {-40}), 4.248354255291589e-18, 1e-32);
  EXPECT_NEAR(number(Fn::Gelu, {1}), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(number(Fn::GeluTanh, {1}), 0.8411919906082768, 1e-15);
  EXPECT_NEAR(number(Fn::Silu, {2}), 1.7615941559557649, 1e-15);
  EXPECT_NEAR(number(Fn::Mish, {1}), 0.8650983882673103, 1e-15);
  EXPECT_NEAR(number(Fn::HardSwish, {1}), 4.0 / 6, 1e-15);
  EXPECT_EQ(number(Fn::HardSwish, {4}), 4);
  EXPECT_EQ(number(Fn::HardSwish, {-4}), 0);
  EXPECT_EQ(number(Fn::Softsign, {-3}), -0.75);
  EXPECT_EQ(number(Fn::LeakyRelu, {-2, 0.25}), -0.5);
  EXPECT_NEAR(number(Fn::Elu, {-1, 2}), 2 * (std::exp(-1.0) - 1), 1e-15);
  EXPECT_NEAR(number(Fn::Celu, {-1, 2}), 2 * (std::exp(-0.5) - 1), 1e-15);
  EXPECT_NEAR(number(Fn::Selu, {-1, 1.5, 2}), 2 * 1.5 * (std::exp(-1.0) - 1), 1e-15);
  EXPECT_EQ(number(Fn::ThresholdedRelu, {1, 1}), 0);
  EXPECT_EQ(number(Fn::HardSigmoid, {1, 0.2, 0.5}), 0.7);
  EXPECT_EQ(number(Fn::Shrink, {-3, 1, 2}), -2);
  EXPECT_EQ(number(Fn::Shrink, {1, 1, 2}), 0);
  EXPECT_NEAR(number(Fn::Swish, {1, 2}), 1 / (1 + std::exp(-2.0)), 1e-15);
}

TEST(ScalarFunctions, SpecialValues) {
  EXPECT_TRUE(std::isnan(number(Fn::Relu, {kNaN})));
  EXPECT_TRUE(std::isnan(number(Fn::Sign, {kNaN})));
  EXPECT_TRUE(std::isnan(number(Fn::Min, {kNaN, 1})));
  EXPECT_TRUE(std::isnan(number(Fn::Min, {1, kNaN})));
  EXPECT_TRUE(std::isnan(number(Fn::Max, {kNaN, 1})));
  EXPECT_TRUE(std::isnan(number(Fn::Max, {1, kNaN})));
  EXPECT_TRUE(std::isnan(number(Fn::Clip, {kNaN, 0, 1})));
  EXPECT_EQ(number(Fn::Clip, {5, 3, 1}), 1) << "where min > max, max wins";
  EXPECT_EQ(number(Fn::Exp, {-kInf}), 0);
  EXPECT_EQ(number(Fn::Log, {0}), -kInf);
  EXPECT_TRUE(std::isnan(number(Fn::Log, {-1})));
  EXPECT_EQ(number(Fn::Softplus, {kInf}), kInf);
  EXPECT_EQ(number(Fn::IsNaN, {kNaN}), 1);
  EXPECT_EQ(number(Fn::IsPosInf, {-kInf}), 0);
  EXPECT_EQ(number(Fn::IsNegInf, {-kInf}), 1);
  EXPECT_EQ(number(Fn::Equal, {kNaN, kNaN}), 0);
  EXPECT_EQ(number(Fn::Mod, {-7, 3}), 2);
  EXPECT_EQ(number(Fn::Fmod, {-7, 3}), -1);
}

TEST(ScalarFunctions, ResultsRoundOnceToTheirType) {
  EXPECT_EQ(number(Fn::Add, {2048, 1}, DType::F16), 2048) << "halves to even";
  EXPECT_EQ(number(Fn::Mul, {60000, 2}, DType::F16), kInf);
  EXPECT_EQ(number(Fn::Div, {1, 3}, DType::F32), static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(number(Fn::Add, {1, 0.001}, DType::BF16), 1);
  EXPECT_EQ(number(Fn::Add, {400, 400}, DType::F8E4M3FN), 448) << "float8 saturates";
}

TEST(ScalarFunctions, Integers) {
  EXPECT_EQ(integer(Fn::Div, {-7, 2}, DType::I32), -3);
  EXPECT_EQ(integer(Fn::Div, {7, 0}, DType::I32), 0);
  EXPECT_EQ(integer(Fn::Div, {INT64_MIN, -1}, DType::I64), INT64_MIN);
  EXPECT_EQ(integer(Fn::Mod, {-7, 3}, DType::I64), 2);
  EXPECT_EQ(integer(Fn::Mod, {7, -3}, DType::I64), -2);
  EXPECT_EQ(integer(Fn::Fmod, {-7, 3}, DType::I64), -1);
  EXPECT_EQ(integer(Fn::Mod, {5, 0}, DType::U8), 0);
  EXPECT_EQ(integer(Fn::Add, {200, 100}, DType::U8), 44);
  EXPECT_EQ(integer(Fn::Mul, {100, 2}, DType::I8), -56);
  EXPECT_EQ(integer(Fn::Sub, {0, 1}, DType::U32), 4294967295);
  EXPECT_EQ(integer(Fn::Abs, {-128}, DType::I8), -128);
  EXPECT_EQ(integer(Fn::Pow, {3, 4}, DType::I32), 81);
  EXPECT_EQ(integer(Fn::Pow, {2, -1}, DType::I32), 0);
  EXPECT_EQ(integer(Fn::Pow, {-1, -3}, DType::I32), -1);
  EXPECT_EQ(integer(Fn::ShiftLeft, {255, 4}, DType::U8), 240);
  EXPECT_EQ(integer(Fn::ShiftLeft, {1, 64}, DType::U64), 0);
  EXPECT_EQ(integer(Fn::ShiftRight, {255, 8}, DType::U8), 0);
  EXPECT_EQ(integer(Fn::BitNot, {1}, DType::U16), 65534);
  EXPECT_EQ(integer(Fn::Sign, {-5}, DType::I16), -1);
  EXPECT_EQ(integer(Fn::LeakyRelu, {-5, 3}, DType::I32), -15);
}

TEST(ScalarFunctions, Unsigned64UsesItsWholeRange) {
  const int64_t top = -1;  // 2^64 - 1
  EXPECT_EQ(integer(Fn::Div, {top, 2}, DType::U64), INT64_MAX);
  EXPECT_EQ(integer(Fn::Greater, {top, 1}, DType::U64), 1);
  EXPECT_EQ(integer(Fn::Max, {top, 1}, DType::U64), top);
  EXPECT_EQ(integer(Fn::ShiftRight, {top, 63}, DType::U64), 1);
  EXPECT_EQ(integer(Fn::Sign, {top}, DType::U64), 1);
}

TEST(ScalarFunctions, Casts) {
  EXPECT_EQ(cast_number(-2.9, DType::F32, DType::I32), -2);
  EXPECT_EQ(cast_number(300, DType::F32, DType::U8), 44);
  EXPECT_EQ(cast_number(kNaN, DType::F32, DType::Bool), 1);
  EXPECT_EQ(cast_number(0.5, DType::F32, DType::Bool), 1);
  EXPECT_EQ(cast_number(-0.0, DType::F32, DType::Bool), 0);
  EXPECT_EQ(cast_number(1, DType::F32, DType::F32), std::bit_cast<int64_t>(1.0));
  EXPECT_EQ(std::bit_cast<double>(cast_number(1000, DType::F32, DType::F8E4M3FN)), 448);
  EXPECT_TRUE(std::isnan(std::bit_cast<double>(cast_number(1000, DType::F32, DType::F8E4M3FN, Fn::CastWrap))));
  EXPECT_EQ(std::bit_cast<double>(cast_number(1000000, DType::F32, DType::F8E5M2, Fn::CastWrap)), kInf);
  EXPECT_EQ(cast_number(1.0, DType::F32, DType::I32, Fn::BitCast), 0x3f800000);
  ScalarProgram program;
  program.add_declared(Fn::Cast, DType::F32, {program.add_input(0, DType::U64)});
  const ScalarValue top{.integer = -1};
  ScalarValue values[2];
  evaluate_scalar(program, &top, values);
  EXPECT_EQ(values[1].number, 18446744073709551616.0);
}

TEST(ScalarProgram, TextReadsBack) {
  ScalarProgram program = gelu_like();
  program.input_count = 3;  // operand 2 is not read
  const std::string text = to_string(program);
  EXPECT_EQ(text,
            "(x0: f32, x1: f32, x2: _) { v2 = Constant<f32>(0.5); v3 = Add(x0, x1); v4 = Mul(v3, v2); "
            "v5 = Cast<f16>(v4) } -> v5");
  const auto parsed = parse_scalar_program(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, program);
  EXPECT_EQ(to_string(*parse_scalar_program("identity")), "identity");
  const std::string two = "(x0: f32) { v1 = Relu(x0); v2 = Constant<i64>(-3); v3 = Constant<f32>(-inf) } -> (v1, x0)";
  ASSERT_TRUE(parse_scalar_program(two).ok());
  EXPECT_EQ(to_string(*parse_scalar_program(two)), two);
}

TEST(ScalarProgram, WrongTextIsRefused) {
  for (const char* text :
       {"", "(x0: f32) { v1 = Relu(x1) } -> v1", "(x0: f32) { v1 = Nope(x0) } -> v1",
        "(x0: f32) { v1 = Add(x0) } -> v1", "(x0: string) { v1 = Exp(x0) } -> v1", "(x0: f32) { v1 = Cast(x0) } -> v1",
        "(x0: f32) { } -> ", "(x0: i32) { v1 = Exp(x0) } -> v1", "(x0: f32, x1: f16) { v2 = Add(x0, x1) } -> v2",
        "(x0: f32) { v1 = Relu(x0); v1 = Exp(x0) } -> v1"}) {
    EXPECT_FALSE(parse_scalar_program(text).ok()) << text;
  }
}

TEST(ScalarProgram, VerifyNamesTheInstruction) {
  ScalarProgram program;
  const auto x = program.add_input(0, DType::F32);
  const auto y = program.add_input(1, DType::F16);
  program.add(Fn::Add, {x, y});
  const auto result = verify(program);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "scalar program: instruction 2 (Add): operands of f32 and f16");
}

TEST(ScalarProgram, ComposeFeedsTheOperandAndRenumbersTheRest) {
  const auto first = *parse_scalar_program("(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2");
  const auto second = *parse_scalar_program("(x0: f32, x1: f32, x2: f32) { v3 = Sub(x0, x1); v4 = Mul(v3, x2) } -> v4");
  const ScalarProgram both = compose(first, second, 1);
  ASSERT_TRUE(verify(both).ok());
  EXPECT_EQ(both.input_count, 4);
  const ScalarValue in[4] = {{.number = 1}, {.number = 2}, {.number = 10}, {.number = 5}};
  std::vector<ScalarValue> values(both.instrs.size());
  evaluate_scalar(both, in, values.data());
  EXPECT_EQ(values[static_cast<size_t>(both.outputs[0])].number, (10 - (1 + 2)) * 5);
  EXPECT_EQ(compose(first, ScalarProgram(), 0), first);
  const ScalarProgram behind_identity = compose(ScalarProgram(), second, 2);
  EXPECT_EQ(behind_identity.input_count, 3);
  const ScalarValue in3[3] = {{.number = 5}, {.number = 10}, {.number = 3}};
  values.resize(behind_identity.instrs.size());
  evaluate_scalar(behind_identity, in3, values.data());
  EXPECT_EQ(values[static_cast<size_t>(behind_identity.outputs[0])].number, (10 - 3) * 5);
}

TEST(ScalarProgram, SimplifyMergesFoldsAndDrops) {
  const auto program = *parse_scalar_program(
      "(x0: f32, x1: f32) { v2 = Constant<f32>(2); v3 = Constant<f32>(3); v4 = Mul(v2, v3); v5 = Exp(x0); v6 = "
      "Exp(x0); "
      "v7 = Add(v5, v6); v8 = Copy(v7); v9 = Mul(v8, v4); v10 = Log(x1) } -> v9");
  const ScalarProgram simple = simplify(program);
  EXPECT_EQ(simple.input_count, 2);
  EXPECT_EQ(to_string(simple),
            "(x0: f32, x1: _) { v1 = Constant<f32>(6); v2 = Exp(x0); v3 = Add(v2, v2); v4 = Mul(v3, v1) } -> v4");
}

TEST(ScalarProgram, ZerosOfBothSignsAreNotMerged) {
  const auto program = *parse_scalar_program(
      "(x0: f32) { v1 = Constant<f32>(0); v2 = Constant<f32>(-0); v3 = Div(x0, v1); v4 = Div(x0, v2) } -> (v3, v4)");
  EXPECT_EQ(simplify(program).instrs.size(), program.instrs.size());
}

}  // namespace
}  // namespace strop::ops
