#include <algorithm>
#include <array>

#include "ops/families.h"
#include "ops/late.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

Result<void> infer_reshape(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<ReshapeAttrs>();
  const auto target = dims_field(ctx, "shape", attrs.shape);
  if (!target) {
    const auto rank = dims_field_length(ctx, "shape", attrs.shape);
    ctx.outputs[0] = rank ? Type(input.dtype, unbacked_dims(ctx, *rank)) : Type::unranked(input.dtype);
    return {};
  }
  STROP_ASSIGN(Dims dims, resolve_reshape(*target, attrs.copy_zeros, input.shape));
  for (Dim& dim : dims) {
    const auto size = dim.as_constant();
    if (size && (*size < 0 || (*size == 0 && attrs.copy_zeros && !input.has_rank()))) dim = ctx.unbacked();
  }
  if (dims.size() <= 1) ctx.known_outputs[0] = ctx.known_inputs[0];
  ctx.outputs[0] = Type(input.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_reshape(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<ReshapeAttrs>();
  const Tensor& input = ctx.in(0);
  STROP_ASSIGN(const Dims dims, resolve_reshape(attrs.shape, attrs.copy_zeros, to_dims(input.dims())));
  const auto values = bound(dims);
  if (element_count(values) != input.count()) {
    return bad_data("Reshape of {} elements {} to {}", input.count(), to_string(to_dims(input.dims())),
                    to_string(dims));
  }
  ctx.outputs[0] = input.reshaped(values);
  return {};
}

std::vector<WorkedCase> reshape_cases() {
  return {
      {"merge_f32", ReshapeAttrs{{6, 4}}, {Type(DType::F32, {2, 3, 4})}},
      {"infer_i64", ReshapeAttrs{{2, -1}}, {Type(DType::I64, {4, 3})}},
      {"copy_zero_u8", ReshapeAttrs{{0, -1}, true}, {Type(DType::U8, {2, 3, 4})}},
      {"scalar_f16", ReshapeAttrs{}, {Type(DType::F16, {1, 1})}},
  };
}

Result<std::optional<Dims>> squeezed(const std::vector<int64_t>& axes, const Dims& input) {
  Dims result;
  for (size_t i = 0; i < input.size(); ++i) {
    const auto size = input[i].as_constant();
    const bool named = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (named && size && *size != 1) return violates("(C3) axis {} to squeeze has size {}, not 1", i, *size);
    if (axes.empty() && !size) return std::optional<Dims>();
    if (!named && !(axes.empty() && *size == 1)) result.push_back(input[i]);
  }
  return std::optional(std::move(result));
}

Result<void> infer_by_rule(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<ReshapeByRuleAttrs>();
  ctx.outputs[0] = Type::unranked(input.dtype);
  const auto axes = dims_field(ctx, "axes", attrs.axes);
  const auto values = axes ? as_constants(*axes) : std::nullopt;
  if (values && input.has_rank()) {
    STROP_ASSIGN(auto dims, reshape_by_rule(attrs.rule, *values, input.dims()));
    if (!dims) return {};
    if (dims->size() <= 1) ctx.known_outputs[0] = ctx.known_inputs[0];
    ctx.outputs[0] = Type(input.dtype, *std::move(dims));
    return {};
  }
  if (attrs.rule == ReshapeRule::Flatten) {
    ctx.outputs[0] = Type(input.dtype, unbacked_dims(ctx, 2));
    return {};
  }
  const auto changed = dims_field_length(ctx, "axes", attrs.axes);
  if (!changed || *changed == 0 || !input.has_rank()) return {};
  const int64_t rank = input.rank() + (attrs.rule == ReshapeRule::Unsqueeze ? *changed : -*changed);
  if (rank < 0) return violates("(C2) {} axes to squeeze of rank {}", *changed, input.rank());
  ctx.outputs[0] = Type(input.dtype, unbacked_dims(ctx, rank));
  return {};
}

Result<void> evaluate_by_rule(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<ReshapeByRuleAttrs>();
  const Tensor& input = ctx.in(0);
  STROP_ASSIGN(const auto dims, reshape_by_rule(attrs.rule, bound(attrs.axes), to_dims(input.dims())));
  ctx.outputs[0] = input.reshaped(bound(*dims));
  return {};
}

std::vector<WorkedCase> by_rule_cases() {
  return {
      {"flatten_f32", ReshapeByRuleAttrs{ReshapeRule::Flatten, {2}}, {Type(DType::F32, {2, 3, 4})}},
      {"squeeze_all_f32", ReshapeByRuleAttrs{ReshapeRule::Squeeze, {}}, {Type(DType::F32, {1, 3, 1})}},
      {"unsqueeze_i32", ReshapeByRuleAttrs{ReshapeRule::Unsqueeze, {0, -1}}, {Type(DType::I32, {3})}},
  };
}

}  // namespace

Result<Dims> resolve_reshape(const Dims& target, bool copy_zeros, const Shape& input) {
  STROP_TRY(check_sizes(target));
  Dims dims = target;
  std::optional<size_t> open;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto size = dims[i].as_constant();
    if (!size || *size > 0) continue;
    if (*size < -1) return violates("(C2) dimension {} of the target {} is {}", i, to_string(target), *size);
    if (*size == -1) {
      if (open) return violates("(C3) the target {} has more than one -1", to_string(target));
      open = i;
    } else if (copy_zeros && input) {
      if (i >= input->size()) {
        return violates("(C4) the target {} copies dimension {} of an operand of rank {}", to_string(target), i,
                        input->size());
      }
      dims[i] = (*input)[i];
    }
  }
  if (!input) return dims;
  const Dim total = product(*input);
  if (open) dims[*open] = Dim(1);
  const Dim rest = product(dims);
  const bool both_constant = total.is_constant() && rest.is_constant();
  if (!open) {
    if (both_constant && !(total == rest)) {
      return violates("(C5) {} has {} elements, the target {} has {}", to_string(*input), total.constant(),
                      to_string(target), rest.constant());
    }
    return dims;
  }
  if (rest == Dim(0))
    return violates("(C5) the -1 of {} cannot be told: the other dimensions are empty", to_string(target));
  if (both_constant && total.constant() % rest.constant() != 0) {
    return violates("(C5) {} elements of {} cannot be split into {}", total.constant(), to_string(*input),
                    to_string(target));
  }
  dims[*open] = floor_div(total, rest);
  return dims;
}

Result<std::optional<Dims>> reshape_by_rule(ReshapeRule rule, const std::vector<int64_t>& axes, const Dims& input) {
  const auto rank = static_cast<int64_t>(input.size());
  if (rule == ReshapeRule::Flatten) {
    int64_t axis = axes.size() == 1 ? axes[0] : -rank - 1;
    if (axis < -rank || axis > rank) return violates("(C1) axis {} to flatten at, rank {}", axis, rank);
    if (axis < 0) axis += rank;
    const Dims front(input.begin(), input.begin() + axis);
    const Dims back(input.begin() + axis, input.end());
    return std::optional(Dims{product(front), product(back)});
  }
  const int64_t axes_rank = rule == ReshapeRule::Unsqueeze ? rank + static_cast<int64_t>(axes.size()) : rank;
  STROP_ASSIGN(auto normal,
               normalize_axes(axes, axes_rank, rule == ReshapeRule::Squeeze ? "(C1) squeeze" : "(C1) unsqueeze"));
  if (rule == ReshapeRule::Squeeze) return squeezed(normal, input);
  Dims result = input;
  std::sort(normal.begin(), normal.end());
  for (const int64_t axis : normal) result.insert(result.begin() + axis, Dim(1));
  return std::optional(std::move(result));
}

const Operator kReshape = {
    .name = "Reshape",
    .make_attrs = [] { return Attrs(ReshapeAttrs{}); },
    .infer = infer_reshape,
    .evaluate = evaluate_reshape,
    .cases = reshape_cases,
    .is_view = true,
};

const Operator kReshapeByRule = {
    .name = "ReshapeByRule",
    .make_attrs = [] { return Attrs(ReshapeByRuleAttrs{}); },
    .infer = infer_by_rule,
    .evaluate = evaluate_by_rule,
    .cases = by_rule_cases,
    .is_view = true,
};

std::span<const Operator* const> view_operators() {
  static constexpr std::array kOperators = {&kReshape, &kReshapeByRule};
  return kOperators;
}

}  // namespace strop::ops
