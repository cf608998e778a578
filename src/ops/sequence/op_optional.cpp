#include "ops/late.h"
#include "ops/sequence/sequence.h"

namespace strop::ops {
namespace {

Result<void> infer_optional(InferContext& ctx) {
  const Type element = ctx.has_input(0) ? ctx.inputs[0] : ctx.attrs.as<OptionalAttrs>().element;
  const bool fits = element.is_tensor() || element.kind == TypeKind::Sequence;
  if (!fits) return violates("(C1) an optional of {}", to_string(element));
  ctx.outputs[0] = Type::optional(element);
  return {};
}

Result<void> evaluate_optional(EvalContext& ctx) {
  OptionalValue optional{ctx.attrs.as<OptionalAttrs>().element, nullptr};
  if (ctx.has_input(0)) {
    optional.element = ctx.inputs[0].type();
    optional.held = std::make_shared<Value>(ctx.inputs[0]);
  }
  ctx.outputs[0] = std::move(optional);
  return {};
}

Result<void> infer_get(InferContext& ctx) {
  if (!ctx.has_input(0)) return violates("(C1) the operand is missing");
  const Type& type = ctx.inputs[0];
  ctx.outputs[0] = type.kind == TypeKind::Optional ? *type.element : type;
  return {};
}

Result<void> evaluate_get(EvalContext& ctx) {
  if (!ctx.inputs[0].is_optional()) {
    ctx.outputs[0] = ctx.inputs[0];
    return {};
  }
  const OptionalValue& optional = ctx.inputs[0].optional();
  if (!optional.held) return bad_data("OptionalGetElement: the optional is empty");
  ctx.outputs[0] = *optional.held;
  return {};
}

Result<void> infer_has(InferContext& ctx) {
  ctx.outputs[0] = Type(DType::Bool, {});
  return {};
}

Result<void> evaluate_has(EvalContext& ctx) {
  const bool has = ctx.has_input(0) && (!ctx.inputs[0].is_optional() || ctx.inputs[0].optional().held != nullptr);
  ctx.outputs[0] = Tensor::scalar(DType::Bool, has ? 1 : 0);
  return {};
}

}  // namespace

const Operator kOptional = {
    .name = "Optional",
    .make_attrs = [] { return Attrs(OptionalAttrs{}); },
    .infer = infer_optional,
    .evaluate = evaluate_optional,
};
const Operator kOptionalGetElement = {.name = "OptionalGetElement", .infer = infer_get, .evaluate = evaluate_get};
const Operator kOptionalHasElement = {.name = "OptionalHasElement", .infer = infer_has, .evaluate = evaluate_has};

}  // namespace strop::ops
