#include <algorithm>
#include <cmath>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/resize/resize.h"
#include "ops/resize/resize_sizes.h"

namespace strop::ops {
namespace {

// The scale that keeps the ratio of the axes. Where an axis has no elements there is none: 1.
double common_scale(const ResizeAttrs& attrs, const std::vector<int64_t>& sizes, const std::vector<int64_t>& in) {
  std::optional<double> scale;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (in[i] == 0) continue;
    const double each = static_cast<double>(sizes[i]) / static_cast<double>(in[i]);
    const bool larger = attrs.policy == ResizePolicy::NotSmaller;
    scale = !scale ? each : larger ? std::max(*scale, each) : std::min(*scale, each);
  }
  return scale.value_or(1.0);
}

Result<void> check_attributes(const InferContext& ctx, const TensorType& input) {
  const auto& attrs = ctx.attrs.as<ResizeAttrs>();
  // (C4) interpolation is for numbers.
  const bool numeric = is_float(input.dtype) || is_integer(input.dtype);
  if (attrs.mode != ResizeMode::Nearest && !numeric)
    return violates("(C4) cannot interpolate {}", to_string(input.dtype));
  const bool by_scales = !attrs.scales.empty() || ctx.is_late("scales");
  const bool by_sizes = !attrs.sizes.empty() || ctx.is_late("sizes");
  const bool nothing = input.has_rank() && input.rank() == 0;
  if (by_scales == by_sizes && !nothing) return violates("(C2) exactly one of scales and sizes must be given");
  return {};
}

// Dimensions where scales or sizes are known; the others stay nullopt.
Result<std::vector<std::optional<Dim>>> known_sizes(const InferContext& ctx, const std::vector<Dim>& in) {
  const auto& attrs = ctx.attrs.as<ResizeAttrs>();
  std::vector<std::optional<Dim>> result(in.size());
  if (!attrs.scales.empty()) {
    // (C2) one scale per axis.
    if (attrs.scales.size() != in.size()) return violates("(C2) {} scales for {} axes", attrs.scales.size(), in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      STROP_ASSIGN(result[i], scaled_size(in[i], attrs.scales[i]));
    }
    return result;
  }
  if (ctx.is_late("scales")) return result;
  const auto sizes = dims_field(ctx, "sizes", attrs.sizes);
  if (!sizes) return result;
  // (C2) one size per axis.
  if (sizes->size() != in.size()) return violates("(C2) {} sizes for {} axes", sizes->size(), in.size());
  STROP_TRY(check_sizes(*sizes));
  for (const Dim& size : *sizes) {
    if (size.is_constant() && size.constant() < 0) return violates("(C3) the size {} is negative", size.constant());
  }
  if (attrs.policy == ResizePolicy::Stretch) {
    std::copy(sizes->begin(), sizes->end(), result.begin());
    return result;
  }
  const auto wanted = as_constants(*sizes);
  const auto have = as_constants(in);
  if (!wanted || !have) return result;
  const double scale = common_scale(attrs, *wanted, *have);
  for (size_t i = 0; i < in.size(); ++i) {
    const double size = std::floor(scale * static_cast<double>((*have)[i]) + 0.5);
    if (size > static_cast<double>(kMaxElements)) return violates("(C3) the size {} is too large", size);
    result[i] = Dim(static_cast<int64_t>(size));
  }
  return result;
}

Result<void> infer_resize(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<ResizeAttrs>();
  STROP_TRY(check_attributes(ctx, input));
  if (!input.has_rank()) return ctx.outputs[0] = Type::unranked(input.dtype), Result<void>();
  STROP_ASSIGN(const auto axes, resize_axes(attrs, input.rank()));
  Dims dims = input.dims();
  Dims in;
  for (const int64_t axis : axes) in.push_back(dims[resize_memory_axis(attrs.channels_last, axis, input.rank())]);
  STROP_ASSIGN(const auto sizes, known_sizes(ctx, in));
  for (size_t i = 0; i < axes.size(); ++i) {
    dims[resize_memory_axis(attrs.channels_last, axes[i], input.rank())] = sizes[i] ? *sizes[i] : ctx.unbacked();
  }
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(input.dtype, std::move(dims));
  return {};
}

// values [outer, in, inner] → [outer, out, inner].
std::vector<double> resample(const ResizeAxis& axis, const std::vector<double>& values, int64_t outer, int64_t inner,
                             Threads& threads) {
  std::vector<double> result(static_cast<size_t>(outer * axis.out * inner));
  parallel_for(threads, outer * axis.out, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row % axis.out * axis.taps;
      double* to = result.data() + row * inner;
      for (int64_t tap = first; tap < first + axis.taps; ++tap) {
        const double weight = axis.weights[static_cast<size_t>(tap)];
        const double* from =
            values.data() + (row / axis.out * axis.in + axis.indices[static_cast<size_t>(tap)]) * inner;
        for (int64_t i = 0; i < inner; ++i) to[i] += weight * from[i];
      }
    }
  });
  return result;
}

// The extrapolation value wherever a coordinate of any axis lies outside.
void extrapolate(const ResizePlan& plan, double value, std::vector<double>& values) {
  for (const ResizeAxis& axis : plan.axes) {
    if (axis.outside.empty()) continue;
    const int64_t inner = count_between(plan.dims, static_cast<int64_t>(axis.axis) + 1, std::ssize(plan.dims));
    for (size_t i = 0; i < values.size(); ++i) {
      if (axis.outside[static_cast<size_t>(static_cast<int64_t>(i) / inner % axis.out)]) values[i] = value;
    }
  }
}

Tensor gather_nearest(const ResizePlan& plan, const Tensor& input, double extrapolation, Threads& threads) {
  const auto strides = strides_of(input.dims());
  AxisTables tables;
  for (size_t i = 0; i < strides.size(); ++i) tables.push_back(affine_table(input.dims()[i], strides[i]));
  bool outside = false;
  for (const ResizeAxis& axis : plan.axes) {
    auto& table = tables[axis.axis];
    table.resize(static_cast<size_t>(axis.out));
    for (size_t i = 0; i < table.size(); ++i) {
      const bool leaves = !axis.outside.empty() && axis.outside[i];
      table[i] = leaves ? -1 : axis.indices[i] * strides[axis.axis];
      outside = outside || leaves;
    }
  }
  if (!outside || input.dtype() == DType::String) return gather_by_axes(input, tables, threads);
  const Tensor fill = Tensor::scalar(input.dtype(), extrapolation);
  return gather_by_axes(input, tables, threads, &fill);
}

// Integers are truncated, out of range saturated.
void saturate(DType dtype, std::vector<double>& values) {
  if (!is_integer(dtype)) return;
  const int bits = static_cast<int>(bit_width(dtype));
  const bool with_sign = is_signed_integer(dtype);
  const double high = std::ldexp(1.0, with_sign ? bits - 1 : bits) - 1;
  const double low = with_sign ? -std::ldexp(1.0, bits - 1) : 0.0;
  // 2^64 - 1 and 2^63 - 1 are no doubles: the next one below is the largest that converts.
  const double top = bits < 64 ? high : std::nextafter(high, 0.0);
  for (double& value : values) value = std::clamp(value, low, top);
}

Result<void> evaluate_resize(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<ResizeAttrs>();
  const Tensor& input = ctx.in(0);
  STROP_ASSIGN(const ResizePlan plan, plan_resize(attrs, input.dims()));
  if (attrs.mode == ResizeMode::Nearest) {
    ctx.outputs[0] = gather_nearest(plan, input, attrs.extrapolation_value, ctx.threads);
    return {};
  }
  std::vector<double> values = load_f64(input);
  std::vector<int64_t> dims = input.dims();
  for (const ResizeAxis& axis : plan.axes) {
    const auto at = static_cast<int64_t>(axis.axis);
    values = resample(axis, values, count_between(dims, 0, at), count_between(dims, at + 1, input.rank()), ctx.threads);
    dims[axis.axis] = axis.out;
  }
  extrapolate(plan, attrs.extrapolation_value, values);
  saturate(input.dtype(), values);
  ctx.outputs[0] = store_f64(input.dtype(), plan.dims, values);
  return {};
}

}  // namespace

Result<std::vector<int64_t>> resize_axes(const ResizeAttrs& attrs, int64_t rank) {
  if (attrs.axes.empty()) return affine_table(rank, 1);
  return normalize_axes(attrs.axes, rank, "(C1) Resize");
}

Result<std::optional<Dim>> scaled_size(const Dim& dim, double scale) {
  // (C3) scales are positive and finite.
  if (!(scale > 0) || !std::isfinite(scale)) return violates("(C3) the scale {} is not positive", scale);
  constexpr double kLargestFactor = 1 << 20;
  for (int64_t divisor = 1; divisor <= 64; divisor *= 2) {
    const double factor = scale * static_cast<double>(divisor);
    if (factor > kLargestFactor || factor != std::floor(factor)) continue;
    STROP_TRY(check_sizes({dim}));
    return std::optional(floor_div(dim * Dim(static_cast<int64_t>(factor)), Dim(divisor)));
  }
  if (!dim.is_constant()) return std::optional<Dim>();
  const float size = std::floor(static_cast<float>(dim.constant()) * static_cast<float>(scale));
  if (!(size <= static_cast<float>(kMaxElements))) return violates("(C3) the scale {} is too large", scale);
  return std::optional(Dim(static_cast<int64_t>(size)));
}

Result<std::vector<ResizedAxis>> resized_axes(const ResizeAttrs& attrs, const std::vector<int64_t>& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  STROP_ASSIGN(const auto axes, resize_axes(attrs, rank));
  const bool by_scales = !attrs.scales.empty();
  const size_t given = by_scales ? attrs.scales.size() : attrs.sizes.size();
  if (given != axes.size()) return bad_data("Resize: {} scales or sizes for {} axes", given, axes.size());
  std::vector<int64_t> in;
  for (const int64_t axis : axes) in.push_back(dims[resize_memory_axis(attrs.channels_last, axis, rank)]);
  const auto sizes = by_scales ? std::vector<int64_t>() : bound(attrs.sizes);
  const double common = by_scales ? 1.0 : common_scale(attrs, sizes, in);
  std::vector<ResizedAxis> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto before = static_cast<double>(in[i]);
    ResizedAxis axis{axes[i], 0, 1.0, before};
    if (by_scales) {
      STROP_ASSIGN(const auto size, scaled_size(Dim(in[i]), attrs.scales[i]));
      axis.size = size->constant();
      axis.scale = attrs.scales[i];
      axis.length = axis.scale * before;
    } else if (attrs.policy == ResizePolicy::Stretch) {
      if (sizes[i] < 0) return bad_data("Resize: the size {} of axis {} is negative", sizes[i], axes[i]);
      axis.size = sizes[i];
      axis.length = static_cast<double>(sizes[i]);
      axis.scale = in[i] == 0 ? 1.0 : axis.length / before;
    } else {
      axis.scale = common;
      axis.length = common * before;
      axis.size = static_cast<int64_t>(std::floor(axis.length + 0.5));
    }
    result.push_back(axis);
  }
  return result;
}

const Operator kResize = {
    .name = "Resize",
    .make_attrs = [] { return Attrs(ResizeAttrs{}); },
    .infer = infer_resize,
    .evaluate = evaluate_resize,
    .cases = resize_cases,
};

std::span<const Operator* const> resize_operators() {
  static constexpr std::array kOperators = {&kResize, &kGridSample, &kAffineGrid, &kCol2Im, &kDeformConv};
  return kOperators;
}

}  // namespace strop::ops
