#include <array>

#include "ops/element_map.h"
#include "ops/late.h"
#include "ops/norm/norm.h"
#include "ops/norm/op_statistics.h"

namespace strop::ops {
namespace {

// (C3) operands [first, last) are vectors of one value per channel.
Result<void> check_per_channel(const InferContext& ctx, size_t first, size_t last, const Dim& channels) {
  for (size_t index = first; index < last; ++index) {
    if (!ctx.has_input(index)) continue;
    STROP_ASSIGN(const TensorType operand, ctx.tensor(index));
    const bool vector = is_float(operand.dtype) && (!operand.has_rank() || operand.rank() == 1);
    const bool fits = vector && (!operand.has_rank() || !operand.dim(0).is_constant() || !channels.is_constant() ||
                                 operand.dim(0) == channels);
    if (!fits)
      return violates("(C3) operand {} is {}, {} values are needed", index, to_string(operand), channels.to_string());
  }
  return {};
}

size_t channel_axis_of(bool channels_last, size_t rank) { return channels_last ? rank - 1 : 1; }

Result<void> infer_group_norm(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<GroupNormAttrs>();
  STROP_ASSIGN(const TensorType x, infer_prologue(ctx, attrs.programs()));
  // (C1) floating point.
  if (!is_float(x.dtype)) return violates("(C1) cannot normalise {}", to_string(x.dtype));
  if (x.has_rank()) {
    // (C2) batch and channels, divisible by the groups.
    if (x.rank() < 2) return violates("(C2) {} has no channels", to_string(x));
    const Dim& channels = x.dims()[channel_axis_of(attrs.channels_last, x.dims().size())];
    if (attrs.groups < 0 || (attrs.groups > 0 && channels.is_constant() && channels.constant() % attrs.groups != 0)) {
      return violates("(C2) {} channels cannot be divided into {} groups", channels.to_string(), attrs.groups);
    }
    STROP_TRY(check_per_channel(ctx, kNormScaleInput, kNormBiasInput + 1, channels));
  }
  STROP_ASSIGN(ctx.outputs[0], infer_result(ctx, attrs.programs(), x));
  return {};
}

Result<void> evaluate_group_norm(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<GroupNormAttrs>();
  const Tensor input = apply_prologue(ctx, attrs.programs());
  const auto& dims = input.dims();
  const size_t axis = channel_axis_of(attrs.channels_last, dims.size());
  const int64_t channels = dims[axis];
  const int64_t batch = dims[0];
  const int64_t pixels = batch * channels == 0 ? 0 : input.count() / (batch * channels);
  const int64_t groups = attrs.groups == 0 ? channels : attrs.groups;
  if (groups == 0 || channels % groups != 0) return bad_data("GroupNorm: {} channels in {} groups", channels, groups);
  const int64_t group_channels = channels / groups;
  const auto x = load_f64(input);
  const auto scale = ctx.has_input(kNormScaleInput) ? load_f64(ctx.in(kNormScaleInput)) : std::vector<double>();
  const auto bias = ctx.has_input(kNormBiasInput) ? load_f64(ctx.in(kNormBiasInput)) : std::vector<double>();
  ReferenceSums sums{input.dtype(), dims, std::vector<double>(x.size()), {}};
  parallel_for(ctx.threads, batch * groups, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first_channel = item % groups * group_channels;
      const int64_t base = item / groups * channels * pixels;
      // Element i of the group: channel i / pixels of the group, pixel i % pixels.
      const auto index = [&](int64_t i) {
        const int64_t channel = first_channel + i / pixels;
        const int64_t pixel = i % pixels;
        return static_cast<size_t>(base +
                                   (attrs.channels_last ? pixel * channels + channel : channel * pixels + pixel));
      };
      const int64_t count = group_channels * pixels;
      const auto found = statistics(count, attrs.epsilon, false, [&](int64_t i) { return x[index(i)]; });
      for (int64_t i = 0; i < count; ++i) {
        const auto channel = static_cast<size_t>(first_channel + i / pixels);
        double value = (x[index(i)] - found.mean) * found.inverse;
        if (!scale.empty()) value *= scale[channel];
        if (!bias.empty()) value += bias[channel];
        sums.numbers[index(i)] = value;
      }
    }
  });
  ctx.outputs[0] = finish_result(ctx, attrs.programs(), sums);
  return {};
}

Result<void> infer_batch_norm(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  // (C1) floating point.
  if (!is_float(x.dtype)) return violates("(C1) cannot normalise {}", to_string(x.dtype));
  // (C2) a batch axis.
  if (x.has_rank() && x.rank() < 1) return violates("(C2) {} has no batch axis", to_string(x));
  for (size_t i = 1; i <= 4; ++i) STROP_TRY(ctx.tensor(i));
  if (x.has_rank()) STROP_TRY(check_per_channel(ctx, 1, 5, x.rank() > 1 ? x.dim(1) : Dim(1)));
  ctx.outputs[0] = x;
  return {};
}

Result<void> evaluate_batch_norm(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const double epsilon = ctx.attrs.as<BatchNormAttrs>().epsilon;
  const auto& dims = input.dims();
  const int64_t channels = dims.size() > 1 ? dims[1] : 1;
  const int64_t pixels = count_between(dims, 2, input.rank());
  std::array<std::vector<double>, 4> operands;
  for (size_t i = 0; i < 4; ++i) {
    operands[i] = load_f64(ctx.in(i + 1));
    if (static_cast<int64_t>(operands[i].size()) != channels) {
      return bad_data("BatchNorm: operand {} has {} values for {} channels", i + 1, operands[i].size(), channels);
    }
  }
  const auto& [scale, bias, mean, variance] = operands;
  auto values = load_f64(input);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / static_cast<size_t>(pixels) % static_cast<size_t>(channels);
    values[i] = (values[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c];
  }
  ctx.outputs[0] = store_f64(input.dtype(), dims, values);
  return {};
}

Result<void> infer_local_response_norm(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<LocalResponseNormAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  // (C1) floating point.
  if (!is_float(x.dtype)) return violates("(C1) cannot normalise {}", to_string(x.dtype));
  // (C2) channels, and a window of at least one.
  if (x.has_rank() && x.rank() < 2) return violates("(C2) {} has no channels", to_string(x));
  if (attrs.size < 1) return violates("(C2) a window of {} channels", attrs.size);
  ctx.outputs[0] = x;
  return {};
}

Result<void> evaluate_local_response_norm(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<LocalResponseNormAttrs>();
  const Tensor& input = ctx.in(0);
  const int64_t channels = input.dim(1);
  const int64_t pixels = count_between(input.dims(), 2, input.rank());
  const auto x = load_f64(input);
  std::vector<double> y(x.size());
  parallel_for(ctx.threads, input.dim(0) * channels, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t c = plane % channels;
      const int64_t from = std::max<int64_t>(c - (attrs.size - 1) / 2, 0) - c;
      const int64_t to = std::min(c + attrs.size / 2, channels - 1) - c;
      for (int64_t i = plane * pixels; i < (plane + 1) * pixels; ++i) {
        double squares = 0;
        for (int64_t k = from; k <= to; ++k) {
          const double value = x[static_cast<size_t>(i + k * pixels)];
          squares += value * value;
        }
        const double base = attrs.bias + attrs.alpha / static_cast<double>(attrs.size) * squares;
        y[static_cast<size_t>(i)] = x[static_cast<size_t>(i)] / std::pow(base, attrs.beta);
      }
    }
  });
  ctx.outputs[0] = store_f64(input.dtype(), input.dims(), y);
  return {};
}

Type f32(const std::vector<int64_t>& dims) { return Type(DType::F32, to_dims(dims)); }

GroupNormAttrs in_groups(int64_t groups, bool channels_last = false) {
  GroupNormAttrs attrs;
  attrs.groups = groups;
  attrs.channels_last = channels_last;
  return attrs;
}

GroupNormAttrs with_silu(GroupNormAttrs attrs) {
  attrs.epilogue.outputs = {attrs.epilogue.add(Fn::Silu, {attrs.epilogue.add_input(0, DType::F32)})};
  return attrs;
}

}  // namespace

std::vector<WorkedCase> group_norm_cases() {
  return {
      {"instance", in_groups(0), {f32({2, 5, 7, 9}), f32({5}), f32({5})}},
      {"instance_1d", in_groups(0), {f32({2, 5, 40}), f32({5}), f32({5})}},
      {"groups", in_groups(4), {f32({2, 12, 5, 6}), f32({12}), f32({12})}},
      {"groups_last", in_groups(4, true), {f32({2, 5, 6, 24}), f32({24}), f32({24})}},
      {"instance_last", in_groups(0, true), {f32({2, 5, 6, 20}), f32({20}), f32({20})}},
      {"one_group", in_groups(1), {f32({3, 6, 4}), f32({6}), f32({6})}},
      {"plain", in_groups(2), {f32({3, 6, 4})}},
      {"silu", with_silu(in_groups(2)), {f32({1, 8, 6, 6}), f32({8}), f32({8})}},
      {"silu_last", with_silu(in_groups(2, true)), {f32({1, 6, 6, 8}), f32({8}), f32({8})}},
      {"f16", in_groups(2), {Type(DType::F16, {2, 4, 9}), Type(DType::F16, {4}), Type(DType::F16, {4})}},
  };
}

std::vector<WorkedCase> batch_norm_cases() {
  const std::vector<Type> vectors(4, f32({7}));
  const auto with = [&](const Type& x) {
    std::vector<Type> types = {x};
    types.insert(types.end(), vectors.begin(), vectors.end());
    return types;
  };
  return {
      {"image", BatchNormAttrs{}, with(f32({2, 7, 6, 5})), 1, {}, true},
      {"matrix", BatchNormAttrs{}, with(f32({9, 7})), 1, {}, true},
      {"volume", BatchNormAttrs{1e-3}, with(f32({1, 7, 3, 4, 5})), 1, {}, true},
  };
}

std::vector<WorkedCase> local_response_norm_cases() {
  return {
      {"odd_window", LocalResponseNormAttrs{5, 1e-2, 0.75, 2}, {f32({2, 9, 4, 5})}},
      {"even_window", LocalResponseNormAttrs{4, 0.5, 0.5, 1}, {f32({1, 6, 7})}},
      {"wider_than_channels", LocalResponseNormAttrs{9, 0.5, 0.75, 1}, {f32({1, 3, 11})}},
  };
}

int64_t line_axes(const GroupNormAttrs& attrs, int64_t rank) {
  return attrs.channels_last ? 1 : std::max<int64_t>(rank - 2, 1);
}

const Operator kGroupNorm = {
    .name = "GroupNorm",
    .make_attrs = [] { return Attrs(GroupNormAttrs{}); },
    .infer = infer_group_norm,
    .evaluate = evaluate_group_norm,
    .cases = group_norm_cases,
};

const Operator kBatchNorm = {
    .name = "BatchNorm",
    .make_attrs = [] { return Attrs(BatchNormAttrs{}); },
    .infer = infer_batch_norm,
    .evaluate = evaluate_batch_norm,
    .cases = batch_norm_cases,
};

const Operator kLocalResponseNorm = {
    .name = "LocalResponseNorm",
    .make_attrs = [] { return Attrs(LocalResponseNormAttrs{}); },
    .infer = infer_local_response_norm,
    .evaluate = evaluate_local_response_norm,
    .cases = local_response_norm_cases,
};

}  // namespace strop::ops
