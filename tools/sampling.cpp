#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strop::tool {

double percentile(const std::vector<double>& sorted, double fraction) {
  const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

// The ranks n/2 ± 1.96·√n/2 of the sorted samples (the normal approximation of the binomial distribution).
Median median_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t count = samples.size();
  const double value = count % 2 == 1 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
  constexpr size_t kFew = 6;
  if (count < kFew) return {value, samples.front(), samples.back()};
  const double middle = static_cast<double>(count) / 2;
  const double reach = 0.98 * std::sqrt(static_cast<double>(count));
  const auto low = static_cast<size_t>(std::max(std::floor(middle - reach), 0.0));
  const auto high = std::min(static_cast<size_t>(std::ceil(middle + reach)), count - 1);
  return {value, samples[low], samples[high]};
}

Json latency_json(std::vector<double> samples_ms) {
  std::sort(samples_ms.begin(), samples_ms.end());
  const Median median = median_of(samples_ms);
  const double mean =
      std::accumulate(samples_ms.begin(), samples_ms.end(), 0.0) / static_cast<double>(samples_ms.size());
  return {{"median", median.value},
          {"mean", mean},
          {"p90", percentile(samples_ms, 0.9)},
          {"p99", percentile(samples_ms, 0.99)},
          {"min", samples_ms.front()},
          {"max", samples_ms.back()},
          {"ci95", {median.low, median.high}}};
}

}  // namespace strop::tool
