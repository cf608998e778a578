/// Durations and what they say.
#pragma once

#include <vector>

#include "console.h"

namespace strop::tool {

/// A median with the interval that holds the true one with 95 % probability, from order statistics: no assumption on
/// the distribution. With fewer than 6 samples it is the whole range.
struct Median {
  double value = 0;
  double low = 0;
  double high = 0;
};
Median median_of(std::vector<double> samples);

/// The value that `fraction` of the sorted samples do not exceed.
double percentile(const std::vector<double>& sorted, double fraction);

/// {"median", "mean", "p90", "p99", "min", "max", "ci95"}
Json latency_json(std::vector<double> samples_ms);

}  // namespace strop::tool
