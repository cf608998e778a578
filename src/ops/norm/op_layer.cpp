#include "ops/element_map.h"
#include "ops/late.h"
#include "ops/norm/norm.h"
#include "ops/norm/op_statistics.h"

namespace strop::ops {
namespace {

// (C2) scale and bias are floating and broadcast to x without enlarging it.
Result<void> check_affine(const InferContext& ctx, const TensorType& x) {
  for (const size_t index : {kNormScaleInput, kNormBiasInput}) {
    if (!ctx.has_input(index)) continue;
    STROP_ASSIGN(const TensorType operand, ctx.tensor(index));
    if (!is_float(operand.dtype)) return violates("(C2) operand {} is {}", index, to_string(operand));
    if (!operand.has_rank() || !x.has_rank()) continue;
    const auto together = broadcast(operand.dims(), x.dims());
    if (!together.ok() || together->size() != x.dims().size()) {
      return violates("(C2) operand {} is {} and does not broadcast to {}", index, to_string(operand), to_string(x));
    }
  }
  return {};
}

Result<void> infer_layer_norm(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<LayerNormAttrs>();
  STROP_ASSIGN(const TensorType x, infer_prologue(ctx, attrs.programs()));
  // (C1) floating point.
  if (!is_float(x.dtype) || !is_float(attrs.stash)) {
    return violates("(C1) cannot normalise {} with statistics of {}", to_string(x.dtype), to_string(attrs.stash));
  }
  STROP_TRY(check_affine(ctx, x));
  TensorType result = x;
  if (attrs.rms && ctx.has_input(kNormScaleInput)) result.dtype = ctx.inputs[kNormScaleInput].tensor.dtype;
  TensorType statistic{attrs.stash, x.shape, {}};
  if (x.has_rank()) {
    STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, x.rank(), "(C3) axis"));
    for (int64_t i = axis; i < x.rank(); ++i) (*statistic.shape)[static_cast<size_t>(i)] = Dim(1);
  }
  STROP_ASSIGN(ctx.outputs[0], infer_result(ctx, attrs.programs(), result));
  if (ctx.wants_output(1)) ctx.outputs[1] = x;
  for (size_t i = 2; i < ctx.outputs.size(); ++i) ctx.outputs[i] = statistic;
  return {};
}

Result<void> evaluate_layer_norm(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<LayerNormAttrs>();
  const Tensor input = apply_prologue(ctx, attrs.programs());
  const auto& dims = input.dims();
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C3) axis"));
  const int64_t rows = count_between(dims, 0, axis);
  const int64_t length = count_between(dims, axis, input.rank());
  const auto x = load_f64(input);
  const auto affine = [&](size_t index) {
    return ctx.has_input(index) ? broadcast_f64(ctx.in(index), dims, ctx.threads) : std::vector<double>();
  };
  const auto scale = affine(kNormScaleInput);
  const auto bias = affine(kNormBiasInput);
  const bool has_scale = ctx.has_input(kNormScaleInput);
  const DType dtype = attrs.rms && has_scale ? ctx.in(kNormScaleInput).dtype() : input.dtype();
  ReferenceSums sums{dtype, dims, std::vector<double>(x.size()), {}};
  std::vector<double> means(static_cast<size_t>(rows));
  std::vector<double> inverses(static_cast<size_t>(rows));
  parallel_for(ctx.threads, rows, 4096 / (length + 1) + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row * length;
      const auto found =
          statistics(length, attrs.epsilon, attrs.rms, [&](int64_t i) { return x[static_cast<size_t>(first + i)]; });
      means[static_cast<size_t>(row)] = found.mean;
      inverses[static_cast<size_t>(row)] = found.inverse;
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(first + length); ++i) {
        double value = (x[i] - found.mean) * found.inverse;
        if (!scale.empty()) value *= scale[i];
        if (!bias.empty()) value += bias[i];
        sums.numbers[i] = value;
      }
    }
  });
  ctx.outputs[0] = finish_result(ctx, attrs.programs(), sums);
  if (ctx.wants(kNormSumOutput)) ctx.outputs[kNormSumOutput] = input;
  auto statistic_dims = dims;
  for (size_t i = static_cast<size_t>(axis); i < dims.size(); ++i) statistic_dims[i] = 1;
  if (ctx.wants(2)) ctx.outputs[2] = store_f64(attrs.stash, statistic_dims, means);
  if (ctx.wants(3)) ctx.outputs[3] = store_f64(attrs.stash, statistic_dims, inverses);
  return {};
}

LayerNormAttrs over(int64_t axis, bool rms = false) {
  LayerNormAttrs attrs;
  attrs.axis = axis;
  attrs.rms = rms;
  return attrs;
}

// The residual sum x + r before, a Relu after.
LayerNormAttrs with_residual(LayerNormAttrs attrs) {
  auto& before = attrs.prologue;
  const int32_t x = before.add_input(0, DType::F32);
  before.outputs = {before.add(Fn::Add, {x, before.add_input(1, DType::F32)})};
  return attrs;
}

LayerNormAttrs with_relu(LayerNormAttrs attrs) {
  auto& after = attrs.epilogue;
  after.outputs = {after.add(Fn::Relu, {after.add_input(0, DType::F32)})};
  return attrs;
}

}  // namespace

std::vector<WorkedCase> layer_norm_cases() {
  const auto f32 = [](const std::vector<int64_t>& dims) { return Type(DType::F32, to_dims(dims)); };
  const Type none;
  return {
      {"rows", over(-1), {f32({17, 96}), f32({96}), f32({96})}},
      {"rows_ragged", over(-1), {f32({3, 5, 77}), f32({77}), f32({77})}},
      {"no_bias", over(-1), {f32({9, 64}), f32({64})}},
      {"plain", over(-1), {f32({9, 64})}},
      {"two_axes", over(1), {f32({6, 5, 12}), f32({5, 12}), f32({5, 12})}},
      {"scale_per_row", over(-1), {f32({6, 5, 12}), f32({5, 1}), f32({6, 5, 12})}},
      {"statistics", over(-1), {f32({6, 40}), f32({40}), f32({40})}, 4},
      {"residual", with_residual(over(-1)), {f32({6, 40}), f32({40}), f32({40}), f32({6, 40})}},
      {"residual_and_sum", with_residual(over(-1)), {f32({2, 6, 40}), f32({40}), f32({40}), f32({2, 6, 40})}, 2},
      {"residual_row", with_residual(over(-1)), {f32({6, 40}), f32({40}), f32({40}), f32({40})}},
      {"relu", with_relu(over(-1)), {f32({6, 40}), f32({40}), f32({40})}},
      {"rms", over(-1, true), {f32({17, 96}), f32({96})}},
      {"rms_residual_and_sum", with_residual(over(-1, true)), {f32({6, 40}), f32({40}), none, f32({6, 40})}, 2},
      {"rms_plain", over(1, true), {f32({3, 5, 7})}},
      {"f16", over(-1), {Type(DType::F16, {4, 30}), Type(DType::F16, {30}), Type(DType::F16, {30})}},
      {"no_rows", over(-1), {f32({0, 8}), f32({8}), f32({8})}},
  };
}

int64_t line_axes(const LayerNormAttrs& attrs, int64_t rank) {
  return attrs.axis < 0 ? -attrs.axis : rank - attrs.axis;
}

bool is_row_vector(const TensorType& operand, const TensorType& x, int64_t axes) {
  if (operand.dtype != DType::F32 || !operand.has_rank() || operand.rank() < axes) return false;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const Dim& own = operand.dim(operand.rank() - 1 - i);
    if (i < axes ? !(own == x.dim(x.rank() - 1 - i)) : !(own == Dim(1))) return false;
  }
  return true;
}

const Operator kLayerNorm = {
    .name = "LayerNorm",
    .make_attrs = [] { return Attrs(LayerNormAttrs{}); },
    .infer = infer_layer_norm,
    .evaluate = evaluate_layer_norm,
    .cases = layer_norm_cases,
};

}  // namespace strop::ops
