#include <cmath>

#include "ops/quantize/quantize.h"

namespace strop::ops {
namespace {

Result<void> infer_dynamic(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (x.dtype != DType::F32)
    return error(ErrorCode::InvalidModel, "(C1) an operand of {}, not f32", to_string(x.dtype));
  ctx.outputs[0] = TensorType{DType::U8, x.shape, {}};
  if (ctx.wants_output(1)) ctx.outputs[1] = Type(DType::F32, {});
  if (ctx.wants_output(2)) ctx.outputs[2] = Type(DType::U8, {});
  return {};
}

Result<void> evaluate_dynamic(EvalContext& ctx) {
  const auto x = ctx.in(0).span<float>();
  float minimum = 0;
  float maximum = 0;
  for (const float value : x) {
    minimum = value < minimum ? value : minimum;
    maximum = value > maximum ? value : maximum;
  }
  const DynamicScale found = dynamic_scale(minimum, maximum);
  Tensor result(DType::U8, ctx.in(0).dims());
  auto* out = result.mutable_data<uint8_t>();
  for (size_t i = 0; i < x.size(); ++i) {
    const float quotient = x[i] / found.scale;
    const float whole = std::isnan(quotient) ? 0.0f : std::nearbyint(quotient);
    out[i] = static_cast<uint8_t>(std::clamp(whole + static_cast<float>(found.zero_point), 0.0f, 255.0f));
  }
  ctx.outputs[0] = std::move(result);
  if (ctx.wants(1)) ctx.outputs[1] = Tensor::scalar(DType::F32, static_cast<double>(found.scale));
  if (ctx.wants(2)) ctx.outputs[2] = Tensor::scalar(DType::U8, found.zero_point);
  return {};
}

std::vector<WorkedCase> dynamic_cases() {
  return {
      {"matrix", NoAttrs{}, {Type(DType::F32, {7, 45})}, 3},
      {"positive", NoAttrs{}, {Type(DType::F32, {130})}, 3, {}, true},
      {"zeros", NoAttrs{}, {Type(DType::F32, {4})}, 3, {{0, Tensor(DType::F32, {4})}}},
      {"nothing", NoAttrs{}, {Type(DType::F32, {0, 3})}, 3},
  };
}

}  // namespace

DynamicScale dynamic_scale(float minimum, float maximum) {
  const float range = maximum - minimum;
  if (!(range > 0)) return {};
  const float scale = range / 255.0f;
  if (!(scale > 0)) return {};
  const float zero = -minimum / scale;  // NaN if the range is infinite
  return {scale, static_cast<uint8_t>(zero > 0 ? std::nearbyint(std::min(zero, 255.0f)) : 0.0f)};
}

const Operator kDynamicQuantizeLinear = {
    .name = "DynamicQuantizeLinear",
    .infer = infer_dynamic,
    .evaluate = evaluate_dynamic,
    .cases = dynamic_cases,
};

}  // namespace strop::ops
