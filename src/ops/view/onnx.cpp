#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<void> finish(NodeContext& ctx, Result<ValueId> value) {
  if (!value.ok()) return value.error();
  return ctx.set_output(0, *value);
}

Result<void> emit_reshape(NodeContext& ctx, Dims shape, bool copy_zeros = false) {
  return finish(ctx, ctx.emit(kReshape, ReshapeAttrs{std::move(shape), copy_zeros}, {ctx.input(0)}));
}

Result<void> import_reshape(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  bool copy_zeros = true;
  std::optional<Dims> target;
  if (ctx.opset() < 5) {
    STROP_ASSIGN(const auto values, ctx.attr_ints("shape"));
    target = to_dims(values);
  } else {
    STROP_ASSIGN(const int64_t allow_zero, ctx.attr_int("allowzero", 0));
    copy_zeros = allow_zero == 0;
    target = ctx.known(1);
  }
  if (!target) {
    return finish(
        ctx, ctx.emit(kReshape, ReshapeAttrs{{}, copy_zeros}, {ctx.input(0), ctx.input(1)}, {.late = {{"shape", 1}}}));
  }
  const auto resolved = resolve_reshape(*target, copy_zeros, input.shape);
  if (!resolved.ok()) return ctx.node_error(resolved.error().code, resolved.error().message);
  // With the operand's rank known, no zero is left to be copied: one that remains means an empty dimension.
  return emit_reshape(ctx, *resolved, copy_zeros && !input.has_rank());
}

Result<void> import_by_rule(NodeContext& ctx, ReshapeRule rule, const std::vector<int64_t>& axes) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  if (input.has_rank()) {
    const auto dims = reshape_by_rule(rule, axes, input.dims());
    if (!dims.ok()) return ctx.node_error(dims.error().code, dims.error().message);
    if (*dims) return emit_reshape(ctx, **dims);
  }
  return finish(ctx, ctx.emit(kReshapeByRule, ReshapeByRuleAttrs{rule, to_dims(axes)}, {ctx.input(0)}));
}

Result<void> import_flatten(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", 1));
  return import_by_rule(ctx, ReshapeRule::Flatten, {axis});
}

// Squeeze and Unsqueeze: axes are an attribute before opset 13, an operand since.
Result<void> import_with_axes(NodeContext& ctx, ReshapeRule rule) {
  if (ctx.opset() < 13) {
    const bool required = rule == ReshapeRule::Unsqueeze;
    STROP_ASSIGN(const auto axes,
                 ctx.attr_ints("axes", required ? std::nullopt : std::optional<std::vector<int64_t>>{std::in_place}));
    return import_by_rule(ctx, rule, axes);
  }
  if (!ctx.has_input(1)) return import_by_rule(ctx, rule, {});
  if (const auto axes = ctx.constant_ints(1)) return import_by_rule(ctx, rule, *axes);
  return finish(ctx, ctx.emit(kReshapeByRule, ReshapeByRuleAttrs{rule, {}}, {ctx.input(0), ctx.input(1)},
                              {.late = {{"axes", 1}}}));
}

Result<void> import_squeeze(NodeContext& ctx) { return import_with_axes(ctx, ReshapeRule::Squeeze); }
Result<void> import_unsqueeze(NodeContext& ctx) { return import_with_axes(ctx, ReshapeRule::Unsqueeze); }
Result<void> import_identity(NodeContext& ctx) { return ctx.set_output(0, ctx.input(0)); }

}  // namespace

std::span<const onnx::Importer> view_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Reshape", import_reshape},   onnx::Importer{"Flatten", import_flatten},
      onnx::Importer{"Squeeze", import_squeeze},   onnx::Importer{"Unsqueeze", import_unsqueeze},
      onnx::Importer{"Identity", import_identity},
  };
  return kImporters;
}

}  // namespace strop::ops
