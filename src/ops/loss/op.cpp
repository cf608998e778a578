#include <array>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/loss/loss.h"

namespace strop::ops {
namespace {

Result<void> infer_loss(InferContext& ctx) {
  STROP_ASSIGN(const TensorType scores, ctx.tensor(0));
  STROP_ASSIGN(const TensorType targets, ctx.tensor(1));
  // (C1) floats and classes.
  if (!is_float(scores.dtype) || !is_integer(targets.dtype)) {
    return violates("(C1) log probabilities {} with targets {}", to_string(scores), to_string(targets));
  }
  // (C2) ranks.
  if (scores.has_rank() && (scores.rank() < 2 || (targets.has_rank() && targets.rank() != scores.rank() - 1))) {
    return violates("(C2) log probabilities {} with targets {}", to_string(scores), to_string(targets));
  }
  if (ctx.has_input(2)) {
    STROP_ASSIGN(const TensorType weights, ctx.tensor(2));
    // (C3) one weight per class.
    const bool fits = weights.dtype == scores.dtype && (!weights.has_rank() || weights.rank() == 1);
    if (!fits) return violates("(C3) weights {} for log probabilities {}", to_string(weights), to_string(scores));
  }
  if (ctx.attrs.as<NegativeLogLikelihoodAttrs>().reduction != LossReduction::None) {
    ctx.outputs[0] = Type(scores.dtype, {});
  } else {
    ctx.outputs[0] = TensorType{scores.dtype, targets.shape, {}};
  }
  return {};
}

Result<void> evaluate_loss(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<NegativeLogLikelihoodAttrs>();
  const Tensor& scores = ctx.in(0);
  const int64_t classes = scores.dim(1);
  const int64_t rest = count_between(scores.dims(), 2, scores.rank());
  const std::vector<double> values = load_f64(scores);
  const std::vector<int64_t> targets = load_i64(ctx.in(1));
  if (std::ssize(targets) != scores.dim(0) * rest) {
    return bad_data("loss: targets {} for log probabilities {}", to_string(ctx.in(1).type()), to_string(scores.type()));
  }
  const auto weights = ctx.has_input(2) ? load_f64(ctx.in(2)) : std::vector<double>(static_cast<size_t>(classes), 1.0);
  if (std::ssize(weights) != classes) return bad_data("loss: {} weights for {} classes", weights.size(), classes);
  std::vector<double> losses(targets.size());
  double total = 0, total_weight = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (attrs.has_ignored && targets[i] == attrs.ignored_class) continue;
    if (targets[i] < 0 || targets[i] >= classes)
      return bad_data("loss: target {} is outside [0, {})", targets[i], classes);
    const auto at = static_cast<int64_t>(i);
    const double weight = weights[static_cast<size_t>(targets[i])];
    losses[i] = -weight * values[static_cast<size_t>((at / rest * classes + targets[i]) * rest + at % rest)];
    total += losses[i];
    total_weight += weight;
  }
  switch (attrs.reduction) {
    case LossReduction::None: ctx.outputs[0] = store_f64(scores.dtype(), ctx.in(1).dims(), losses); break;
    case LossReduction::Mean: ctx.outputs[0] = Tensor::scalar(scores.dtype(), total / total_weight); break;
    case LossReduction::Sum: ctx.outputs[0] = Tensor::scalar(scores.dtype(), total); break;
  }
  return {};
}

std::vector<WorkedCase> loss_cases() {
  const Tensor targets = Tensor::of_i64({1, 4, 0, 2});
  const std::vector<Type> types = {Type(DType::F32, {4, 5}), Type(DType::I64, {4}), Type(DType::F32, {5})};
  std::vector<WorkedCase> cases;
  for (const auto reduction : {LossReduction::None, LossReduction::Mean, LossReduction::Sum}) {
    const NegativeLogLikelihoodAttrs attrs{reduction, true, 4};
    cases.push_back({std::string(kEnumNames<LossReduction>[static_cast<size_t>(reduction)]) + "_f32",
                     attrs,
                     types,
                     1,
                     {{1, targets}},
                     true});
  }
  return cases;
}

}  // namespace

const Operator kNegativeLogLikelihood = {
    .name = "NegativeLogLikelihood",
    .make_attrs = [] { return Attrs(NegativeLogLikelihoodAttrs{}); },
    .infer = infer_loss,
    .evaluate = evaluate_loss,
    .cases = loss_cases,
};

std::span<const Operator* const> loss_operators() {
  static constexpr std::array kOperators = {&kNegativeLogLikelihood};
  return kOperators;
}

}  // namespace strop::ops
