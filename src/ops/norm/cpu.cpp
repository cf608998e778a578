#include <array>
#include <cmath>

#include "ops/families.h"
#include "ops/norm/cpu_norm.h"

namespace strop::ops {

GroupStatistics statistics_of(const kernels::Moments& moments, double shift, int64_t count, double epsilon) {
  const auto n = static_cast<double>(count);
  const double off = moments.sum / n;
  const double variance = moments.squares / n - off * off;
  return {shift + off, 1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon)};
}

GroupStatistics row_statistics(const kernels::RowKernels& loops, const float* x, int64_t count, double epsilon) {
  const auto near = static_cast<float>(loops.reduce(kernels::RowOp::Sum, x, count, 0) / static_cast<double>(count));
  return statistics_of(loops.moments(x, count, near), static_cast<double>(near), count, epsilon);
}

Centering centering(double mean, double factor, double bias) {
  const auto rounded = static_cast<float>(mean);
  return {rounded, static_cast<float>(factor),
          static_cast<float>(bias + (static_cast<double>(rounded) - mean) * factor)};
}

std::span<const tactics::Tactic* const> norm_cpu_tactics() {
  static constexpr std::array kTactics = {&kLayerNormRows, &kGroupNormPlanes, &kGroupNormChannelsLast,
                                          &kBatchNormPlanes, &kLocalResponseNormTiles};
  return kTactics;
}

}  // namespace strop::ops
