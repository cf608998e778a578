#include <array>

#include "ops/dropout/dropout.h"
#include "ops/families.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

constexpr size_t kRatio = 1, kTraining = 2;

Result<void> infer_dropout(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  // (C1) floats, and a bool that tells the mode.
  if (!is_float(x.dtype)) return violates("(C1) cannot drop elements of {}", to_string(x));
  if (ctx.has_input(kTraining)) {
    STROP_ASSIGN(const TensorType training, ctx.tensor(kTraining));
    if (training.dtype != DType::Bool) return violates("(C1) training_mode is {}, not bool", to_string(training));
  }
  ctx.outputs[0] = x;
  if (ctx.wants_output(1)) ctx.outputs[1] = TensorType{DType::Bool, x.shape, {}};
  return {};
}

Result<void> evaluate_dropout(EvalContext& ctx) {
  const Tensor& x = ctx.in(0);
  const auto only = [&](size_t index, double fallback) {
    return ctx.has_input(index) && ctx.in(index).count() > 0 ? load_f64(ctx.in(index)).front() : fallback;
  };
  if (only(kTraining, 0) != 0 && only(kRatio, 0.5) != 0) {
    return bad_data("Dropout: training_mode is true, but engines only infer; give false, or a ratio of 0");
  }
  ctx.outputs[0] = x;
  if (ctx.wants(1)) {
    ctx.outputs[1] = store_i64(DType::Bool, x.dims(), std::vector<int64_t>(static_cast<size_t>(x.count()), 1));
  }
  return {};
}

std::vector<WorkedCase> dropout_cases() {
  return {{"infers_f32", NoAttrs{}, {Type(DType::F32, {3, 5}), Type(DType::F32, {}), Type(DType::Bool, {})}, 2,
           {{2, Tensor(DType::Bool, {})}}}};
}

}  // namespace

const Operator kDropout = {
    .name = "Dropout",
    .infer = infer_dropout,
    .evaluate = evaluate_dropout,
    .cases = dropout_cases,
};

std::span<const Operator* const> dropout_operators() {
  static constexpr std::array kOperators = {&kDropout};
  return kOperators;
}

}  // namespace strop::ops
