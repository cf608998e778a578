#include <algorithm>
#include <cmath>

#include "ops/element_map.h"
#include "ops/late.h"
#include "ops/resize/resize.h"

namespace strop::ops {
namespace {

Result<void> infer_grid_sample(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const TensorType grid, ctx.tensor(1));
  const auto& attrs = ctx.attrs.as<GridSampleAttrs>();
  // (C1) a floating grid; interpolation is for numbers.
  const bool numeric = is_float(x.dtype) || is_integer(x.dtype);
  if (!is_float(grid.dtype) || (attrs.mode != ResizeMode::Nearest && !numeric)) {
    return violates("(C1) cannot sample {} at places of {}", to_string(x.dtype), to_string(grid.dtype));
  }
  // (C2) ranks.
  if ((x.has_rank() && x.rank() < 3) || (x.has_rank() && grid.has_rank() && x.rank() != grid.rank())) {
    return violates("(C2) cannot sample {} with a grid {}", to_string(x), to_string(grid));
  }
  if (!x.has_rank() || !grid.has_rank()) return ctx.outputs[0] = Type::unranked(x.dtype), Result<void>();
  if (grid.dims().back().is_constant() && !(grid.dims().back() == Dim(x.rank() - 2))) {
    return violates("(C2) places of {} coordinates in {} axes", grid.dims().back().to_string(), x.rank() - 2);
  }
  Dims dims = grid.dims();
  dims.pop_back();
  dims.insert(dims.begin() + 1, x.dim(1));
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(x.dtype, std::move(dims));
  return {};
}

// `x` mirrored into [low, high].
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = x < low ? low - x : x > high ? x - high : 0;
  if (distance == 0) return x;
  const double turns = std::floor(distance / range);
  const double rest = distance - turns * range;
  const bool even = std::fmod(turns, 2.0) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

// How one coordinate reads an axis: elements and weights. Elements outside of Zeros padding are left out.
struct GridTap {
  int64_t index = 0;
  double weight = 0;
};
class GridAxis {
 public:
  GridAxis(const GridSampleAttrs& attrs, int64_t size) : attrs_(attrs), size_(size) {
    low_ = attrs.align_corners ? 0.0 : -0.5;
    high_ = static_cast<double>(size) - (attrs.align_corners ? 1.0 : 0.5);
  }

  void read(double place, std::vector<GridTap>& taps) const {
    taps.clear();
    if (size_ == 0 || std::isnan(place)) return;
    const auto size = static_cast<double>(size_);
    double x = attrs_.align_corners ? (place + 1) / 2 * (size - 1) : ((place + 1) * size - 1) / 2;
    x = std::clamp(x, -kFar, kFar);
    if (attrs_.mode == ResizeMode::Nearest) x = std::nearbyint(x);
    if (x < low_ || x > high_) {
      if (attrs_.padding == GridPadding::Border) x = std::clamp(x, 0.0, size - 1);
      if (attrs_.padding == GridPadding::Reflection) x = reflect(x, low_, high_);
    }
    const double floor = std::floor(x);
    const auto first = static_cast<int64_t>(floor);
    const double part = x - floor;
    switch (attrs_.mode) {
      case ResizeMode::Nearest: return add(static_cast<int64_t>(std::trunc(x)), 1, taps);
      case ResizeMode::Linear: return add(first, 1 - part, taps), add(first + 1, part, taps);
      case ResizeMode::Cubic:
        for (int64_t i = -1; i <= 2; ++i) {
          add(first + i, cubic_weight(-0.75, std::abs(part - static_cast<double>(i))), taps);
        }
    }
  }

 private:
  static constexpr double kFar = 1e12;

  void add(int64_t index, double weight, std::vector<GridTap>& taps) const {
    if (index < 0 || index >= size_) {
      if (attrs_.padding == GridPadding::Zeros) return;
      if (attrs_.padding == GridPadding::Reflection) {
        index = static_cast<int64_t>(reflect(static_cast<double>(index), low_, high_));
      }
      index = std::clamp<int64_t>(index, 0, size_ - 1);
    }
    if (weight != 0) taps.push_back({index, weight});
  }

  const GridSampleAttrs& attrs_;
  int64_t size_;
  double low_ = 0;
  double high_ = 0;
};

// The elements of one plane that a place reads: the product of its axes' taps.
std::vector<GridTap> read_place(const std::vector<GridAxis>& axes, const std::vector<int64_t>& strides,
                                const double* place) {
  std::vector<GridTap> all = {{0, 1}};
  std::vector<GridTap> taps;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    axes[axis].read(place[axes.size() - 1 - axis], taps);
    std::vector<GridTap> next;
    for (const GridTap& before : all) {
      for (const GridTap& tap : taps)
        next.push_back({before.index + tap.index * strides[axis], before.weight * tap.weight});
    }
    all = std::move(next);
  }
  return all;
}

Result<void> evaluate_grid_sample(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<GridSampleAttrs>();
  const Tensor& x = ctx.in(0);
  const Tensor& grid = ctx.in(1);
  if (grid.dim(0) != x.dim(0)) return bad_data("GridSample: {} images, {} grids", x.dim(0), grid.dim(0));
  const std::vector<int64_t> spatial(x.dims().begin() + 2, x.dims().end());
  const auto strides = strides_of(spatial);
  std::vector<GridAxis> axes;
  for (const int64_t size : spatial) axes.emplace_back(attrs, size);
  std::vector<int64_t> dims(grid.dims().begin(), grid.dims().end() - 1);
  const int64_t places = count_between(dims, 1, std::ssize(dims));
  dims.insert(dims.begin() + 1, x.dim(1));
  const std::vector<double> at = load_f64(grid);
  const bool numbers = is_float(x.dtype()) || is_integer(x.dtype());
  if (!numbers) return bad_data("GridSample: {} is not sampled", to_string(x.dtype()));
  const std::vector<double> values = load_f64(x);
  std::vector<double> results(static_cast<size_t>(element_count(dims)));
  const int64_t plane = element_count(spatial);
  ctx.threads.run(x.dim(0) * places, [&](int64_t task, int) {
    const int64_t image = task / places;
    const auto taps = read_place(axes, strides, at.data() + task * std::ssize(spatial));
    for (int64_t c = 0; c < x.dim(1); ++c) {
      const double* from = values.data() + (image * x.dim(1) + c) * plane;
      double sum = 0;
      for (const GridTap& tap : taps) sum += tap.weight * from[tap.index];
      results[static_cast<size_t>((image * x.dim(1) + c) * places + task % places)] = sum;
    }
  });
  ctx.outputs[0] = store_f64(x.dtype(), std::move(dims), results);
  return {};
}

std::vector<WorkedCase> grid_sample_cases() {
  const std::vector<Type> images = {Type(DType::F32, {2, 3, 5, 7}), Type(DType::F32, {2, 4, 6, 2})};
  const std::vector<Type> volumes = {Type(DType::F32, {1, 2, 3, 4, 5}), Type(DType::F32, {1, 2, 3, 4, 3})};
  return {
      {"linear_zeros_f32", GridSampleAttrs{}, images},
      {"linear_border_aligned_f32", GridSampleAttrs{ResizeMode::Linear, GridPadding::Border, true}, images},
      {"nearest_reflection_f32", GridSampleAttrs{ResizeMode::Nearest, GridPadding::Reflection, false}, images},
      {"cubic_reflection_aligned_f32", GridSampleAttrs{ResizeMode::Cubic, GridPadding::Reflection, true}, images},
      {"linear_3d_f32", GridSampleAttrs{}, volumes},
  };
}

Result<void> infer_affine_grid(InferContext& ctx) {
  STROP_ASSIGN(const TensorType theta, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<AffineGridAttrs>();
  // (C1) matrices of a floating type.
  if (!is_float(theta.dtype) || (theta.has_rank() && theta.rank() != 3)) {
    return violates("(C1) theta {} is not a batch of floating matrices", to_string(theta));
  }
  const auto length = dims_field_length(ctx, "size", attrs.size);
  if (!length) return ctx.outputs[0] = Type::unranked(theta.dtype), Result<void>();
  // (C2) 2-D or 3-D, and theta fits.
  if (*length != 4 && *length != 5) return violates("(C2) the size has {} axes, 4 or 5 are possible", *length);
  const int64_t spatial = *length - 2;
  if (theta.has_rank()) {
    const bool fits = (!theta.dim(1).is_constant() || theta.dim(1) == Dim(spatial)) &&
                      (!theta.dim(2).is_constant() || theta.dim(2) == Dim(spatial + 1));
    if (!fits) return violates("(C2) theta {} does not fit {} spatial axes", to_string(theta), spatial);
  }
  const auto size = dims_field(ctx, "size", attrs.size);
  Dims dims = {theta.has_rank() ? theta.dim(0) : ctx.unbacked()};
  for (int64_t i = 0; i < spatial; ++i) dims.push_back(size ? (*size)[static_cast<size_t>(2 + i)] : ctx.unbacked());
  dims.push_back(Dim(spatial));
  for (const Dim& dim : dims) {
    if (dim.is_constant() && dim.constant() < 0) return violates("(C3) a size is negative: {}", to_string(dims));
  }
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(theta.dtype, std::move(dims));
  return {};
}

// Element `at` of `size` in [-1, 1].
double grid_place(int64_t at, int64_t size, bool align_corners) {
  const auto position = static_cast<double>(at);
  const auto count = static_cast<double>(size);
  if (!align_corners) return (2 * position + 1) / count - 1;
  return size == 1 ? 0 : 2 * position / (count - 1) - 1;
}

Result<void> evaluate_affine_grid(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<AffineGridAttrs>();
  const Tensor& theta = ctx.in(0);
  const auto size = bound(attrs.size);
  if (size[0] != theta.dim(0)) return bad_data("AffineGrid: {} matrices for {} images", theta.dim(0), size[0]);
  const std::vector<int64_t> spatial(size.begin() + 2, size.end());
  const auto axes = spatial.size();
  std::vector<int64_t> dims = spatial;
  dims.insert(dims.begin(), theta.dim(0));
  dims.push_back(std::ssize(spatial));
  const std::vector<double> matrices = load_f64(theta);
  std::vector<double> results;
  results.reserve(static_cast<size_t>(element_count(dims)));
  for (int64_t n = 0; n < theta.dim(0); ++n) {
    const double* matrix = matrices.data() + static_cast<size_t>(n) * axes * (axes + 1);
    for_each_element(spatial, [&](const std::vector<int64_t>& at, int64_t) {
      for (size_t row = 0; row < axes; ++row) {
        double sum = matrix[row * (axes + 1) + axes];
        for (size_t k = 0; k < axes; ++k) {
          const size_t axis = axes - 1 - k;  // x is the last spatial axis
          sum += matrix[row * (axes + 1) + k] * grid_place(at[axis], spatial[axis], attrs.align_corners);
        }
        results.push_back(sum);
      }
    });
  }
  ctx.outputs[0] = store_f64(theta.dtype(), std::move(dims), results);
  return {};
}

std::vector<WorkedCase> affine_grid_cases() {
  return {{"2d_f32", AffineGridAttrs{{2, 3, 5, 4}, false}, {Type(DType::F32, {2, 2, 3})}},
          {"3d_aligned_f32", AffineGridAttrs{{1, 3, 2, 5, 4}, true}, {Type(DType::F32, {1, 3, 4})}}};
}

}  // namespace

const Operator kGridSample = {
    .name = "GridSample",
    .make_attrs = [] { return Attrs(GridSampleAttrs{}); },
    .infer = infer_grid_sample,
    .evaluate = evaluate_grid_sample,
    .cases = grid_sample_cases,
};

const Operator kAffineGrid = {
    .name = "AffineGrid",
    .make_attrs = [] { return Attrs(AffineGridAttrs{}); },
    .infer = infer_affine_grid,
    .evaluate = evaluate_affine_grid,
    .cases = affine_grid_cases,
};

}  // namespace strop::ops
