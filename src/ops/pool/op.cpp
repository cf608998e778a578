#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/pool/pool.h"

namespace strop::ops {
namespace {

Result<void> check_dtype(const PoolAttrs& attrs, DType dtype) {
  // (C1) floating point, or for maxima integers that a double holds.
  const bool wide = dtype == DType::I64 || dtype == DType::U64;
  if (is_float(dtype) || (attrs.kind == PoolKind::Max && is_integer(dtype) && !wide)) return {};
  return violates("(C1) cannot pool {}", to_string(dtype));
}

Result<void> infer_pool(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<PoolAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_TRY(check_dtype(attrs, x.dtype));
  TensorType result{x.dtype, std::nullopt, {}};
  if (x.has_rank()) {
    STROP_ASSIGN(result.shape, pool_dims(attrs, x.dims()));
  }
  ctx.outputs[0] = result;
  if (!ctx.wants_output(1)) return {};
  if (attrs.kind != PoolKind::Max) return violates("(C5) only maxima have indices");
  ctx.outputs[1] = TensorType{DType::I64, result.shape, {}};
  return {};
}

// Sizes, and how far apart neighbours are in memory, in either layout.
struct PoolLayout {
  int64_t batch = 0;
  int64_t channels = 0;
  std::vector<int64_t> spatial;
  int64_t pixels = 1;
  int64_t batch_stride = 0;
  int64_t channel_stride = 0;
  int64_t pixel_stride = 0;
};

PoolLayout layout_of(const std::vector<int64_t>& dims, bool channels_last) {
  PoolLayout layout;
  layout.batch = dims[0];
  layout.channels = channels_last ? dims.back() : dims[1];
  layout.spatial.assign(dims.begin() + (channels_last ? 1 : 2), dims.end() - (channels_last ? 1 : 0));
  layout.pixels = element_count(layout.spatial);
  layout.batch_stride = layout.channels * layout.pixels;
  layout.channel_stride = channels_last ? 1 : layout.pixels;
  layout.pixel_stride = channels_last ? layout.channels : 1;
  return layout;
}

std::vector<int64_t> coordinates(int64_t linear, const std::vector<int64_t>& dims) {
  std::vector<int64_t> at(dims.size());
  for (size_t i = dims.size(); i-- > 0; linear /= dims[i]) at[i] = linear % dims[i];
  return at;
}

// The pixels of one window, in row-major order, and what an average divides by.
struct PoolWindow {
  std::vector<int64_t> pixels;
  double divisor = 0;
};

PoolWindow window_at(const PoolAttrs& attrs, const PoolLayout& in, const std::vector<int64_t>& at) {
  PoolWindow window;
  window.pixels = {0};
  int64_t padded = 1;
  for (size_t axis = 0; axis < at.size(); ++axis) {
    const PoolTaps taps = pool_taps(attrs, axis, in.spatial[axis], at[axis]);
    padded *= taps.padded;
    std::vector<int64_t> next;
    for (const int64_t pixel : window.pixels) {
      for (int64_t tap = taps.begin; tap < taps.end; ++tap) {
        next.push_back(pixel * in.spatial[axis] + taps.start + tap * attrs.dilations[axis]);
      }
    }
    window.pixels = std::move(next);
  }
  window.divisor = static_cast<double>(attrs.count_include_pad ? padded : std::ssize(window.pixels));
  return window;
}

struct Maximum {
  double value = -std::numeric_limits<double>::infinity();
  int64_t pixel = -1;
};

Maximum maximum(const double* plane, int64_t stride, const std::vector<int64_t>& pixels) {
  Maximum best;
  for (const int64_t pixel : pixels) {
    const double value = plane[pixel * stride];
    if (best.pixel >= 0 && !(value > best.value) && !std::isnan(value)) continue;
    best = {value, pixel};
    if (std::isnan(value)) break;
  }
  return best;
}

double mean_or_norm(const PoolAttrs& attrs, const double* plane, int64_t stride, const PoolWindow& window) {
  double sum = 0;
  for (const int64_t pixel : window.pixels) {
    const double value = plane[pixel * stride];
    sum += attrs.kind == PoolKind::Lp ? std::pow(std::abs(value), attrs.p) : value;
  }
  return attrs.kind == PoolKind::Lp ? std::pow(sum, 1 / attrs.p) : sum / window.divisor;
}

// A pixel's number with the spatial axes in reverse order of significance.
int64_t column_major(int64_t pixel, const std::vector<int64_t>& spatial) {
  const auto at = coordinates(pixel, spatial);
  int64_t number = 0;
  for (size_t i = spatial.size(); i-- > 0;) number = number * spatial[i] + at[i];
  return number;
}

Result<void> evaluate_pool(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<PoolAttrs>();
  const Tensor& x = ctx.in(0);
  STROP_ASSIGN(const Dims symbolic, pool_dims(attrs, to_dims(x.dims())));
  const std::vector<int64_t> dims = *as_constants(symbolic);
  const PoolLayout in = layout_of(x.dims(), attrs.channels_last);
  const PoolLayout out = layout_of(dims, attrs.channels_last);
  const std::vector<double> values = load_f64(x);
  std::vector<double> results(static_cast<size_t>(element_count(dims)));
  std::vector<int64_t> indices(ctx.wants(1) ? results.size() : 0);
  ctx.threads.run(out.pixels, [&](int64_t pixel, int) {
    const PoolWindow window = window_at(attrs, in, coordinates(pixel, out.spatial));
    for (int64_t n = 0; n < in.batch; ++n) {
      for (int64_t c = 0; c < in.channels; ++c) {
        const double* plane = values.data() + n * in.batch_stride + c * in.channel_stride;
        const auto to = static_cast<size_t>(n * out.batch_stride + c * out.channel_stride + pixel * out.pixel_stride);
        if (attrs.kind != PoolKind::Max) {
          results[to] = mean_or_norm(attrs, plane, in.pixel_stride, window);
          continue;
        }
        const Maximum best = maximum(plane, in.pixel_stride, window.pixels);
        results[to] = best.value;
        if (indices.empty()) continue;
        const int64_t place = attrs.column_major_indices ? column_major(best.pixel, in.spatial) : best.pixel;
        indices[to] = best.pixel < 0 ? -1 : (n * in.channels + c) * in.pixels + place;
      }
    }
  });
  ctx.outputs[0] = store_f64(x.dtype(), dims, results);
  if (ctx.wants(1)) ctx.outputs[1] = store_i64(DType::I64, dims, indices);
  return {};
}

}  // namespace

PoolTaps pool_taps(const PoolAttrs& attrs, size_t axis, int64_t size, int64_t position) {
  const int64_t dilation = attrs.dilations[axis];
  const int64_t start = position * attrs.strides[axis] - attrs.pads[axis].constant();
  // The first tap at or beyond an index of the operand.
  const auto first_tap = [&](int64_t index) {
    if (index <= start) return int64_t{0};
    return std::min((index - start + dilation - 1) / dilation, attrs.kernel[axis]);
  };
  const int64_t padded_end = size + attrs.pads[attrs.kernel.size() + axis].constant();
  return {start, first_tap(0), std::max(first_tap(0), first_tap(size)), first_tap(padded_end)};
}

Result<Dims> pool_dims(const PoolAttrs& attrs, const Dims& x) {
  const size_t spatial = attrs.kernel.size();
  // (C2) batch, channels and the kernel's axes.
  if (x.size() != spatial + 2)
    return violates("(C2) a window of {} axes over an operand of rank {}", spatial, x.size());
  const auto positive = [&](const std::vector<int64_t>& values) {
    return values.size() == spatial && std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 1; });
  };
  // (C3) one entry per axis, at least 1; two pads per axis.
  if (!positive(attrs.kernel) || !positive(attrs.strides) || !positive(attrs.dilations) ||
      attrs.pads.size() != 2 * spatial) {
    return violates("(C3) kernel, strides, dilations or pads do not fit {} spatial axes", spatial);
  }
  Dims result = x;
  for (size_t i = 0; i < spatial; ++i) {
    for (const Dim& number : {Dim(attrs.strides[i]), attrs.pads[i], attrs.pads[spatial + i]}) {
      STROP_TRY(check_sizes({number}));
    }
    STROP_TRY(check_sizes({Dim(attrs.kernel[i]), Dim(attrs.dilations[i])}));
    Dim& dim = result[i + (attrs.channels_last ? 1 : 2)];
    const Dim stride(attrs.strides[i]);
    const Dim reach((attrs.kernel[i] - 1) * attrs.dilations[i] + 1);
    const Dim room = dim + attrs.pads[i] + attrs.pads[spatial + i] - reach;
    // (C4) the window fits.
    if (room.is_constant() && room.constant() < 0 && !(attrs.ceil_mode && room.constant() > -attrs.strides[i])) {
      return violates("(C4) the window is larger than the padded operand along spatial axis {}", i);
    }
    const Dim leading = dim + attrs.pads[i];
    dim = attrs.ceil_mode ? min(ceil_div(room, stride) + Dim(1), ceil_div(leading, stride))
                          : floor_div(room, stride) + Dim(1);
  }
  STROP_TRY(check_sizes(result));
  return result;
}

const Operator kPool = {
    .name = "Pool",
    .make_attrs = [] { return Attrs(PoolAttrs{}); },
    .infer = infer_pool,
    .evaluate = evaluate_pool,
    .cases = pool_cases,
};

std::span<const Operator* const> pool_operators() {
  static constexpr std::array kOperators = {&kPool, &kMaxUnpool, &kMaxRoiPool, &kRoiAlign};
  return kOperators;
}

}  // namespace strop::ops
