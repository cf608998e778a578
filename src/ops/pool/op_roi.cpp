#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/late.h"
#include "ops/pool/pool.h"

namespace strop::ops {
namespace {

// x [N, C, H, W] and rois [R, columns], floats of one type: the result's type [R, C, height, width].
Result<TensorType> infer_regions(InferContext& ctx, int64_t columns, int64_t height, int64_t width) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const TensorType rois, ctx.tensor(1));
  // (C1) one floating type.
  if (!is_float(x.dtype) || rois.dtype != x.dtype) {
    return violates("(C1) x is {}, the regions {}: one floating type is needed", to_string(x.dtype),
                    to_string(rois.dtype));
  }
  // (C2) ranks and columns.
  if ((x.has_rank() && x.rank() != 4) || (rois.has_rank() && rois.rank() != 2)) {
    return violates("(C2) x {} must have rank 4, the regions {} rank 2", to_string(x), to_string(rois));
  }
  if (rois.has_rank() && rois.dim(1).is_constant() && !(rois.dim(1) == Dim(columns))) {
    return violates("(C2) regions have {} numbers, not {}", rois.dim(1).to_string(), columns);
  }
  // (C3) bins.
  if (height < 1 || width < 1) return violates("(C3) a result of {} x {} bins", height, width);
  const Dims dims = {rois.has_rank() ? rois.dim(0) : ctx.unbacked(), x.has_rank() ? x.dim(1) : ctx.unbacked(),
                     Dim(height), Dim(width)};
  STROP_TRY(check_sizes(dims));
  return TensorType{x.dtype, dims, {}};
}

// One image's channels.
struct Planes {
  const double* data = nullptr;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  double at(int64_t c, int64_t y, int64_t x) const { return data[(c * height + y) * width + x]; }
};

Planes image_of(const Tensor& x, const std::vector<double>& values, int64_t image) {
  const int64_t size = x.dim(1) * x.dim(2) * x.dim(3);
  return {values.data() + image * size, x.dim(1), x.dim(2), x.dim(3)};
}

Result<void> infer_max_roi_pool(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<MaxRoiPoolAttrs>();
  STROP_ASSIGN(ctx.outputs[0], infer_regions(ctx, 5, attrs.height, attrs.width));
  return {};
}

// Pixels [begin, end) of bin `bin` of `bins` along an axis, for a region that starts at `start` and has `length`
// pixels.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};
Span bin_span(int64_t start, int64_t length, int64_t bin, int64_t bins, int64_t size) {
  const int64_t begin = start + bin * length / bins;
  const int64_t end = start + ((bin + 1) * length + bins - 1) / bins;
  return {std::clamp<int64_t>(begin, 0, size), std::clamp<int64_t>(end, 0, size)};
}

double bin_maximum(const Planes& image, int64_t c, Span rows, Span columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return 0;
  double best = -std::numeric_limits<double>::infinity();
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) best = std::max(best, image.at(c, y, x));
  }
  return best;
}

// Coordinates beyond this are refused: no image is as large, and arithmetic on them stays exact.
constexpr double kFarthest = 1 << 24;

Result<void> evaluate_max_roi_pool(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<MaxRoiPoolAttrs>();
  const Tensor& x = ctx.in(0);
  const std::vector<double> values = load_f64(x);
  const std::vector<double> rois = load_f64(ctx.in(1));
  const int64_t count = ctx.in(1).dim(0);
  std::vector<double> results;
  results.reserve(static_cast<size_t>(count * x.dim(1) * attrs.height * attrs.width));
  for (int64_t r = 0; r < count; ++r) {
    const double* roi = rois.data() + r * 5;
    const auto image_number = static_cast<int64_t>(roi[0]);
    if (!(roi[0] >= 0 && roi[0] < static_cast<double>(x.dim(0))))
      return bad_data("MaxRoiPool: region {} is of image {}", r, roi[0]);
    std::array<int64_t, 4> corner{};
    for (size_t i = 0; i < 4; ++i) {
      const double scaled = std::round(roi[1 + i] * attrs.spatial_scale);
      if (!(std::abs(scaled) <= kFarthest))
        return bad_data("MaxRoiPool: region {} has the coordinate {}", r, roi[1 + i]);
      corner[i] = static_cast<int64_t>(scaled);
    }
    const Planes image = image_of(x, values, image_number);
    const int64_t width = std::max<int64_t>(corner[2] - corner[0] + 1, 1);
    const int64_t height = std::max<int64_t>(corner[3] - corner[1] + 1, 1);
    for (int64_t c = 0; c < image.channels; ++c) {
      for (int64_t h = 0; h < attrs.height; ++h) {
        const Span rows = bin_span(corner[1], height, h, attrs.height, image.height);
        for (int64_t w = 0; w < attrs.width; ++w) {
          results.push_back(bin_maximum(image, c, rows, bin_span(corner[0], width, w, attrs.width, image.width)));
        }
      }
    }
  }
  ctx.outputs[0] = store_f64(x.dtype(), {count, x.dim(1), attrs.height, attrs.width}, results);
  return {};
}

Result<void> infer_roi_align(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<RoiAlignAttrs>();
  STROP_ASSIGN(ctx.outputs[0], infer_regions(ctx, 4, attrs.height, attrs.width));
  STROP_ASSIGN(const TensorType images, ctx.tensor(2));
  // (C4) one image per region.
  if (!is_integer(images.dtype) || (images.has_rank() && images.rank() != 1)) {
    return violates("(C4) the regions' images are {}, not a vector of integers", to_string(images));
  }
  if (attrs.sampling_ratio < 0) return violates("(C3) sampling_ratio {} is negative", attrs.sampling_ratio);
  return {};
}

// One coordinate's two neighbours and the weight of the upper one; absent beyond one pixel outside.
struct Neighbours {
  bool inside = false;
  int64_t low = 0;
  int64_t high = 0;
  double weight = 0;
};
Neighbours neighbours(double at, int64_t size) {
  if (!(at >= -1 && at <= static_cast<double>(size)) || size == 0) return {};
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= size - 1) return {true, size - 1, size - 1, 0};
  return {true, low, low + 1, at - static_cast<double>(low)};
}

// Where a region's samples lie along one axis, bin after bin.
struct SampledAxis {
  std::vector<Neighbours> samples;
  int64_t per_bin = 0;
};
struct RoiExtent {
  double from = 0;
  double to = 0;
};
Result<SampledAxis> sample_axis(const RoiAlignAttrs& attrs, RoiExtent roi, int64_t bins, int64_t size) {
  const double offset = attrs.half_pixel ? 0.5 : 0.0;
  const double start = roi.from * attrs.spatial_scale - offset;
  double length = roi.to * attrs.spatial_scale - offset - start;
  if (!attrs.half_pixel) length = std::max(length, 1.0);
  const double bin = length / static_cast<double>(bins);
  const double wanted = attrs.sampling_ratio > 0 ? static_cast<double>(attrs.sampling_ratio) : std::ceil(bin);
  if (!(wanted * static_cast<double>(bins) <= kFarthest)) return bad_data("RoiAlign: a region of {} pixels", length);
  SampledAxis axis;
  axis.per_bin = static_cast<int64_t>(std::max(wanted, 0.0));
  for (int64_t b = 0; b < bins; ++b) {
    for (int64_t i = 0; i < axis.per_bin; ++i) {
      const double within = (static_cast<double>(i) + 0.5) / static_cast<double>(axis.per_bin);
      axis.samples.push_back(neighbours(start + (static_cast<double>(b) + within) * bin, size));
    }
  }
  return axis;
}

double sample_bin(const RoiAlignAttrs& attrs, const Planes& image, int64_t c, std::span<const Neighbours> rows,
                  std::span<const Neighbours> columns) {
  double sum = 0;
  double best = -std::numeric_limits<double>::infinity();
  for (const Neighbours& y : rows) {
    for (const Neighbours& x : columns) {
      if (!y.inside || !x.inside) {
        best = std::max(best, 0.0);
        continue;
      }
      const std::array<double, 4> parts = {(1 - y.weight) * (1 - x.weight) * image.at(c, y.low, x.low),
                                           (1 - y.weight) * x.weight * image.at(c, y.low, x.high),
                                           y.weight * (1 - x.weight) * image.at(c, y.high, x.low),
                                           y.weight * x.weight * image.at(c, y.high, x.high)};
      for (const double part : parts) {
        sum += part;
        best = std::max(best, part);
      }
    }
  }
  const size_t samples = rows.size() * columns.size();
  if (samples == 0) return 0;
  return attrs.mode == RoiAlignMode::Max ? best : sum / static_cast<double>(samples);
}

Result<void> evaluate_roi_align(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<RoiAlignAttrs>();
  const Tensor& x = ctx.in(0);
  const std::vector<double> values = load_f64(x);
  const std::vector<double> rois = load_f64(ctx.in(1));
  const std::vector<int64_t> images = load_i64(ctx.in(2));
  const int64_t count = ctx.in(1).dim(0);
  if (std::ssize(images) != count) return bad_data("RoiAlign: {} regions, {} images", count, images.size());
  std::vector<double> results;
  results.reserve(static_cast<size_t>(count * x.dim(1) * attrs.height * attrs.width));
  for (int64_t r = 0; r < count; ++r) {
    const int64_t number = images[static_cast<size_t>(r)];
    if (number < 0 || number >= x.dim(0)) return bad_data("RoiAlign: region {} is of image {}", r, number);
    const double* roi = rois.data() + r * 4;
    const Planes image = image_of(x, values, number);
    STROP_ASSIGN(const SampledAxis rows, sample_axis(attrs, {roi[1], roi[3]}, attrs.height, image.height));
    STROP_ASSIGN(const SampledAxis columns, sample_axis(attrs, {roi[0], roi[2]}, attrs.width, image.width));
    const auto bin_of = [](const SampledAxis& axis, int64_t bin) {
      return std::span(axis.samples)
          .subspan(static_cast<size_t>(bin * axis.per_bin), static_cast<size_t>(axis.per_bin));
    };
    for (int64_t c = 0; c < image.channels; ++c) {
      for (int64_t h = 0; h < attrs.height; ++h) {
        for (int64_t w = 0; w < attrs.width; ++w) {
          results.push_back(sample_bin(attrs, image, c, bin_of(rows, h), bin_of(columns, w)));
        }
      }
    }
  }
  ctx.outputs[0] = store_f64(x.dtype(), {count, x.dim(1), attrs.height, attrs.width}, results);
  return {};
}

Tensor f32(std::vector<int64_t> dims, const std::vector<double>& values) {
  return store_f64(DType::F32, std::move(dims), values);
}

std::vector<WorkedCase> max_roi_pool_cases() {
  return {{"two_regions_f32",
           MaxRoiPoolAttrs{3, 2, 0.5},
           {Type(DType::F32, {2, 3, 10, 12}), Type(DType::F32, {2, 5})},
           1,
           {{1, f32({2, 5}, {0, 2, 2, 15, 11, 1, 0, 4, 30, 8})}}}};
}

std::vector<WorkedCase> roi_align_cases() {
  const std::vector<Type> types = {Type(DType::F32, {2, 3, 10, 12}), Type(DType::F32, {2, 4}), Type(DType::I64, {2})};
  const Tensor rois = f32({2, 4}, {2, 2, 15, 11, 0, 4, 30, 8});
  const Tensor images = Tensor::of_i64({1, 0});
  return {
      {"average_f32", RoiAlignAttrs{RoiAlignMode::Average, 3, 2, 2, 0.5, true}, types, 1, {{1, rois}, {2, images}}},
      {"max_adaptive_f32", RoiAlignAttrs{RoiAlignMode::Max, 2, 4, 0, 0.5, false}, types, 1, {{1, rois}, {2, images}}}};
}

}  // namespace

const Operator kMaxRoiPool = {
    .name = "MaxRoiPool",
    .make_attrs = [] { return Attrs(MaxRoiPoolAttrs{}); },
    .infer = infer_max_roi_pool,
    .evaluate = evaluate_max_roi_pool,
    .cases = max_roi_pool_cases,
};

const Operator kRoiAlign = {
    .name = "RoiAlign",
    .make_attrs = [] { return Attrs(RoiAlignAttrs{}); },
    .infer = infer_roi_align,
    .evaluate = evaluate_roi_align,
    .cases = roi_align_cases,
};

}  // namespace strop::ops
