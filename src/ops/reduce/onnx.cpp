#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/reduce/reduce.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<void> emit_reduce(NodeContext& ctx, ReduceAttrs attrs) {
  STROP_ASSIGN(const ValueId output, ctx.emit(kReduce, std::move(attrs), {ctx.input(0)}));
  return ctx.set_output(0, output);
}

// Axes are an attribute before opset `axes_operand_since`, an operand since.
template <ReduceKind kKind, int axes_operand_since = 18>
Result<void> import_reduce(NodeContext& ctx) {
  ReduceAttrs attrs;
  attrs.kind = kKind;
  STROP_ASSIGN(const int64_t keep_dims, ctx.attr_int("keepdims", 1));
  attrs.keep_dims = keep_dims != 0;
  if (ctx.opset() < axes_operand_since) {
    STROP_ASSIGN(const auto axes, ctx.attr_ints("axes", std::vector<int64_t>{}));
    attrs.axes = to_dims(axes);
    return emit_reduce(ctx, std::move(attrs));
  }
  STROP_ASSIGN(const int64_t none_if_empty, ctx.attr_int("noop_with_empty_axes", 0));
  attrs.all_if_empty = none_if_empty == 0;
  if (!ctx.has_input(1)) return emit_reduce(ctx, std::move(attrs));
  if (const auto axes = ctx.constant_ints(1)) {
    attrs.axes = to_dims(*axes);
    return emit_reduce(ctx, std::move(attrs));
  }
  STROP_ASSIGN(const ValueId output,
               ctx.emit(kReduce, std::move(attrs), {ctx.input(0), ctx.input(1)}, {.late = {{"axes", 1}}}));
  return ctx.set_output(0, output);
}

// All axes after batch and channels.
Result<ReduceAttrs> over_spatial(NodeContext& ctx, ReduceKind kind) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  if (!input.has_rank()) return ctx.unsupported("the rank of operand 0 must be known");
  ReduceAttrs attrs;
  attrs.kind = kind;
  attrs.all_if_empty = false;
  for (int64_t axis = 2; axis < input.rank(); ++axis) attrs.axes.push_back(Dim(axis));
  return attrs;
}

template <ReduceKind kKind>
Result<void> import_global_pool(NodeContext& ctx) {
  STROP_ASSIGN(auto attrs, over_spatial(ctx, kKind));
  return emit_reduce(ctx, std::move(attrs));
}

Result<void> import_global_lp_pool(NodeContext& ctx) {
  double p = 2;
  if (ctx.opset() < 2) {
    STROP_ASSIGN(p, ctx.attr_float("p", 2.0));
  } else {
    STROP_ASSIGN(const int64_t integer, ctx.attr_int("p", 2));
    p = static_cast<double>(integer);
  }
  STROP_ASSIGN(auto attrs, over_spatial(ctx, p == 1 ? ReduceKind::L1 : p == 2 ? ReduceKind::L2 : ReduceKind::Sum));
  if (attrs.kind == ReduceKind::Sum) {
    STROP_ASSIGN(const TensorType input, ctx.tensor(0));
    if (!is_float(input.dtype)) return ctx.invalid("operand 0 must be floating point, not {}", to_string(input.dtype));
    auto& before = attrs.prologue;
    const int32_t magnitude = before.add(Fn::Abs, {before.add_input(0, input.dtype)});
    before.outputs = {before.add(Fn::Pow, {magnitude, before.add_number(input.dtype, p)})};
    auto& after = attrs.epilogue;
    const int32_t sum = after.add_input(0, input.dtype);
    after.outputs = {after.add(Fn::Pow, {sum, after.add_number(input.dtype, 1 / p)})};
  }
  return emit_reduce(ctx, std::move(attrs));
}

}  // namespace

std::span<const onnx::Importer> reduce_importers() {
  using enum ReduceKind;
  static constexpr std::array kImporters = {
      onnx::Importer{"ReduceSum", import_reduce<Sum, 13>},
      onnx::Importer{"ReduceMean", import_reduce<Mean>},
      onnx::Importer{"ReduceMax", import_reduce<Max>},
      onnx::Importer{"ReduceMin", import_reduce<Min>},
      onnx::Importer{"ReduceProd", import_reduce<Prod>},
      onnx::Importer{"ReduceL1", import_reduce<L1>},
      onnx::Importer{"ReduceL2", import_reduce<L2>},
      onnx::Importer{"ReduceLogSum", import_reduce<LogSum>},
      onnx::Importer{"ReduceLogSumExp", import_reduce<LogSumExp>},
      onnx::Importer{"ReduceSumSquare", import_reduce<SumSquare>},
      onnx::Importer{"GlobalAveragePool", import_global_pool<Mean>},
      onnx::Importer{"GlobalMaxPool", import_global_pool<Max>},
      onnx::Importer{"GlobalLpPool", import_global_lp_pool},
  };
  return kImporters;
}

}  // namespace strop::ops
