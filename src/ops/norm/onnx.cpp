#include <array>

#include "onnx/importer.h"
#include "ops/expand/expand.h"
#include "ops/families.h"
#include "ops/norm/norm.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<void> finish(NodeContext& ctx, Result<ValueId> value) {
  if (!value.ok()) return value.error();
  return ctx.set_output(0, *value);
}

template <bool kRms>
Result<void> import_layer_norm(NodeContext& ctx) {
  LayerNormAttrs attrs;
  attrs.rms = kRms;
  STROP_ASSIGN(attrs.axis, ctx.attr_int("axis", -1));
  STROP_ASSIGN(attrs.epsilon, ctx.attr_float("epsilon", 1e-5));
  STROP_ASSIGN(attrs.stash, ctx.attr_dtype("stash_type", DType::F32));
  const std::vector<ValueId> operands = {ctx.input(0), ctx.input(1), ctx.input(2)};
  const bool statistics = ctx.wants_output(1) || ctx.wants_output(2);
  STROP_ASSIGN(const auto outputs, ctx.emit_many(kLayerNorm, std::move(attrs), operands, statistics ? 4 : 1));
  STROP_TRY(ctx.set_output(0, outputs[0]));
  if (ctx.wants_output(1)) STROP_TRY(ctx.set_output(1, outputs[2]));
  if (ctx.wants_output(2)) STROP_TRY(ctx.set_output(2, outputs[3]));
  return {};
}

Result<void> import_instance_norm(NodeContext& ctx) {
  GroupNormAttrs attrs;
  STROP_ASSIGN(attrs.epsilon, ctx.attr_float("epsilon", 1e-5));
  return finish(ctx, ctx.emit(kGroupNorm, std::move(attrs), {ctx.input(0), ctx.input(1), ctx.input(2)}));
}

// One value per group (opset 18) as one per channel.
Result<ValueId> per_channel(NodeContext& ctx, ValueId per_group, int64_t groups, const Dim& group_channels) {
  STROP_ASSIGN(const ValueId column, ctx.emit(kReshape, ReshapeAttrs{{Dim(groups), Dim(1)}, false}, {per_group}));
  STROP_ASSIGN(const ValueId matrix, ctx.emit(kExpand, ExpandAttrs{{Dim(groups), group_channels}}, {column}));
  return ctx.emit(kReshape, ReshapeAttrs{{Dim(groups) * group_channels}, false}, {matrix});
}

Result<void> import_group_norm(NodeContext& ctx) {
  GroupNormAttrs attrs;
  STROP_ASSIGN(attrs.groups, ctx.attr_int("num_groups"));
  STROP_ASSIGN(attrs.epsilon, ctx.attr_float("epsilon", 1e-5));
  if (attrs.groups < 1) return ctx.invalid("num_groups is {}, at least 1 is needed", attrs.groups);
  std::vector<ValueId> operands = {ctx.input(0), ctx.input(1), ctx.input(2)};
  if (ctx.opset() < 21) {
    STROP_ASSIGN(const TensorType x, ctx.tensor(0));
    if (!x.has_rank() || x.rank() < 2) return ctx.unsupported("the channels of operand 0 must be known");
    const Dim group_channels = floor_div(x.dim(1), Dim(attrs.groups));
    for (const size_t i : {size_t{1}, size_t{2}}) {
      STROP_ASSIGN(operands[i], per_channel(ctx, operands[i], attrs.groups, group_channels));
    }
  }
  return finish(ctx, ctx.emit(kGroupNorm, std::move(attrs), std::move(operands)));
}

// -- Pointwise pieces --

Result<ValueId> pointwise(NodeContext& ctx, Fn fn, DType dtype, std::vector<ValueId> operands) {
  return ctx.emit(kPointwise, PointwiseAttrs{function_program(fn, dtype)}, std::move(operands));
}

// The mean over `axes` of x, or of x² with `squared`; the axes stay as size 1.
Result<ValueId> mean_over(NodeContext& ctx, ValueId x, const std::vector<int64_t>& axes, bool squared) {
  ReduceAttrs attrs;
  attrs.kind = ReduceKind::Mean;
  attrs.axes = to_dims(axes);
  attrs.all_if_empty = false;
  if (squared) {
    const int32_t value = attrs.prologue.add_input(0, ctx.graph().value(x).type.tensor.dtype);
    attrs.prologue.outputs = {attrs.prologue.add(Fn::Mul, {value, value})};
  }
  return ctx.emit(kReduce, std::move(attrs), {x});
}

// -- Batch normalisation --

// a * momentum + b * (1 - momentum), in a's type.
Result<ValueId> running(NodeContext& ctx, ValueId a, ValueId b, double momentum) {
  const DType dtype = ctx.graph().value(a).type.tensor.dtype;
  ScalarProgram program;
  const int32_t old_value = program.add_input(0, dtype);
  int32_t value = program.add_input(1, ctx.graph().value(b).type.tensor.dtype);
  if (ctx.graph().value(b).type.tensor.dtype != dtype) value = program.add_declared(Fn::Cast, dtype, {value});
  const int32_t kept = program.add(Fn::Mul, {old_value, program.add_number(dtype, momentum)});
  const int32_t joined = program.add(Fn::Mul, {value, program.add_number(dtype, 1 - momentum)});
  program.outputs = {program.add(Fn::Add, {kept, joined})};
  return ctx.emit(kPointwise, PointwiseAttrs{std::move(program)}, {a, b});
}

// Normalises with the batch's own statistics and updates the running ones.
Result<void> import_batch_norm_training(NodeContext& ctx, double epsilon) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (!x.has_rank() || x.rank() < 2)
    return ctx.unsupported("training_mode needs an operand 0 of known rank, at least 2");
  STROP_ASSIGN(const double momentum, ctx.attr_float("momentum", 0.9));
  std::vector<int64_t> axes = {0};
  for (int64_t i = 2; i < x.rank(); ++i) axes.push_back(i);
  STROP_ASSIGN(const ValueId mean, mean_over(ctx, ctx.input(0), axes, false));
  STROP_ASSIGN(const ValueId distance, pointwise(ctx, Fn::Sub, x.dtype, {ctx.input(0), mean}));
  STROP_ASSIGN(const ValueId variance, mean_over(ctx, distance, axes, true));
  const ReshapeAttrs vector{{x.dim(1)}, false};
  STROP_ASSIGN(const ValueId mean_vector, ctx.emit(kReshape, vector, {mean}));
  STROP_ASSIGN(const ValueId variance_vector, ctx.emit(kReshape, vector, {variance}));
  STROP_TRY(finish(ctx, ctx.emit(kBatchNorm, BatchNormAttrs{epsilon},
                                 {ctx.input(0), ctx.input(1), ctx.input(2), mean_vector, variance_vector})));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (!ctx.wants_output(i)) continue;
    STROP_ASSIGN(const TensorType old_value, ctx.tensor(i + 2));
    if (!is_float(old_value.dtype))
      return ctx.invalid("operand {} must be floating point, not {}", i + 2, to_string(old_value.dtype));
    STROP_ASSIGN(const ValueId updated,
                 running(ctx, ctx.input(i + 2), i == 1 ? mean_vector : variance_vector, momentum));
    STROP_TRY(ctx.set_output(i, updated));
  }
  return {};
}

// Opsets 1 to 8 with spatial = 0: statistics per channel and pixel, so all of these are channels.
Result<void> import_batch_norm_per_activation(NodeContext& ctx, double epsilon) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (!x.has_rank() || x.rank() < 2) return ctx.unsupported("spatial = 0 needs an operand 0 of known rank, at least 2");
  const Dim activations = product(Dims(x.dims().begin() + 1, x.dims().end()));
  std::vector<ValueId> operands;
  for (size_t i = 0; i < 5; ++i) {
    const Dims shape = i == 0 ? Dims{x.dim(0), activations} : Dims{activations};
    STROP_ASSIGN(const ValueId flat, ctx.emit(kReshape, ReshapeAttrs{shape, false}, {ctx.input(i)}));
    operands.push_back(flat);
  }
  STROP_ASSIGN(const ValueId flat, ctx.emit(kBatchNorm, BatchNormAttrs{epsilon}, std::move(operands)));
  return finish(ctx, ctx.emit(kReshape, ReshapeAttrs{x.dims(), false}, {flat}));
}

Result<void> import_batch_norm(NodeContext& ctx) {
  STROP_ASSIGN(const double epsilon, ctx.attr_float("epsilon", 1e-5));
  STROP_ASSIGN(const int64_t training, ctx.attr_int("training_mode", 0));
  STROP_ASSIGN(const int64_t spatial, ctx.attr_int("spatial", 1));
  if (ctx.opset() >= 14 && training != 0) return import_batch_norm_training(ctx, epsilon);
  for (size_t i = 1; i < ctx.output_count(); ++i) {
    if (ctx.wants_output(i))
      return ctx.unsupported("training outputs before opset 14; remove the outputs after the first");
  }
  if (ctx.opset() < 9 && spatial == 0) return import_batch_norm_per_activation(ctx, epsilon);
  return finish(ctx, ctx.emit(kBatchNorm, BatchNormAttrs{epsilon},
                              {ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3), ctx.input(4)}));
}

// -- The others --

Result<void> import_local_response_norm(NodeContext& ctx) {
  LocalResponseNormAttrs attrs;
  STROP_ASSIGN(attrs.size, ctx.attr_int("size"));
  STROP_ASSIGN(attrs.alpha, ctx.attr_float("alpha", 1e-4));
  STROP_ASSIGN(attrs.beta, ctx.attr_float("beta", 0.75));
  STROP_ASSIGN(attrs.bias, ctx.attr_float("bias", 1.0));
  return finish(ctx, ctx.emit(kLocalResponseNorm, attrs, {ctx.input(0)}));
}

// d / (sqrt(mean of d²) + 1e-9) where d = x - mean of x; the constant is that of the standard's function body.
Result<void> import_mean_variance_norm(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const auto axes, ctx.attr_ints("axes", std::vector<int64_t>{0, 2, 3}));
  STROP_ASSIGN(const ValueId mean, mean_over(ctx, ctx.input(0), axes, false));
  STROP_ASSIGN(const ValueId distance, pointwise(ctx, Fn::Sub, x.dtype, {ctx.input(0), mean}));
  STROP_ASSIGN(const ValueId variance, mean_over(ctx, distance, axes, true));
  ScalarProgram program;
  const int32_t d = program.add_input(0, x.dtype);
  const int32_t deviation = program.add(Fn::Sqrt, {program.add_input(1, x.dtype)});
  const int32_t divisor = program.add(Fn::Add, {deviation, program.add_number(x.dtype, 1e-9)});
  program.outputs = {program.add(Fn::Div, {d, divisor})};
  return finish(ctx, ctx.emit(kPointwise, PointwiseAttrs{std::move(program)}, {distance, variance}));
}

// x / norm along one axis, 0 where the norm is 0.
Result<void> import_lp_norm(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", -1));
  STROP_ASSIGN(const int64_t p, ctx.attr_int("p", 2));
  if (p != 1 && p != 2) return ctx.invalid("p is {}, only 1 and 2 exist", p);
  ReduceAttrs attrs;
  attrs.kind = p == 1 ? ReduceKind::L1 : ReduceKind::L2;
  attrs.axes = {Dim(axis)};
  STROP_ASSIGN(const ValueId norm, ctx.emit(kReduce, std::move(attrs), {ctx.input(0)}));
  ScalarProgram program;
  const int32_t value = program.add_input(0, x.dtype);
  const int32_t length = program.add_input(1, x.dtype);
  const int32_t zero = program.add_number(x.dtype, 0);
  const int32_t is_zero = program.add(Fn::Equal, {length, zero});
  program.outputs = {program.add(Fn::Where, {is_zero, zero, program.add(Fn::Div, {value, length})})};
  return finish(ctx, ctx.emit(kPointwise, PointwiseAttrs{std::move(program)}, {ctx.input(0), norm}));
}

}  // namespace

std::span<const onnx::Importer> norm_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"LayerNormalization", import_layer_norm<false>},
      onnx::Importer{"RMSNormalization", import_layer_norm<true>},
      onnx::Importer{"InstanceNormalization", import_instance_norm},
      onnx::Importer{"GroupNormalization", import_group_norm},
      onnx::Importer{"BatchNormalization", import_batch_norm},
      onnx::Importer{"LRN", import_local_response_norm},
      onnx::Importer{"MeanVarianceNormalization", import_mean_variance_norm, 9},
      onnx::Importer{"LpNormalization", import_lp_norm},
  };
  return kImporters;
}

}  // namespace strop::ops
