#include <array>

#include "onnx/importer.h"
#include "ops/conv/onnx_window.h"
#include "ops/families.h"
#include "ops/pool/pool.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<PoolAttrs> pool_window(NodeContext& ctx, PoolKind kind) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const auto kernel, ctx.attr_ints("kernel_shape"));
  STROP_ASSIGN(WindowAttrs window, import_window(ctx, kernel.size(), kernel));
  if (window.auto_pad.starts_with("SAME")) {
    if (!x.has_rank()) return ctx.unsupported("SAME padding of an operand of unknown rank");
    if (x.dims().size() != kernel.size() + 2)
      return ctx.invalid("kernel_shape has {} entries for {}", kernel.size(), to_string(x));
    resolve_same_padding(window, Dims(x.dims().begin() + 2, x.dims().end()));
  }
  STROP_ASSIGN(const int64_t ceil_mode, ctx.attr_int("ceil_mode", 0));
  PoolAttrs attrs;
  attrs.kind = kind;
  attrs.kernel = window.kernel;
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  attrs.ceil_mode = ceil_mode != 0;
  return attrs;
}

Result<void> import_max_pool(NodeContext& ctx) {
  STROP_ASSIGN(PoolAttrs attrs, pool_window(ctx, PoolKind::Max));
  STROP_ASSIGN(const int64_t storage_order, ctx.attr_int("storage_order", 0));
  attrs.column_major_indices = storage_order != 0;
  const size_t outputs = ctx.wants_output(1) ? 2 : 1;
  STROP_ASSIGN(const auto results, ctx.emit_many(kPool, std::move(attrs), {ctx.input(0)}, outputs));
  return ctx.set_outputs(results);
}

Result<void> import_average_pool(NodeContext& ctx) {
  STROP_ASSIGN(PoolAttrs attrs, pool_window(ctx, PoolKind::Average));
  STROP_ASSIGN(const int64_t count_include_pad, ctx.attr_int("count_include_pad", 0));
  attrs.count_include_pad = count_include_pad != 0;
  STROP_ASSIGN(const ValueId result, ctx.emit(kPool, std::move(attrs), {ctx.input(0)}));
  return ctx.set_output(0, result);
}

// p is a float in opset 1, an integer since.
Result<void> import_lp_pool(NodeContext& ctx) {
  STROP_ASSIGN(PoolAttrs attrs, pool_window(ctx, PoolKind::Lp));
  if (ctx.opset() < 2) {
    STROP_ASSIGN(attrs.p, ctx.attr_float("p", 2.0));
  } else {
    STROP_ASSIGN(const int64_t p, ctx.attr_int("p", 2));
    attrs.p = static_cast<double>(p);
  }
  STROP_ASSIGN(const ValueId result, ctx.emit(kPool, std::move(attrs), {ctx.input(0)}));
  return ctx.set_output(0, result);
}

Result<void> import_max_unpool(NodeContext& ctx) {
  MaxUnpoolAttrs attrs;
  STROP_ASSIGN(attrs.kernel, ctx.attr_ints("kernel_shape"));
  STROP_ASSIGN(attrs.strides, ctx.attr_ints("strides", std::vector<int64_t>(attrs.kernel.size(), 1)));
  STROP_ASSIGN(attrs.pads, ctx.attr_ints("pads", std::vector<int64_t>(2 * attrs.kernel.size(), 0)));
  std::vector<ValueId> operands = {ctx.input(0), ctx.input(1)};
  onnx::EmitExtras extras;
  if (ctx.has_input(2)) {
    if (auto shape = ctx.known(2)) {
      attrs.output_shape = *std::move(shape);
    } else {
      extras.late.push_back({"output_shape", 2});
      operands.push_back(ctx.input(2));
    }
  }
  STROP_ASSIGN(const ValueId result, ctx.emit(kMaxUnpool, std::move(attrs), std::move(operands), std::move(extras)));
  return ctx.set_output(0, result);
}

Result<void> import_max_roi_pool(NodeContext& ctx) {
  MaxRoiPoolAttrs attrs;
  STROP_ASSIGN(const auto pooled, ctx.attr_ints("pooled_shape"));
  if (pooled.size() != 2) return ctx.invalid("pooled_shape has {} entries, not 2", pooled.size());
  attrs.height = pooled[0];
  attrs.width = pooled[1];
  STROP_ASSIGN(attrs.spatial_scale, ctx.attr_float("spatial_scale", 1.0));
  STROP_ASSIGN(const ValueId result, ctx.emit(kMaxRoiPool, attrs, {ctx.input(0), ctx.input(1)}));
  return ctx.set_output(0, result);
}

// Before opset 16 coordinates are as output_half_pixel has them.
Result<void> import_roi_align(NodeContext& ctx) {
  RoiAlignAttrs attrs;
  STROP_ASSIGN(const std::string mode, ctx.attr_string("mode", "avg"));
  if (mode != "avg" && mode != "max") return ctx.invalid("mode '{}' is neither avg nor max", mode);
  attrs.mode = mode == "max" ? RoiAlignMode::Max : RoiAlignMode::Average;
  STROP_ASSIGN(attrs.height, ctx.attr_int("output_height", 1));
  STROP_ASSIGN(attrs.width, ctx.attr_int("output_width", 1));
  STROP_ASSIGN(attrs.sampling_ratio, ctx.attr_int("sampling_ratio", 0));
  STROP_ASSIGN(attrs.spatial_scale, ctx.attr_float("spatial_scale", 1.0));
  attrs.half_pixel = false;
  if (ctx.opset() >= 16) {
    STROP_ASSIGN(const std::string coordinates, ctx.attr_string("coordinate_transformation_mode", "half_pixel"));
    if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
      return ctx.invalid("coordinate_transformation_mode '{}' is neither half_pixel nor output_half_pixel",
                         coordinates);
    }
    attrs.half_pixel = coordinates == "half_pixel";
  }
  STROP_ASSIGN(const ValueId result, ctx.emit(kRoiAlign, attrs, {ctx.input(0), ctx.input(1), ctx.input(2)}));
  return ctx.set_output(0, result);
}

}  // namespace

std::span<const onnx::Importer> pool_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"MaxPool", import_max_pool},        onnx::Importer{"AveragePool", import_average_pool},
      onnx::Importer{"LpPool", import_lp_pool},          onnx::Importer{"MaxUnpool", import_max_unpool, 9},
      onnx::Importer{"MaxRoiPool", import_max_roi_pool}, onnx::Importer{"RoiAlign", import_roi_align, 10},
  };
  return kImporters;
}

}  // namespace strop::ops
