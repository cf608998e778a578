#include "ops/quantize/onnx_integer.h"

#include <array>

#include "ops/conv/conv.h"
#include "ops/conv/onnx_window.h"
#include "ops/matmul/onnx_matmul.h"
#include "ops/pointwise/onnx_build.h"
#include "ops/quantize/quantize.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// A vector of parameters, one per index of an axis that `trailing` further axes follow; single ones stay as they are.
Result<ValueId> along_axis(NodeContext& ctx, size_t operand, size_t trailing) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(operand));
  const ValueId vector = ctx.input(operand);
  if (!type.has_rank()) return ctx.unsupported("a scale or zero point of unknown rank");
  if (type.rank() != 1 || trailing == 0 || type.dim(0) == Dim(1)) return vector;
  Dims shape = {type.dim(0)};
  shape.resize(1 + trailing, Dim(1));
  return ctx.emit(kReshape, ReshapeAttrs{std::move(shape)}, {vector});
}

// Operand `value` as i32, less operand `zero_point` where there is one.
Result<ValueId> centred(NodeContext& ctx, size_t value, size_t zero_point, size_t trailing) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(value));
  if (x.dtype != DType::U8 && x.dtype != DType::I8) return ctx.invalid("operand {} is {}", value, to_string(x));
  ScalarProgram program;
  int32_t result = program.add_declared(Fn::Cast, DType::I32, {program.add_input(0, x.dtype)});
  std::vector<ValueId> operands = {ctx.input(value)};
  if (ctx.has_input(zero_point)) {
    STROP_ASSIGN(const TensorType zero, ctx.tensor(zero_point));
    if (zero.dtype != x.dtype) return ctx.invalid("a zero point of {} for {}", to_string(zero), to_string(x));
    STROP_ASSIGN(const ValueId shaped, along_axis(ctx, zero_point, trailing));
    operands.push_back(shaped);
    const int32_t wide = program.add_declared(Fn::Cast, DType::I32, {program.add_input(1, zero.dtype)});
    result = program.add(Fn::Sub, {result, wide});
  }
  program.outputs = {result};
  return emit_pointwise(ctx, std::move(program), std::move(operands));
}

/// What turns integer sums into quantised results.
struct Requantization {
  ValueId scale_a = ir::kNone, scale_b = ir::kNone;  ///< shaped to broadcast to the sums
  size_t scale = 0, zero_point = 0;                  ///< operands of the result
  int64_t axis = 0;                                  ///< along which they run, if they are vectors
};

// The sums times both scales, quantised.
Result<ValueId> requantize(NodeContext& ctx, ValueId sums, const Requantization& how) {
  const auto dtype_of = [&](ValueId value) { return ctx.graph().value(value).type.tensor.dtype; };
  ScalarProgram program;
  const auto as_f32 = [&](int32_t operand, ValueId value) {
    return program.add_declared(Fn::Cast, DType::F32, {program.add_input(operand, dtype_of(value))});
  };
  const int32_t sum = as_f32(0, sums);
  const int32_t scale = program.add(Fn::Mul, {as_f32(1, how.scale_a), as_f32(2, how.scale_b)});
  program.outputs = {program.add(Fn::Mul, {sum, scale})};
  STROP_ASSIGN(const ValueId real, emit_pointwise(ctx, std::move(program), {sums, how.scale_a, how.scale_b}));
  STROP_ASSIGN(const TensorType result_scale, ctx.tensor(how.scale));
  STROP_ASSIGN(const ValueId scale_f32,
               emit_pointwise(ctx, cast_program(result_scale.dtype, DType::F32), {ctx.input(how.scale)}));
  QuantizeLinearAttrs attrs;
  attrs.axis = how.axis;
  if (ctx.has_input(how.zero_point)) {
    STROP_ASSIGN(const TensorType zero, ctx.tensor(how.zero_point));
    attrs.to = zero.dtype;
  }
  return ctx.emit(kQuantizeLinear, attrs, {real, scale_f32, ctx.input(how.zero_point)});
}

Result<void> import_matmul_integer(NodeContext& ctx) {
  STROP_ASSIGN(const ValueId a, centred(ctx, 0, 2, 1));
  STROP_ASSIGN(const ValueId b, centred(ctx, 1, 3, 0));
  STROP_ASSIGN(const ValueId product, emit_matmul(ctx, a, b));
  return ctx.set_output(0, product);
}

Result<void> import_qlinear_matmul(NodeContext& ctx) {
  STROP_ASSIGN(const ValueId a, centred(ctx, 0, 2, 1));
  STROP_ASSIGN(const ValueId b, centred(ctx, 3, 5, 0));
  STROP_ASSIGN(const ValueId product, emit_matmul(ctx, a, b));
  Requantization how;
  STROP_ASSIGN(how.scale_a, along_axis(ctx, 1, 1));
  STROP_ASSIGN(how.scale_b, along_axis(ctx, 4, 0));
  how.scale = 6;
  how.zero_point = 7;
  how.axis = -2;
  STROP_ASSIGN(const ValueId result, requantize(ctx, product, how));
  return ctx.set_output(0, result);
}

/// Which operands of a node are what a convolution needs.
struct ConvOperands {
  size_t x, x_zero, w, w_zero;
  ValueId bias = ir::kNone;
};

// The convolution of the operands less their zero points; padding is zero after that, as the standard has it.
Result<ValueId> integer_conv(NodeContext& ctx, const ConvOperands& operands) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(operands.x));
  STROP_ASSIGN(const TensorType w, ctx.tensor(operands.w));
  if (!w.has_rank() || !x.has_rank()) return ctx.unsupported("an operand of unknown rank");
  if (w.rank() < 3 || w.rank() > 5 || x.rank() != w.rank()) {
    return ctx.unsupported("an operand of rank {} with weights of rank {}: 1 to 3 spatial axes are supported", x.rank(),
                           w.rank());
  }
  const auto spatial = static_cast<size_t>(w.rank()) - 2;
  const auto sizes = as_constants(Dims(w.dims().begin() + 2, w.dims().end()));
  STROP_ASSIGN(const auto kernel, ctx.attr_ints("kernel_shape", sizes));
  if (sizes && kernel != *sizes) return ctx.invalid("kernel_shape does not match the weights");
  STROP_ASSIGN(WindowAttrs window, import_window(ctx, spatial, kernel));
  resolve_same_padding(window, Dims(x.dims().begin() + 2, x.dims().end()));
  ConvAttrs attrs;
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  attrs.output_padding.assign(spatial, 0);
  STROP_ASSIGN(attrs.group, ctx.attr_int("group", 1));
  STROP_ASSIGN(const ValueId image, centred(ctx, operands.x, operands.x_zero, spatial));
  STROP_ASSIGN(const ValueId weights, centred(ctx, operands.w, operands.w_zero, spatial + 1));
  return ctx.emit(kConv, std::move(attrs), {image, weights, operands.bias});
}

Result<void> import_conv_integer(NodeContext& ctx) {
  STROP_ASSIGN(const ValueId sums, integer_conv(ctx, {0, 2, 1, 3}));
  return ctx.set_output(0, sums);
}

Result<void> import_qlinear_conv(NodeContext& ctx) {
  STROP_ASSIGN(const ValueId sums, integer_conv(ctx, {0, 2, 3, 5, ctx.input(8)}));
  STROP_ASSIGN(const TensorType w, ctx.tensor(3));
  Requantization how;
  STROP_ASSIGN(how.scale_a, along_axis(ctx, 1, 0));
  STROP_ASSIGN(how.scale_b, along_axis(ctx, 4, static_cast<size_t>(w.rank()) - 2));
  how.scale = 6;
  how.zero_point = 7;
  how.axis = 1;
  STROP_ASSIGN(const ValueId result, requantize(ctx, sums, how));
  return ctx.set_output(0, result);
}

}  // namespace

std::span<const onnx::Importer> integer_importers() {
  static constexpr std::array<onnx::Importer, 4> kImporters = {{
      {"MatMulInteger", import_matmul_integer, 10},
      {"ConvInteger", import_conv_integer, 10},
      {"QLinearMatMul", import_qlinear_matmul, 10},
      {"QLinearConv", import_qlinear_conv, 10},
  }};
  return kImporters;
}

}  // namespace strop::ops
