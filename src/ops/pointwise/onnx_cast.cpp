// Cast, CastLike, BitCast.
#include <algorithm>
#include <array>

#include "ops/pointwise/onnx_build.h"
#include "ops/scalar_functions.h"

namespace strop::ops {
namespace {

using onnx::NodeContext;

bool is_float8(DType dtype) { return is_float(dtype) && bit_width(dtype) == 8; }

Result<void> cast_to_scale(NodeContext& ctx, DType from, bool saturate) {
  STROP_ASSIGN(const std::string mode, ctx.attr_string("round_mode", "up"));
  const auto& names = kEnumNames<ScaleRounding>;
  const auto found = std::ranges::find(names, mode);
  if (found == names.end()) return ctx.invalid("round_mode must be 'up', 'down' or 'nearest', not '{}'", mode);
  ir::ValueId operand = ctx.input(0);
  if (!is_float(from)) {
    STROP_ASSIGN(operand, emit_pointwise(ctx, cast_program(from, DType::F64), {operand}));
  }
  const CastScaleAttrs attrs{static_cast<ScaleRounding>(found - names.begin()), saturate};
  STROP_ASSIGN(const ir::ValueId result, ctx.emit(kCastScale, attrs, {operand}));
  return ctx.set_output(0, result);
}

Result<void> emit_cast(NodeContext& ctx, DType to) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  const DType from = type.dtype;
  if (from == to) return ctx.set_output(0, ctx.input(0));
  if (is_complex(from) || is_complex(to)) return ctx.invalid("{} cannot be cast to {}", to_string(from), to_string(to));
  if (from == DType::String || to == DType::String) {
    STROP_ASSIGN(const ir::ValueId result, ctx.emit(kCastString, CastStringAttrs{to}, {ctx.input(0)}));
    return ctx.set_output(0, result);
  }
  STROP_ASSIGN(const int64_t saturate, ctx.attr_int("saturate", 1));
  if (to == DType::F8E8M0) return cast_to_scale(ctx, from, saturate != 0);
  ScalarProgram program;
  const Fn fn = is_float8(to) && saturate == 0 ? Fn::CastWrap : Fn::Cast;
  program.outputs = {program.add_declared(fn, to, {program.add_input(0, from)})};
  return emit_program(ctx, program, {ctx.input(0)});
}

/// Before opset 6 the type was named: "FLOAT", "INT64", …
Result<DType> named_type(NodeContext& ctx) {
  STROP_ASSIGN(std::string name, ctx.attr_string("to"));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  const auto dtype = parse_dtype(name);
  if (!dtype) return ctx.invalid("attribute 'to' names no element type: '{}'", name);
  return *dtype;
}

Result<DType> target_type(NodeContext& ctx) {
  if (ctx.opset() < 6) return named_type(ctx);
  if (!ctx.has_attr("to")) return ctx.invalid("attribute 'to' is missing");
  return ctx.attr_dtype("to", DType::Undefined);
}

Result<void> import_cast(NodeContext& ctx) {
  STROP_ASSIGN(const DType to, target_type(ctx));
  return emit_cast(ctx, to);
}

Result<void> import_cast_like(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType like, ctx.tensor(1));
  return emit_cast(ctx, like.dtype);
}

Result<void> import_bit_cast(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  STROP_ASSIGN(const DType to, target_type(ctx));
  if (type.dtype == to) return ctx.set_output(0, ctx.input(0));
  STROP_ASSIGN(const ir::ValueId result, ctx.emit(kBitCast, BitCastAttrs{to}, {ctx.input(0)}));
  return ctx.set_output(0, result);
}

}  // namespace

std::span<const onnx::Importer> cast_importers() {
  static constexpr auto kRows = std::to_array<onnx::Importer>({
      {"BitCast", import_bit_cast},
      {"Cast", import_cast},
      {"CastLike", import_cast_like},
  });
  return kRows;
}

}  // namespace strop::ops
