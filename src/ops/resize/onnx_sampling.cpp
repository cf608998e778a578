#include "ops/resize/onnx_sampling.h"

#include <algorithm>

#include "ops/resize/resize.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

struct Operands {
  std::vector<ValueId> values;
  onnx::EmitExtras extras;

  // The operand's integers as the field's value if they are known, else as a late operand.
  void take(NodeContext& ctx, size_t index, std::string_view name, Dims& target) {
    if (auto known = ctx.known(index)) {
      target = *std::move(known);
      return;
    }
    extras.late.push_back({std::string(name), static_cast<int32_t>(values.size())});
    values.push_back(ctx.input(index));
  }
};

}  // namespace

// Opset 16 says bilinear and bicubic, 20 and later linear and cubic.
Result<void> import_grid_sample(NodeContext& ctx) {
  GridSampleAttrs attrs;
  STROP_ASSIGN(const std::string mode, ctx.attr_string("mode", "linear"));
  if (mode == "nearest") {
    attrs.mode = ResizeMode::Nearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    attrs.mode = ResizeMode::Cubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return ctx.invalid("mode '{}' is none of linear, nearest, cubic", mode);
  }
  STROP_ASSIGN(const std::string padding, ctx.attr_string("padding_mode", "zeros"));
  const auto& names = kEnumNames<GridPadding>;
  const auto it = std::find(names.begin(), names.end(), padding);
  if (it == names.end()) return ctx.invalid("padding_mode '{}' is none of zeros, border, reflection", padding);
  attrs.padding = static_cast<GridPadding>(it - names.begin());
  STROP_ASSIGN(const int64_t align_corners, ctx.attr_int("align_corners", 0));
  attrs.align_corners = align_corners != 0;
  STROP_ASSIGN(const ValueId result, ctx.emit(kGridSample, attrs, {ctx.input(0), ctx.input(1)}));
  return ctx.set_output(0, result);
}

Result<void> import_affine_grid(NodeContext& ctx) {
  AffineGridAttrs attrs;
  STROP_ASSIGN(const int64_t align_corners, ctx.attr_int("align_corners", 0));
  attrs.align_corners = align_corners != 0;
  if (!ctx.has_input(1)) return ctx.invalid("the size is missing");
  Operands operands{{ctx.input(0)}, {}};
  operands.take(ctx, 1, "size", attrs.size);
  STROP_ASSIGN(const ValueId result,
               ctx.emit(kAffineGrid, std::move(attrs), std::move(operands.values), std::move(operands.extras)));
  return ctx.set_output(0, result);
}

Result<void> import_col2im(NodeContext& ctx) {
  Col2ImAttrs attrs;
  STROP_ASSIGN(attrs.strides, ctx.attr_ints("strides", std::vector<int64_t>{}));
  STROP_ASSIGN(attrs.dilations, ctx.attr_ints("dilations", std::vector<int64_t>{}));
  STROP_ASSIGN(attrs.pads, ctx.attr_ints("pads", std::vector<int64_t>{}));
  if (!ctx.has_input(1) || !ctx.has_input(2)) return ctx.invalid("the image's or the block's shape is missing");
  Operands operands{{ctx.input(0)}, {}};
  operands.take(ctx, 1, "image", attrs.image);
  operands.take(ctx, 2, "block", attrs.block);
  STROP_ASSIGN(const ValueId result,
               ctx.emit(kCol2Im, std::move(attrs), std::move(operands.values), std::move(operands.extras)));
  return ctx.set_output(0, result);
}

Result<void> import_deform_conv(NodeContext& ctx) {
  DeformConvAttrs attrs;
  STROP_ASSIGN(attrs.strides, ctx.attr_ints("strides", std::vector<int64_t>{1, 1}));
  STROP_ASSIGN(attrs.dilations, ctx.attr_ints("dilations", std::vector<int64_t>{1, 1}));
  STROP_ASSIGN(attrs.pads, ctx.attr_ints("pads", std::vector<int64_t>{0, 0, 0, 0}));
  STROP_ASSIGN(attrs.group, ctx.attr_int("group", 1));
  STROP_ASSIGN(attrs.offset_group, ctx.attr_int("offset_group", 1));
  std::vector<ValueId> operands;
  for (size_t i = 0; i < 5; ++i) operands.push_back(ctx.input(i));
  STROP_ASSIGN(const ValueId result, ctx.emit(kDeformConv, std::move(attrs), std::move(operands)));
  return ctx.set_output(0, result);
}

}  // namespace strop::ops
