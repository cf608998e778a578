// Worked cases: every function once, and programs and shapes as models have them.
#include <algorithm>

#include "ops/pointwise/op_evaluate.h"
#include "ops/pointwise/pointwise.h"
#include "ops/scalar_functions.h"

namespace strop::ops {
namespace {

constexpr auto kFunctions = std::to_array<Fn>({
#define STROP_FN(name, arity, result) Fn::name,
    STROP_SCALAR_FUNCTIONS(STROP_FN)
#undef STROP_FN
});

bool needs_positive(Fn fn) {
  constexpr auto kPositive =
      std::to_array<Fn>({Fn::Log, Fn::Sqrt, Fn::Rsqrt, Fn::Pow, Fn::Acosh, Fn::Reciprocal, Fn::Div});
  return std::ranges::find(kPositive, fn) != kPositive.end();
}

/// The function with sensible constants for its parameters, or of as many operands as it takes.
ScalarProgram sample_program(Fn fn, DType dtype) {
  switch (fn) {
    case Fn::LeakyRelu: return function_program(fn, dtype, {0.1});
    case Fn::Elu:
    case Fn::Celu: return function_program(fn, dtype, {1.5});
    case Fn::ThresholdedRelu: return function_program(fn, dtype, {0.5});
    case Fn::Swish: return function_program(fn, dtype, {1.7});
    case Fn::Selu: return function_program(fn, dtype, {1.67326, 1.0507});
    case Fn::HardSigmoid: return function_program(fn, dtype, {0.2, 0.5});
    case Fn::Shrink: return function_program(fn, dtype, {0.25, 0.5});
    case Fn::Clip: return function_program(fn, dtype, {-0.5, 0.75});
    default: return function_program(fn, dtype);
  }
}

WorkedCase function_case(Fn fn, DType dtype) {
  WorkedCase result;
  result.name = fmt::format("{}_{}", to_string(fn), to_string(dtype));
  const ScalarProgram program = sample_program(fn, dtype);
  for (int32_t k = 0; k < program.input_count; ++k) {
    result.inputs.push_back(Type(fn == Fn::Where && k == 0 ? DType::Bool : dtype, {5, 37}));
  }
  result.attrs = PointwiseAttrs{program};
  result.random_positive = needs_positive(fn);
  return result;
}

struct ProgramCase {
  const char* name;
  const char* program;
  std::vector<Dims> shapes;  ///< dtypes are the program's
};

WorkedCase program_case(const ProgramCase& source) {
  WorkedCase result;
  result.name = source.name;
  const ScalarProgram program = parse_scalar_program(source.program).value();
  result.inputs.resize(source.shapes.size());
  for (const ScalarInstr& instr : program.instrs) {
    if (instr.fn != Fn::Input) continue;
    result.inputs[static_cast<size_t>(instr.input)] =
        Type(instr.dtype, source.shapes[static_cast<size_t>(instr.input)]);
  }
  result.output_count = program.outputs.size();
  result.attrs = PointwiseAttrs{program};
  return result;
}

const std::vector<ProgramCase>& program_cases() {
  static const std::vector<ProgramCase> cases = {
      {"row_bias", "(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2", {{6, 100}, {100}}},
      {"channel_scale", "(x0: f32, x1: f32) { v2 = Mul(x0, x1) } -> v2", {{2, 3, 5, 7}, {3, 1, 1}}},
      {"outer", "(x0: f32, x1: f32) { v2 = Sub(x0, x1) } -> v2", {{9, 1}, {1, 33}}},
      {"middle",
       "(x0: f32, x1: f32, x2: f32) { v3 = Mul(x0, x1); v4 = Add(v3, x2) } -> v4",
       {{4, 1, 6}, {4, 5, 6}, {5, 1}}},
      {"scalar_operand", "(x0: f32, x1: f32) { v2 = Div(x0, x1) } -> v2", {{3, 1000}, {}}},
      {"scalars", "(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2", {{}, {}}},
      {"empty", "(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2", {{0, 4}, {4}}},
      {"residual_relu",
       "(x0: f32, x1: f32) { v2 = Add(x0, x1); v3 = Relu(v2) } -> v3",
       {{1, 8, 14, 14}, {1, 8, 14, 14}}},
      {"scale_shift_silu",
       "(x0: f32, x1: f32, x2: f32) { v3 = Mul(x0, x1); v4 = Add(v3, x2); v5 = Silu(v4) } -> v5",
       {{2, 4, 9, 9}, {4, 1, 1}, {4, 1, 1}}},
      {"gate", "(x0: f16, x1: f16) { v2 = Gelu(x0); v3 = Mul(v2, x1) } -> v3", {{7, 40}, {7, 40}}},
      {"bf16_chain", "(x0: bf16, x1: bf16) { v2 = Add(x0, x1); v3 = Sigmoid(v2) } -> v3", {{5, 51}, {51}}},
      {"two_results",
       "(x0: f32, x1: f32) { v2 = Add(x0, x1); v3 = Exp(v2); v4 = Cast<f16>(v2) } -> (v3, v4)",
       {{3, 50}, {3, 50}}},
      {"mask",
       "(x0: bool, x1: f32) { v2 = Constant<f32>(-10000); v3 = Where(x0, x1, v2) } -> v3",
       {{1, 1, 5, 5}, {2, 3, 5, 5}}},
      {"quantize",
       "(x0: f32) { v1 = Constant<f32>(0.05); v2 = Div(x0, v1); v3 = Round(v2); v4 = Constant<f32>(-128); "
       "v5 = Constant<f32>(127); v6 = Clip(v3, v4, v5); v7 = Cast<i8>(v6) } -> v7",
       {{4, 77}}},
      {"dequantize", "(x0: u8, x1: f32) { v2 = Cast<f32>(x0); v3 = Mul(v2, x1) } -> v3", {{4, 30}, {30}}},
      {"index_arithmetic",
       "(x0: i64, x1: i64) { v2 = Constant<i64>(0); v3 = Less(x0, v2); v4 = Add(x0, x1); v5 = Where(v3, v4, x0) } -> "
       "v5",
       {{23}, {}}},
      {"f64_chain", "(x0: f64, x1: f64) { v2 = Tanh(x0); v3 = Mul(v2, x1) } -> v3", {{3, 21}, {21}}},
      {"int_mix", "(x0: i32, x1: i32) { v2 = Mul(x0, x1); v3 = Cast<f32>(v2); v4 = Sqrt(v3) } -> v4", {{40}, {40}}},
      {"f8_round_trip", "(x0: f32) { v1 = Cast<f8e4m3fn>(x0); v2 = Cast<f32>(v1) } -> v2", {{300}}},
  };
  return cases;
}

}  // namespace

std::vector<WorkedCase> pointwise_cases() {
  std::vector<WorkedCase> cases;
  for (const Fn fn : kFunctions) {
    if (result_rule(fn) == ScalarResult::Declared) continue;
    bool any = false;
    for (const DType dtype : {DType::F32, DType::I32, DType::Bool}) {
      const bool logical = fn == Fn::And || fn == Fn::Or || fn == Fn::Xor || fn == Fn::Not;
      if (!is_defined(fn, dtype) || (logical != (dtype == DType::Bool))) continue;
      if (dtype == DType::I32 && any && arity(fn) == 1 && fn != Fn::Abs && fn != Fn::Neg) continue;  // the same again
      cases.push_back(function_case(fn, dtype));
      any = true;
    }
  }
  for (const ProgramCase& source : program_cases()) cases.push_back(program_case(source));
  return cases;
}

}  // namespace strop::ops
