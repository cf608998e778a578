// ONNX operators of two or more operands.
#include <array>

#include "ops/pointwise/onnx_build.h"
#include "ops/scalar_functions.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<void> same_types(NodeContext& ctx, size_t a, size_t b) {
  STROP_ASSIGN(const TensorType left, ctx.tensor(a));
  STROP_ASSIGN(const TensorType right, ctx.tensor(b));
  if (left.dtype == right.dtype) return {};
  return ctx.invalid("operands {} and {} must have one type, not {} and {}", a, b, to_string(left.dtype),
                     to_string(right.dtype));
}

Result<void> emit_binary(NodeContext& ctx, Fn fn) {
  STROP_ASSIGN(const TensorType type, operand_for(ctx, fn, 0));
  STROP_TRY(same_types(ctx, 0, 1));
  STROP_ASSIGN(const ValueId second, second_operand(ctx));
  return emit_program(ctx, function_program(fn, type.dtype), {ctx.input(0), second});
}

template <Fn fn>
Result<void> import_binary(NodeContext& ctx) {
  return emit_binary(ctx, fn);
}

template <Fn fn>
Result<void> import_logical(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  if (type.dtype != DType::Bool) return ctx.invalid("operand 0 must be bool, not {}", to_string(type.dtype));
  return emit_binary(ctx, fn);
}

Result<void> import_mod(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t fmod, ctx.attr_int("fmod", 0));
  return emit_binary(ctx, fmod != 0 ? Fn::Fmod : Fn::Mod);
}

Result<void> import_bit_shift(NodeContext& ctx) {
  STROP_ASSIGN(const std::string direction, ctx.attr_string("direction"));
  if (direction != "LEFT" && direction != "RIGHT")
    return ctx.invalid("direction must be LEFT or RIGHT, not '{}'", direction);
  return emit_binary(ctx, direction == "LEFT" ? Fn::ShiftLeft : Fn::ShiftRight);
}

bool is_exact_in(DType narrow, DType wide) {
  if (narrow == wide) return true;
  const bool small = bit_width(narrow) <= 16 && narrow != DType::Bool;
  return wide == DType::F32 && small;
}

/// Base and exponent may differ in type. They meet in the base's type if that loses nothing, else in double.
Result<void> import_pow(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType base, operand_for(ctx, Fn::Pow, 0));
  STROP_ASSIGN(const TensorType exponent, operand_for(ctx, Fn::Pow, 1));
  STROP_ASSIGN(const ValueId second, second_operand(ctx));
  const bool integers = is_integer(base.dtype) && is_integer(exponent.dtype);
  const DType meet = integers ? (base.dtype == exponent.dtype ? base.dtype : DType::I64)
                     : is_exact_in(exponent.dtype, base.dtype) ? base.dtype
                                                               : DType::F64;
  ScalarProgram program;
  const int32_t x = program.add_declared(Fn::Cast, meet, {program.add_input(0, base.dtype)});
  const int32_t y = program.add_declared(Fn::Cast, meet, {program.add_input(1, exponent.dtype)});
  program.outputs = {program.add_declared(Fn::Cast, base.dtype, {program.add(Fn::Pow, {x, y})})};
  const Tensor* constant = ctx.graph().constant_tensor(second);
  if (constant == nullptr || constant->count() != 1 || constant->rank() > (base.has_rank() ? base.rank() : 0)) {
    return emit_program(ctx, program, {ctx.input(0), second});
  }
  // A constant exponent belongs into the program, where squares and roots are recognised.
  if (load_f64(*constant)[0] == 2) {
    ScalarProgram square;
    const int32_t factor = square.add_input(0, base.dtype);
    square.outputs = {square.add(Fn::Mul, {factor, factor})};
    return emit_program(ctx, square, {ctx.input(0)});
  }
  program = bind_operand(program, 1, *constant);
  if (!integers && is_float(base.dtype)) {
    // In the base's type after all, if the constant is exact there.
    const ScalarProgram direct =
        bind_operand(function_program(Fn::Pow, base.dtype), 1, store_f64(base.dtype, {}, load_f64(*constant)));
    const double rounded = direct.instrs[1].number;
    if (rounded == load_f64(*constant)[0]) program = direct;
  }
  return emit_program(ctx, program, {ctx.input(0)});
}

/// Max, Min, Sum, Mean: any number of operands, combined from the left.
Result<void> import_variadic(NodeContext& ctx, Fn fn, bool mean) {
  const size_t count = ctx.input_count();
  if (count == 0) return ctx.invalid("at least one operand is needed");
  STROP_ASSIGN(const TensorType type, operand_for(ctx, fn, 0));
  if (count == 1) return ctx.set_output(0, ctx.input(0));
  ScalarProgram program;
  std::vector<ValueId> operands = {ctx.input(0)};
  int32_t result = program.add_input(0, type.dtype);
  for (size_t i = 1; i < count; ++i) {
    STROP_TRY(same_types(ctx, 0, i));
    result = program.add(fn, {result, program.add_input(static_cast<int32_t>(i), type.dtype)});
    operands.push_back(ctx.input(i));
  }
  if (mean) result = program.add(Fn::Div, {result, program.add_number(type.dtype, static_cast<double>(count))});
  program.outputs = {result};
  return emit_program(ctx, program, std::move(operands));
}

Result<void> import_max(NodeContext& ctx) { return import_variadic(ctx, Fn::Max, false); }
Result<void> import_min(NodeContext& ctx) { return import_variadic(ctx, Fn::Min, false); }
Result<void> import_sum(NodeContext& ctx) { return import_variadic(ctx, Fn::Add, false); }
Result<void> import_mean(NodeContext& ctx) { return import_variadic(ctx, Fn::Add, true); }

Result<void> import_where(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType condition, ctx.tensor(0));
  STROP_ASSIGN(const TensorType type, ctx.tensor(1));
  if (condition.dtype != DType::Bool) return ctx.invalid("operand 0 must be bool, not {}", to_string(condition.dtype));
  STROP_TRY(same_types(ctx, 1, 2));
  return emit_program(ctx, function_program(Fn::Where, type.dtype), {ctx.input(0), ctx.input(1), ctx.input(2)});
}

}  // namespace

std::span<const onnx::Importer> binary_importers() {
  static constexpr auto kRows = std::to_array<onnx::Importer>({
      {"Add", import_binary<Fn::Add>},
      {"And", import_logical<Fn::And>},
      {"BitShift", import_bit_shift},
      {"BitwiseAnd", import_binary<Fn::BitAnd>},
      {"BitwiseOr", import_binary<Fn::BitOr>},
      {"BitwiseXor", import_binary<Fn::BitXor>},
      {"Div", import_binary<Fn::Div>},
      {"Equal", import_binary<Fn::Equal>},
      {"Greater", import_binary<Fn::Greater>},
      {"GreaterOrEqual", import_binary<Fn::GreaterEqual>},
      {"Less", import_binary<Fn::Less>},
      {"LessOrEqual", import_binary<Fn::LessEqual>},
      {"Max", import_max},
      {"Mean", import_mean},
      {"Min", import_min},
      {"Mod", import_mod},
      {"Mul", import_binary<Fn::Mul>},
      {"Or", import_logical<Fn::Or>},
      {"Pow", import_pow},
      {"Sub", import_binary<Fn::Sub>},
      {"Sum", import_sum},
      {"Where", import_where},
      {"Xor", import_logical<Fn::Xor>},
  });
  return kRows;
}

}  // namespace strop::ops
