// ONNX operators of one operand and no attributes: one row each.
#include <array>

#include "ops/pointwise/onnx_build.h"
#include "ops/scalar_functions.h"

namespace strop::ops {
namespace {

using onnx::NodeContext;

template <Fn fn>
Result<void> import_unary(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, operand_for(ctx, fn, 0));
  return emit_program(ctx, function_program(fn, type.dtype), {ctx.input(0)});
}

/// Erf and a few others are defined for integers too: through double, truncated.
template <Fn fn>
Result<void> import_real(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  if (is_float(type.dtype)) return import_unary<fn>(ctx);
  if (!is_integer(type.dtype)) return ctx.invalid("operand 0 must not be {}", to_string(type.dtype));
  ScalarProgram program;
  const int32_t x = program.add_declared(Fn::Cast, DType::F64, {program.add_input(0, type.dtype)});
  program.outputs = {program.add_declared(Fn::Cast, type.dtype, {program.add(fn, {x})})};
  return emit_program(ctx, program, {ctx.input(0)});
}

Result<void> import_is_inf(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, operand_for(ctx, Fn::IsPosInf, 0));
  STROP_ASSIGN(const int64_t negative, ctx.attr_int("detect_negative", 1));
  STROP_ASSIGN(const int64_t positive, ctx.attr_int("detect_positive", 1));
  ScalarProgram program;
  const int32_t x = program.add_input(0, type.dtype);
  int32_t result = -1;
  if (positive != 0) result = program.add(Fn::IsPosInf, {x});
  if (negative != 0) {
    const int32_t below = program.add(Fn::IsNegInf, {x});
    result = result < 0 ? below : program.add(Fn::Or, {result, below});
  }
  if (result < 0) result = program.add_integer(DType::Bool, 0);
  program.outputs = {result};
  return emit_program(ctx, program, {ctx.input(0)});
}

Result<void> import_not(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  if (type.dtype != DType::Bool) return ctx.invalid("operand 0 must be bool, not {}", to_string(type.dtype));
  return emit_program(ctx, function_program(Fn::Not, DType::Bool), {ctx.input(0)});
}

}  // namespace

std::span<const onnx::Importer> unary_importers() {
  static constexpr auto kRows = std::to_array<onnx::Importer>({
      {"Abs", import_unary<Fn::Abs>},
      {"Acos", import_unary<Fn::Acos>},
      {"Acosh", import_unary<Fn::Acosh>},
      {"Asin", import_unary<Fn::Asin>},
      {"Asinh", import_unary<Fn::Asinh>},
      {"Atan", import_unary<Fn::Atan>},
      {"Atanh", import_unary<Fn::Atanh>},
      {"BitwiseNot", import_unary<Fn::BitNot>},
      {"Ceil", import_unary<Fn::Ceil>},
      {"Cos", import_unary<Fn::Cos>},
      {"Cosh", import_unary<Fn::Cosh>},
      {"Erf", import_real<Fn::Erf>},
      {"Exp", import_unary<Fn::Exp>},
      {"Floor", import_unary<Fn::Floor>},
      {"HardSwish", import_unary<Fn::HardSwish>},
      {"IsInf", import_is_inf},
      {"IsNaN", import_unary<Fn::IsNaN>},
      {"Log", import_unary<Fn::Log>},
      {"Mish", import_unary<Fn::Mish>},
      {"Neg", import_unary<Fn::Neg>},
      {"Not", import_not},
      {"Reciprocal", import_unary<Fn::Reciprocal>},
      {"Relu", import_unary<Fn::Relu>},
      {"Round", import_unary<Fn::Round>},
      {"Sigmoid", import_unary<Fn::Sigmoid>},
      {"Sign", import_unary<Fn::Sign>},
      {"Sin", import_unary<Fn::Sin>},
      {"Sinh", import_unary<Fn::Sinh>},
      {"Softplus", import_unary<Fn::Softplus>},
      {"Softsign", import_unary<Fn::Softsign>},
      {"Sqrt", import_unary<Fn::Sqrt>},
      {"Tan", import_unary<Fn::Tan>},
      {"Tanh", import_unary<Fn::Tanh>},
  });
  return kRows;
}

}  // namespace strop::ops
