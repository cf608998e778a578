// ONNX operators with parameters: activations, Clip, Dropout, and the experimental ones of opset 1.
#include <array>
#include <limits>

#include "ops/pointwise/onnx_build.h"
#include "ops/scalar_functions.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// Defaults are written as the specification writes them; they are of type float there.
double from_float(float value) { return value; }

Result<DType> float_operand(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  if (!is_float(type.dtype)) return ctx.invalid("operand 0 must be floating point, not {}", to_string(type.dtype));
  return type.dtype;
}

Result<void> one_parameter(NodeContext& ctx, Fn fn, std::string_view name, float fallback) {
  STROP_ASSIGN(const DType dtype, float_operand(ctx));
  STROP_ASSIGN(const double parameter, ctx.attr_float(name, from_float(fallback)));
  return emit_program(ctx, function_program(fn, dtype, {parameter}), {ctx.input(0)});
}

Result<void> import_leaky_relu(NodeContext& ctx) { return one_parameter(ctx, Fn::LeakyRelu, "alpha", 0.01f); }
Result<void> import_elu(NodeContext& ctx) { return one_parameter(ctx, Fn::Elu, "alpha", 1.0f); }
Result<void> import_celu(NodeContext& ctx) { return one_parameter(ctx, Fn::Celu, "alpha", 1.0f); }
Result<void> import_thresholded(NodeContext& ctx) { return one_parameter(ctx, Fn::ThresholdedRelu, "alpha", 1.0f); }

Result<void> import_swish(NodeContext& ctx) {
  STROP_ASSIGN(const DType dtype, float_operand(ctx));
  STROP_ASSIGN(const double alpha, ctx.attr_float("alpha", 1.0));
  if (alpha == 1) return emit_program(ctx, function_program(Fn::Silu, dtype), {ctx.input(0)});
  return emit_program(ctx, function_program(Fn::Swish, dtype, {alpha}), {ctx.input(0)});
}

Result<void> import_selu(NodeContext& ctx) {
  STROP_ASSIGN(const DType dtype, float_operand(ctx));
  const bool first = ctx.opset() < 6;  // opset 1 wrote the constants with four decimals
  STROP_ASSIGN(const double alpha, ctx.attr_float("alpha", from_float(first ? 1.6732f : 1.67326319217681884765625f)));
  STROP_ASSIGN(const double gamma, ctx.attr_float("gamma", from_float(first ? 1.0507f : 1.05070102214813232421875f)));
  return emit_program(ctx, function_program(Fn::Selu, dtype, {alpha, gamma}), {ctx.input(0)});
}

Result<void> import_hard_sigmoid(NodeContext& ctx) {
  STROP_ASSIGN(const DType dtype, float_operand(ctx));
  STROP_ASSIGN(const double alpha, ctx.attr_float("alpha", from_float(0.2f)));
  STROP_ASSIGN(const double beta, ctx.attr_float("beta", from_float(0.5f)));
  return emit_program(ctx, function_program(Fn::HardSigmoid, dtype, {alpha, beta}), {ctx.input(0)});
}

/// Integers are allowed, with fractional parameters: through double.
Result<void> import_shrink(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, operand_for(ctx, Fn::Add, 0));
  STROP_ASSIGN(const double bias, ctx.attr_float("bias", 0.0));
  STROP_ASSIGN(const double lambda, ctx.attr_float("lambd", 0.5));
  if (is_float(type.dtype)) {
    return emit_program(ctx, function_program(Fn::Shrink, type.dtype, {bias, lambda}), {ctx.input(0)});
  }
  ScalarProgram program;
  const int32_t x = program.add_declared(Fn::Cast, DType::F64, {program.add_input(0, type.dtype)});
  const int32_t b = program.add_number(DType::F64, bias);
  const int32_t l = program.add_number(DType::F64, lambda);
  program.outputs = {program.add_declared(Fn::Cast, type.dtype, {program.add(Fn::Shrink, {x, b, l})})};
  return emit_program(ctx, program, {ctx.input(0)});
}

Result<void> import_gelu(NodeContext& ctx) {
  STROP_ASSIGN(const DType dtype, float_operand(ctx));
  STROP_ASSIGN(const std::string approximate, ctx.attr_string("approximate", "none"));
  if (approximate != "none" && approximate != "tanh") {
    return ctx.invalid("approximate must be 'none' or 'tanh', not '{}'", approximate);
  }
  return emit_program(ctx, function_program(approximate == "tanh" ? Fn::GeluTanh : Fn::Gelu, dtype), {ctx.input(0)});
}

/// Before opset 7 a slope of one dimension belongs to the channels (axis 1).
Result<void> import_prelu(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType type, operand_for(ctx, Fn::LeakyRelu, 0));
  STROP_ASSIGN(const TensorType slope, ctx.tensor(1));
  ValueId second = ctx.input(1);
  if (ctx.opset() < 7 && slope.has_rank() && slope.rank() == 1 && type.has_rank() && type.rank() > 2 &&
      !(slope.dim(0) == Dim(1))) {
    Dims shape = slope.dims();
    shape.insert(shape.end(), static_cast<size_t>(type.rank() - 2), Dim(1));
    STROP_ASSIGN(second, ctx.emit(kReshape, ReshapeAttrs{shape}, {second}));
  }
  return emit_program(ctx, function_program(Fn::LeakyRelu, type.dtype), {ctx.input(0), second});
}

// -- Clip --

/// One bound of Clip: a constant within the program, an operand, or none.
struct Bound {
  std::optional<double> attribute;  // before opset 11
  size_t operand = 0;
};

int32_t add_bound(NodeContext& ctx, const Bound& bound, DType dtype, ScalarProgram& program,
                  std::vector<ValueId>& operands) {
  if (bound.attribute) return program.add_number(dtype, *bound.attribute);
  if (!ctx.has_input(bound.operand)) return -1;
  const Tensor* constant = ctx.constant(bound.operand);
  if (constant != nullptr && constant->count() == 1 && constant->dtype() == dtype) {
    if (is_float(dtype)) return program.add_number(dtype, load_f64(*constant)[0]);
    return program.add_integer(dtype, load_i64(*constant)[0]);
  }
  operands.push_back(ctx.input(bound.operand));
  return program.add_input(static_cast<int32_t>(operands.size()) - 1, dtype);
}

Result<void> emit_clip(NodeContext& ctx, const Bound& low, const Bound& high) {
  STROP_ASSIGN(const TensorType type, operand_for(ctx, Fn::Clip, 0));
  ScalarProgram program;
  std::vector<ValueId> operands = {ctx.input(0)};
  int32_t result = program.add_input(0, type.dtype);
  const int32_t lower = add_bound(ctx, low, type.dtype, program, operands);
  const int32_t upper = add_bound(ctx, high, type.dtype, program, operands);
  if (lower >= 0 && upper >= 0) {
    result = program.add(Fn::Clip, {result, lower, upper});
  } else if (lower >= 0) {
    result = program.add(Fn::Max, {result, lower});
  } else if (upper >= 0) {
    result = program.add(Fn::Min, {result, upper});
  } else {
    return ctx.set_output(0, ctx.input(0));
  }
  program.outputs = {result};
  return emit_program(ctx, program, std::move(operands));
}

Result<void> import_clip(NodeContext& ctx) {
  if (ctx.opset() >= 11) return emit_clip(ctx, {std::nullopt, 1}, {std::nullopt, 2});
  Bound low{std::nullopt, SIZE_MAX};
  Bound high{std::nullopt, SIZE_MAX};
  if (ctx.has_attr("min")) {
    STROP_ASSIGN(low.attribute, ctx.attr_float("min"));
  }
  if (ctx.has_attr("max")) {
    STROP_ASSIGN(high.attribute, ctx.attr_float("max"));
  }
  return emit_clip(ctx, low, high);
}

// -- Dropout: inference only --

Result<void> import_dropout(NodeContext& ctx) {
  STROP_ASSIGN(const DType dtype, float_operand(ctx));
  if (ctx.opset() < 7) {
    STROP_ASSIGN(const int64_t is_test, ctx.attr_int("is_test", 0));
    (void)is_test;  // an inference engine always tests
  } else if (ctx.has_input(2)) {
    const Tensor* training = ctx.constant(2);
    const Tensor* ratio = ctx.constant(1);
    const bool keeps_all = ratio != nullptr && ratio->count() == 1 && load_f64(*ratio)[0] == 0;
    if (training == nullptr) return ctx.unsupported("training_mode must be constant");
    if (training->count() == 1 && load_i64(*training)[0] != 0 && !keeps_all) {
      return ctx.unsupported("training_mode is true: export the model for inference");
    }
  }
  STROP_TRY(ctx.set_output(0, ctx.input(0)));
  if (!ctx.wants_output(1)) return {};
  ScalarProgram all_kept;
  all_kept.input_count = 1;
  all_kept.outputs = {ctx.opset() < 10 ? all_kept.add_number(dtype, 1) : all_kept.add_integer(DType::Bool, 1)};
  STROP_ASSIGN(const ValueId mask, emit_pointwise(ctx, all_kept, {ctx.input(0)}));
  return ctx.set_output(1, mask);
}

// -- Experimental operators of opset 1 --

/// alpha * fn(beta * x), or alpha * x + beta for Affine.
Result<void> import_experimental(NodeContext& ctx, Fn fn) {
  STROP_ASSIGN(const DType dtype, float_operand(ctx));
  STROP_ASSIGN(const double alpha, ctx.attr_float("alpha", 1.0));
  STROP_ASSIGN(const double beta, ctx.attr_float("beta", fn == Fn::Copy ? 0.0 : 1.0));
  ScalarProgram program;
  const int32_t x = program.add_input(0, dtype);
  const int32_t a = program.add_number(dtype, alpha);
  const int32_t b = program.add_number(dtype, beta);
  if (fn == Fn::Copy) {
    program.outputs = {program.add(Fn::Add, {program.add(Fn::Mul, {x, a}), b})};
  } else {
    program.outputs = {program.add(Fn::Mul, {program.add(fn, {program.add(Fn::Mul, {x, b})}), a})};
  }
  return emit_program(ctx, program, {ctx.input(0)});
}

Result<void> import_affine(NodeContext& ctx) { return import_experimental(ctx, Fn::Copy); }
Result<void> import_scaled_tanh(NodeContext& ctx) { return import_experimental(ctx, Fn::Tanh); }
Result<void> import_parametric_softplus(NodeContext& ctx) { return import_experimental(ctx, Fn::Softplus); }

Result<void> import_scale(NodeContext& ctx) {
  STROP_ASSIGN(const DType dtype, float_operand(ctx));
  STROP_ASSIGN(const double scale, ctx.attr_float("scale", 1.0));
  return emit_program(ctx, function_program(Fn::Mul, dtype, {scale}), {ctx.input(0)});
}

}  // namespace

std::span<const onnx::Importer> activation_importers() {
  static constexpr auto kRows = std::to_array<onnx::Importer>({
      {"Affine", import_affine, 1, 9},
      {"Celu", import_celu},
      {"Clip", import_clip},
      {"Dropout", import_dropout},
      {"Elu", import_elu},
      {"Gelu", import_gelu},
      {"HardSigmoid", import_hard_sigmoid},
      {"LeakyRelu", import_leaky_relu},
      {"PRelu", import_prelu},
      {"ParametricSoftplus", import_parametric_softplus, 1, 9},
      {"Scale", import_scale, 1, 9},
      {"ScaledTanh", import_scaled_tanh, 1, 9},
      {"Selu", import_selu},
      {"Shrink", import_shrink},
      {"Swish", import_swish},
      {"ThresholdedRelu", import_thresholded},
  });
  return kRows;
}

}  // namespace strop::ops
