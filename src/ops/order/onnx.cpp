#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/order/order.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// k is an attribute before opset 10, an operand since.
Result<void> import_top_k(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", -1));
  STROP_ASSIGN(const int64_t largest, ctx.attr_int("largest", 1));
  TopKAttrs attrs{axis, largest != 0, {}};
  std::vector<ValueId> operands = {ctx.input(0)};
  onnx::EmitExtras extras;
  if (ctx.opset() < 10) {
    STROP_ASSIGN(const int64_t k, ctx.attr_int("k"));
    attrs.k = Dim(k);
  } else if (const auto k = ctx.known(1); k && k->size() == 1) {
    attrs.k = k->front();
  } else {
    operands.push_back(ctx.input(1));
    extras.late.push_back({"k", 1});
  }
  STROP_ASSIGN(const auto outputs, ctx.emit_many(kTopK, std::move(attrs), std::move(operands), 2, std::move(extras)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!ctx.wants_output(i)) continue;
    STROP_TRY(ctx.set_output(i, outputs[i]));
  }
  return {};
}

Result<void> import_arg(NodeContext& ctx, const Operator& op) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", 0));
  STROP_ASSIGN(const int64_t keep_dims, ctx.attr_int("keepdims", 1));
  STROP_ASSIGN(const int64_t select_last, ctx.attr_int("select_last_index", 0));
  STROP_ASSIGN(const ValueId output, ctx.emit(op, ArgAttrs{axis, keep_dims != 0, select_last != 0}, {ctx.input(0)}));
  return ctx.set_output(0, output);
}

Result<void> import_arg_max(NodeContext& ctx) { return import_arg(ctx, kArgMax); }
Result<void> import_arg_min(NodeContext& ctx) { return import_arg(ctx, kArgMin); }

Result<void> import_cumulative(NodeContext& ctx, const Operator& op) {
  STROP_ASSIGN(const int64_t exclusive, ctx.attr_int("exclusive", 0));
  STROP_ASSIGN(const int64_t reverse, ctx.attr_int("reverse", 0));
  CumulativeAttrs attrs{0, exclusive != 0, reverse != 0};
  std::vector<ValueId> operands = {ctx.input(0)};
  onnx::EmitExtras extras;
  if (const auto axis = ctx.constant_ints(1); axis && axis->size() == 1) {
    attrs.axis = axis->front();
  } else {
    operands.push_back(ctx.input(1));
    extras.late.push_back({"axis", 1});
  }
  STROP_ASSIGN(const ValueId output, ctx.emit(op, attrs, std::move(operands), std::move(extras)));
  return ctx.set_output(0, output);
}

Result<void> import_cum_sum(NodeContext& ctx) { return import_cumulative(ctx, kCumSum); }
Result<void> import_cum_prod(NodeContext& ctx) { return import_cumulative(ctx, kCumProd); }

Result<void> import_trilu(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t upper, ctx.attr_int("upper", 1));
  TriluAttrs attrs{upper != 0, {}};
  std::vector<ValueId> operands = {ctx.input(0)};
  onnx::EmitExtras extras;
  if (ctx.has_input(1)) {
    if (const auto k = ctx.known(1); k && k->size() == 1) {
      attrs.k = k->front();
    } else {
      operands.push_back(ctx.input(1));
      extras.late.push_back({"k", 1});
    }
  }
  STROP_ASSIGN(const ValueId output, ctx.emit(kTrilu, std::move(attrs), std::move(operands), std::move(extras)));
  return ctx.set_output(0, output);
}

Result<void> import_reverse_sequence(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t batch_axis, ctx.attr_int("batch_axis", 1));
  STROP_ASSIGN(const int64_t time_axis, ctx.attr_int("time_axis", 0));
  STROP_ASSIGN(const ValueId output,
               ctx.emit(kReverseSequence, ReverseSequenceAttrs{batch_axis, time_axis}, {ctx.input(0), ctx.input(1)}));
  return ctx.set_output(0, output);
}

}  // namespace

std::span<const onnx::Importer> order_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"TopK", import_top_k},
      onnx::Importer{"ArgMax", import_arg_max},
      onnx::Importer{"ArgMin", import_arg_min},
      onnx::Importer{"CumSum", import_cum_sum, 11},
      onnx::Importer{"CumProd", import_cum_prod, 26},
      onnx::Importer{"Trilu", import_trilu, 14},
      onnx::Importer{"ReverseSequence", import_reverse_sequence, 10},
  };
  return kImporters;
}

}  // namespace strop::ops
