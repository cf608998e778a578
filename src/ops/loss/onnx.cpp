#include <algorithm>
#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/loss/loss.h"
#include "ops/softmax/softmax.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<ValueId> emit_loss(NodeContext& ctx, ValueId log_probabilities) {
  NegativeLogLikelihoodAttrs attrs;
  STROP_ASSIGN(const std::string reduction, ctx.attr_string("reduction", "mean"));
  const auto& names = kEnumNames<LossReduction>;
  const auto it = std::find(names.begin(), names.end(), reduction);
  if (it == names.end()) return ctx.invalid("reduction '{}' is none of none, mean, sum", reduction);
  attrs.reduction = static_cast<LossReduction>(it - names.begin());
  attrs.has_ignored = ctx.has_attr("ignore_index");
  STROP_ASSIGN(attrs.ignored_class, ctx.attr_int("ignore_index", 0));
  return ctx.emit(kNegativeLogLikelihood, attrs, {log_probabilities, ctx.input(1), ctx.input(2)});
}

Result<void> import_negative_log_likelihood(NodeContext& ctx) {
  STROP_ASSIGN(const ValueId loss, emit_loss(ctx, ctx.input(0)));
  return ctx.set_output(0, loss);
}

Result<void> import_softmax_cross_entropy(NodeContext& ctx) {
  SoftmaxAttrs softmax;
  softmax.kind = SoftmaxKind::LogSoftmax;
  softmax.axis = 1;
  STROP_ASSIGN(const ValueId log_probabilities, ctx.emit(kSoftmax, std::move(softmax), {ctx.input(0)}));
  STROP_ASSIGN(const ValueId loss, emit_loss(ctx, log_probabilities));
  STROP_TRY(ctx.set_output(0, loss));
  if (!ctx.wants_output(1)) return {};
  return ctx.set_output(1, log_probabilities);
}

}  // namespace

std::span<const onnx::Importer> loss_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"NegativeLogLikelihoodLoss", import_negative_log_likelihood, 12},
      onnx::Importer{"SoftmaxCrossEntropyLoss", import_softmax_cross_entropy, 12},
  };
  return kImporters;
}

}  // namespace strop::ops
