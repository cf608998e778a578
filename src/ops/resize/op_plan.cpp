// From coordinates to weights: what resizing one axis means.
#include <algorithm>
#include <cmath>

#include "ops/late.h"
#include "ops/resize/resize.h"
#include "ops/resize/resize_sizes.h"

namespace strop::ops {
namespace {

// Filters wider than this are refused.
constexpr double kMostRadius = 1 << 20;

// Coordinates are held within this distance, far beyond any axis that fits memory, so that they convert to integers.
constexpr double kFar = 1e12;

struct AxisMap {
  double in = 0;
  double out = 0;
  double scale = 1;
  double length = 0;  // scale * in, not rounded
  double roi_start = 0;
  double roi_end = 1;
};

double coordinate(ResizeCoordinates coordinates, const AxisMap& map, double x) {
  switch (coordinates) {
    case ResizeCoordinates::HalfPixel: return (x + 0.5) / map.scale - 0.5;
    case ResizeCoordinates::HalfPixelSymmetric:
      return map.in / 2 * (1 - map.out / map.length) + (x + 0.5) / map.scale - 0.5;
    case ResizeCoordinates::PytorchHalfPixel: return map.length == 1 ? -0.5 : (x + 0.5) / map.scale - 0.5;
    case ResizeCoordinates::AlignCorners: return map.length == 1 ? 0 : x * (map.in - 1) / (map.length - 1);
    case ResizeCoordinates::Asymmetric: return x / map.scale;
    case ResizeCoordinates::TfHalfPixelForNn: return (x + 0.5) / map.scale;
    case ResizeCoordinates::TfCropAndResize: break;
  }
  const double extent = (map.roi_end - map.roi_start) * (map.in - 1);
  const double within = map.length == 1 ? extent / 2 : x * extent / (map.length - 1);
  return map.roi_start * (map.in - 1) + within;
}

int64_t nearest(ResizeRounding rounding, double x) {
  switch (rounding) {
    case ResizeRounding::RoundPreferFloor: return static_cast<int64_t>(std::ceil(x - 0.5));
    case ResizeRounding::RoundPreferCeil: return static_cast<int64_t>(std::floor(x + 0.5));
    case ResizeRounding::Floor: return static_cast<int64_t>(std::floor(x));
    case ResizeRounding::Ceil: return static_cast<int64_t>(std::ceil(x));
  }
  STROP_UNREACHABLE("a rounding of no name");
}

struct Tap {
  int64_t index = 0;
  double weight = 0;
};

// The elements that coordinate x draws on. Those beyond an end fall on the end, in one tap, or are left out.
std::vector<Tap> taps_at(const ResizeAttrs& attrs, double x, double stretch, int64_t in) {
  if (attrs.mode == ResizeMode::Nearest) return {{std::clamp<int64_t>(nearest(attrs.rounding, x), 0, in - 1), 1}};
  const double support = attrs.mode == ResizeMode::Linear ? 1 : 2;
  const double radius = support / stretch;
  std::vector<Tap> taps;
  double total = 0;
  const auto first = static_cast<int64_t>(std::floor(x - radius)) + 1;
  const auto last = static_cast<int64_t>(std::ceil(x + radius)) - 1;
  for (int64_t i = first; i <= last; ++i) {
    const double distance = std::abs(static_cast<double>(i) - x) * stretch;
    const double weight =
        attrs.mode == ResizeMode::Linear ? std::max(1 - distance, 0.0) : cubic_weight(attrs.cubic_coeff_a, distance);
    const int64_t index = std::clamp<int64_t>(i, 0, in - 1);
    if (weight == 0 || (attrs.exclude_outside && index != i)) continue;
    total += weight;
    if (!taps.empty() && taps.back().index == index) {
      taps.back().weight += weight;
    } else {
      taps.push_back({index, weight});
    }
  }
  if (total == 0) return {{std::clamp<int64_t>(static_cast<int64_t>(std::floor(x)), 0, in - 1), 1}};
  for (Tap& tap : taps) tap.weight /= total;
  return taps;
}

Result<ResizeAxis> plan_axis(const ResizeAttrs& attrs, const AxisMap& map, size_t axis) {
  ResizeAxis plan{axis, static_cast<int64_t>(map.in), static_cast<int64_t>(map.out), 1, {}, {}, {}};
  if (plan.in == 0 && plan.out > 0) return bad_data("Resize: axis {} has no element to resize", axis);
  const bool widened = attrs.antialias && attrs.mode != ResizeMode::Nearest;
  const double stretch = widened ? std::min(map.scale, 1.0) : 1.0;
  if (2 / stretch > kMostRadius) return bad_data("Resize: axis {} is reduced by {}", axis, 1 / stretch);
  std::vector<std::vector<Tap>> all;
  for (int64_t i = 0; i < plan.out; ++i) {
    double x = coordinate(attrs.coordinates, map, static_cast<double>(i));
    if (!std::isfinite(x)) x = 0;
    x = std::clamp(x, -kFar, kFar);
    if (attrs.coordinates == ResizeCoordinates::TfCropAndResize) plan.outside.push_back(x < 0 || x > map.in - 1);
    all.push_back(taps_at(attrs, x, stretch, plan.in));
    plan.taps = std::max(plan.taps, static_cast<int64_t>(all.back().size()));
  }
  for (auto& taps : all) {
    // All have one count of taps: those missing take half of the first's weight, not 0, which would make NaN of
    // infinity.
    while (std::ssize(taps) < plan.taps) {
      taps.front().weight /= 2;
      taps.push_back(taps.front());
    }
    for (const Tap& tap : taps) {
      plan.indices.push_back(tap.index);
      plan.weights.push_back(tap.weight);
    }
  }
  return plan;
}

bool is_identity(const ResizeAxis& axis) {
  if (axis.in != axis.out || axis.taps != 1) return false;
  if (std::find(axis.outside.begin(), axis.outside.end(), true) != axis.outside.end()) return false;
  for (int64_t i = 0; i < axis.out; ++i) {
    if (axis.indices[static_cast<size_t>(i)] != i) return false;
  }
  return true;
}

}  // namespace

double cubic_weight(double a, double distance) {
  if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  if (distance < 2) return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
  return 0;
}

Result<ResizePlan> plan_resize(const ResizeAttrs& attrs, const std::vector<int64_t>& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  STROP_ASSIGN(const std::vector<ResizedAxis> resized, resized_axes(attrs, dims));
  const bool crops = attrs.coordinates == ResizeCoordinates::TfCropAndResize;
  if (crops && attrs.roi.size() != 2 * resized.size()) {
    return bad_data("Resize: roi has {} values for {} axes", attrs.roi.size(), resized.size());
  }
  ResizePlan plan{dims, {}};
  for (size_t i = 0; i < resized.size(); ++i) {
    const size_t axis = resize_memory_axis(attrs.channels_last, resized[i].axis, rank);
    AxisMap map;
    map.in = static_cast<double>(dims[axis]);
    map.out = static_cast<double>(resized[i].size);
    map.scale = resized[i].scale;
    map.length = resized[i].length;
    if (crops) {
      map.roi_start = attrs.roi[i];
      map.roi_end = attrs.roi[resized.size() + i];
    }
    plan.dims[axis] = resized[i].size;
    STROP_ASSIGN(ResizeAxis axis_plan, plan_axis(attrs, map, axis));
    if (!is_identity(axis_plan)) plan.axes.push_back(std::move(axis_plan));
  }
  return plan;
}

}  // namespace strop::ops
