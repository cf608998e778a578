#include <algorithm>
#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/resize/onnx_sampling.h"
#include "ops/resize/resize.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

template <class E>
Result<E> enum_attr(NodeContext& ctx, std::string_view attribute, std::string_view fallback) {
  STROP_ASSIGN(const std::string text, ctx.attr_string(attribute, std::string(fallback)));
  const auto& names = kEnumNames<E>;
  const auto it = std::find(names.begin(), names.end(), text);
  if (it == names.end()) return ctx.invalid("{} '{}' is not known", attribute, text);
  return static_cast<E>(it - names.begin());
}

// An operand that is there and not known to be empty, as exporters write one that is not meant.
bool is_given(NodeContext& ctx, size_t index) {
  if (!ctx.has_input(index)) return false;
  if (const Tensor* value = ctx.constant(index)) return value->count() > 0;
  const Type& type = ctx.type(index);
  return !(type.is_tensor() && type.tensor.has_rank() && type.tensor.count() == Dim(0));
}

// The attributes as far as they are known, and operands for those that are late.
class ResizeNode {
 public:
  explicit ResizeNode(NodeContext& ctx) : ctx_(ctx), operands_({ctx.input(0)}) {}
  ResizeAttrs attrs;

  void take_scales(size_t index) { take_floats(index, "scales", attrs.scales); }
  void take_roi(size_t index) { take_floats(index, "roi", attrs.roi); }
  void take_sizes(size_t index) {
    if (auto known = ctx_.known(index)) {
      attrs.sizes = *std::move(known);
    } else {
      late("sizes", index);
    }
  }

  Result<void> emit() {
    if (drop_unchanged()) return ctx_.set_output(0, ctx_.input(0));
    STROP_ASSIGN(const ValueId result, ctx_.emit(kResize, std::move(attrs), std::move(operands_), std::move(extras_)));
    return ctx_.set_output(0, result);
  }

 private:
  void take_floats(size_t index, std::string_view name, std::vector<double>& target) {
    if (const Tensor* value = ctx_.constant(index); value != nullptr && is_float(value->dtype())) {
      target = load_f64(*value);
    } else {
      late(name, index);
    }
  }
  void late(std::string_view name, size_t index) {
    extras_.late.push_back({std::string(name), static_cast<int32_t>(operands_.size())});
    operands_.push_back(ctx_.input(index));
  }

  // Leaves out axes that keep their size (batch and channels of most models): every coordinate is then an element's, so
  // that nothing changes along them. True if none is left.
  bool drop_unchanged() {
    const Type& type = ctx_.type(0);
    if (!type.is_tensor() || !type.tensor.has_rank() || !extras_.late.empty()) return false;
    if (attrs.coordinates == ResizeCoordinates::TfCropAndResize || attrs.policy != ResizePolicy::Stretch) return false;
    if (attrs.coordinates == ResizeCoordinates::TfHalfPixelForNn) return false;
    const int64_t rank = type.tensor.rank();
    std::vector<int64_t> axes = attrs.axes;
    for (int64_t i = 0; attrs.axes.empty() && i < rank; ++i) axes.push_back(i);
    if (std::max(attrs.scales.size(), attrs.sizes.size()) != axes.size()) return false;
    ResizeAttrs kept = attrs;
    kept.axes.clear();
    kept.scales.clear();
    kept.sizes.clear();
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      if (axis < 0 || axis >= rank) return false;
      if (attrs.sizes.empty() ? attrs.scales[i] == 1.0 : attrs.sizes[i] == type.tensor.dim(axis)) continue;
      kept.axes.push_back(axis);
      if (attrs.sizes.empty()) {
        kept.scales.push_back(attrs.scales[i]);
      } else {
        kept.sizes.push_back(attrs.sizes[i]);
      }
    }
    attrs = std::move(kept);
    return attrs.axes.empty();
  }

  NodeContext& ctx_;
  std::vector<ValueId> operands_;
  onnx::EmitExtras extras_;
};

// Upsample, and Resize in its first version: coordinates are divided by the scales and rounded down.
Result<void> import_upsample(NodeContext& ctx) {
  ResizeNode node(ctx);
  STROP_ASSIGN(const std::string mode, ctx.attr_string("mode", "nearest"));
  if (mode != "nearest" && mode != "linear" && mode != "bilinear")
    return ctx.invalid("mode '{}' is neither nearest nor linear", mode);
  node.attrs.mode = mode == "nearest" ? ResizeMode::Nearest : ResizeMode::Linear;
  node.attrs.coordinates = ResizeCoordinates::Asymmetric;
  node.attrs.rounding = ResizeRounding::Floor;
  if (ctx.op_type() == "Upsample" && ctx.opset() < 9) {
    STROP_ASSIGN(node.attrs.scales, ctx.attr_floats("scales"));
  } else {
    if (!ctx.has_input(1)) return ctx.invalid("the scales are missing");
    node.take_scales(1);
  }
  return node.emit();
}

Result<void> import_resize(NodeContext& ctx) {
  ResizeNode node(ctx);
  ResizeAttrs& attrs = node.attrs;
  STROP_ASSIGN(attrs.mode, enum_attr<ResizeMode>(ctx, "mode", "nearest"));
  STROP_ASSIGN(attrs.coordinates, enum_attr<ResizeCoordinates>(ctx, "coordinate_transformation_mode", "half_pixel"));
  STROP_ASSIGN(attrs.rounding, enum_attr<ResizeRounding>(ctx, "nearest_mode", "round_prefer_floor"));
  STROP_ASSIGN(attrs.policy, enum_attr<ResizePolicy>(ctx, "keep_aspect_ratio_policy", "stretch"));
  STROP_ASSIGN(attrs.axes, ctx.attr_ints("axes", std::vector<int64_t>{}));
  STROP_ASSIGN(const int64_t antialias, ctx.attr_int("antialias", 0));
  STROP_ASSIGN(const int64_t exclude_outside, ctx.attr_int("exclude_outside", 0));
  STROP_ASSIGN(attrs.cubic_coeff_a, ctx.attr_float("cubic_coeff_a", -0.75));
  STROP_ASSIGN(attrs.extrapolation_value, ctx.attr_float("extrapolation_value", 0.0));
  attrs.antialias = antialias != 0;
  attrs.exclude_outside = exclude_outside != 0;
  const bool crops = attrs.coordinates == ResizeCoordinates::TfCropAndResize;
  if (crops && !is_given(ctx, 1)) return ctx.invalid("tf_crop_and_resize needs a roi");
  const bool by_sizes = is_given(ctx, 3);
  if (by_sizes == is_given(ctx, 2)) return ctx.invalid("exactly one of scales and sizes must be given");
  if (by_sizes) {
    node.take_sizes(3);
  } else {
    attrs.policy = ResizePolicy::Stretch;
    node.take_scales(2);
  }
  if (crops) node.take_roi(1);
  return node.emit();
}

}  // namespace

std::span<const onnx::Importer> resize_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Upsample", import_upsample, 7, 9},    onnx::Importer{"Resize", import_upsample, 10, 10},
      onnx::Importer{"Resize", import_resize, 11},          onnx::Importer{"GridSample", import_grid_sample, 16},
      onnx::Importer{"AffineGrid", import_affine_grid, 20}, onnx::Importer{"Col2Im", import_col2im, 18},
      onnx::Importer{"DeformConv", import_deform_conv, 19},
  };
  return kImporters;
}

}  // namespace strop::ops
