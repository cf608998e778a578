#include <array>

#include "onnx/importer.h"
#include "ops/conv/conv.h"
#include "ops/conv/onnx_window.h"
#include "ops/families.h"

namespace strop::ops {

Result<WindowAttrs> import_window(onnx::NodeContext& ctx, size_t spatial, const std::vector<int64_t>& kernel) {
  WindowAttrs window;
  const std::vector<int64_t> ones(spatial, 1);
  window.kernel = kernel;
  STROP_ASSIGN(window.strides, ctx.attr_ints("strides", ones));
  STROP_ASSIGN(window.dilations, ctx.attr_ints("dilations", ones));
  STROP_ASSIGN(window.auto_pad, ctx.attr_string("auto_pad", "NOTSET"));
  STROP_ASSIGN(const auto pads, ctx.attr_ints("pads", std::vector<int64_t>(2 * spatial, 0)));
  window.pads = to_dims(pads);
  const auto fits = [&](const std::vector<int64_t>& values) { return values.size() == spatial; };
  if (!fits(window.kernel) || !fits(window.strides) || !fits(window.dilations) || window.pads.size() != 2 * spatial) {
    return ctx.invalid("kernel_shape, strides, dilations and pads must have {0}, {0}, {0} and {1} entries", spatial,
                       2 * spatial);
  }
  for (size_t i = 0; i < spatial; ++i) {
    if (window.kernel[i] < 1 || window.strides[i] < 1 || window.dilations[i] < 1)
      return ctx.invalid("kernel_shape, strides and dilations must be at least 1");
  }
  const bool known = window.auto_pad == "NOTSET" || window.auto_pad == "VALID" || window.auto_pad == "SAME_UPPER" ||
                     window.auto_pad == "SAME_LOWER";
  if (!known) return ctx.invalid("auto_pad '{}' is not one of NOTSET, VALID, SAME_UPPER, SAME_LOWER", window.auto_pad);
  if (window.auto_pad == "VALID") window.pads.assign(2 * spatial, Dim(0));
  return window;
}

void resolve_same_padding(WindowAttrs& window, const Dims& spatial_dims) {
  if (!window.auto_pad.starts_with("SAME")) return;
  const size_t spatial = spatial_dims.size();
  for (size_t i = 0; i < spatial; ++i) {
    const Dim stride(window.strides[i]);
    const Dim reach((window.kernel[i] - 1) * window.dilations[i] + 1);
    const Dim total = max((ceil_div(spatial_dims[i], stride) - Dim(1)) * stride + reach - spatial_dims[i], Dim(0));
    const Dim less = floor_div(total, Dim(2));
    const bool upper = window.auto_pad == "SAME_UPPER";
    window.pads[i] = upper ? less : total - less;
    window.pads[spatial + i] = upper ? total - less : less;
  }
}

namespace {

using ir::ValueId;
using onnx::NodeContext;

struct Operands {
  TensorType x, w;
  size_t spatial = 0;
  std::vector<int64_t> kernel;
};

Result<Operands> operands(NodeContext& ctx) {
  Operands found;
  STROP_ASSIGN(found.x, ctx.tensor(0));
  STROP_ASSIGN(found.w, ctx.tensor(1));
  if (!found.w.has_rank()) return ctx.unsupported("the rank of the weights is not known");
  if (found.w.rank() < 3 || found.w.rank() > 5)
    return ctx.unsupported("weights of rank {}: 1 to 3 spatial axes are supported", found.w.rank());
  if (found.x.has_rank() && found.x.rank() != found.w.rank())
    return ctx.invalid("the operand has rank {}, the weights {}", found.x.rank(), found.w.rank());
  found.spatial = static_cast<size_t>(found.w.rank()) - 2;
  std::vector<int64_t> from_weights;
  for (size_t i = 0; i < found.spatial; ++i) {
    const auto size = found.w.dims()[2 + i].as_constant();
    if (size) from_weights.push_back(*size);
  }
  STROP_ASSIGN(found.kernel, ctx.attr_ints("kernel_shape", from_weights));
  if (from_weights.size() == found.spatial && found.kernel != from_weights)
    return ctx.invalid("kernel_shape does not match the weights");
  return found;
}

ConvAttrs conv_attrs(const WindowAttrs& window, int64_t group) {
  ConvAttrs attrs;
  attrs.strides = window.strides;
  attrs.dilations = window.dilations;
  attrs.pads = window.pads;
  attrs.group = group;
  attrs.output_padding.assign(window.strides.size(), 0);
  return attrs;
}

Result<void> import_conv(NodeContext& ctx) {
  STROP_ASSIGN(const Operands found, operands(ctx));
  STROP_ASSIGN(WindowAttrs window, import_window(ctx, found.spatial, found.kernel));
  if (window.auto_pad.starts_with("SAME")) {
    if (!found.x.has_rank()) return ctx.unsupported("SAME padding of an operand of unknown rank");
    resolve_same_padding(window, Dims(found.x.dims().begin() + 2, found.x.dims().end()));
  }
  STROP_ASSIGN(const int64_t group, ctx.attr_int("group", 1));
  STROP_ASSIGN(const ValueId result,
               ctx.emit(kConv, conv_attrs(window, group), {ctx.input(0), ctx.input(1), ctx.input(2)}));
  return ctx.set_output(0, result);
}

// ConvTranspose: output_shape, when given, decides the padding.
Result<void> import_conv_transpose(NodeContext& ctx) {
  STROP_ASSIGN(const Operands found, operands(ctx));
  STROP_ASSIGN(const WindowAttrs window, import_window(ctx, found.spatial, found.kernel));
  STROP_ASSIGN(const int64_t group, ctx.attr_int("group", 1));
  ConvAttrs attrs = conv_attrs(window, group);
  attrs.transposed = true;
  STROP_ASSIGN(attrs.output_padding, ctx.attr_ints("output_padding", std::vector<int64_t>(found.spatial, 0)));
  STROP_ASSIGN(std::vector<int64_t> output_shape, ctx.attr_ints("output_shape", std::vector<int64_t>{}));
  if (attrs.output_padding.size() != found.spatial)
    return ctx.invalid("output_padding must have {} entries", found.spatial);
  if (output_shape.size() == found.spatial + 2) output_shape.erase(output_shape.begin(), output_shape.begin() + 2);
  const bool same = window.auto_pad.starts_with("SAME");
  if (!output_shape.empty() || same) {
    if (!found.x.has_rank()) return ctx.unsupported("an output_shape or SAME padding with an operand of unknown rank");
    if (!output_shape.empty() && output_shape.size() != found.spatial)
      return ctx.invalid("output_shape must have {} entries", found.spatial);
    for (size_t i = 0; i < found.spatial; ++i) {
      const Dim& size = found.x.dims()[2 + i];
      const Dim target = output_shape.empty() ? size * Dim(window.strides[i]) : Dim(output_shape[i]);
      const Dim reach((window.kernel[i] - 1) * window.dilations[i] + 1);
      const Dim total = (size - Dim(1)) * Dim(window.strides[i]) + Dim(attrs.output_padding[i]) + reach - target;
      const Dim half = floor_div(total, Dim(2));
      const bool upper = window.auto_pad == "SAME_UPPER";
      attrs.pads[i] = upper ? half : total - half;
      attrs.pads[found.spatial + i] = upper ? total - half : half;
    }
  }
  STROP_ASSIGN(const ValueId result, ctx.emit(kConv, std::move(attrs), {ctx.input(0), ctx.input(1), ctx.input(2)}));
  return ctx.set_output(0, result);
}

}  // namespace

std::span<const onnx::Importer> conv_importers() {
  static constexpr std::array<onnx::Importer, 2> kImporters = {{
      {"Conv", import_conv},
      {"ConvTranspose", import_conv_transpose},
  }};
  return kImporters;
}

}  // namespace strop::ops
