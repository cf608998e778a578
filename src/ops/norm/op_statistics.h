/// What the reference evaluations of normalisations share. Private to norm/.
#pragma once

#include <cmath>
#include <cstdint>

namespace strop::ops {

/// (x - mean) * inverse normalises a group.
struct GroupStatistics {
  double mean = 0;
  double inverse = 1;  ///< 1 / sqrt(variance + epsilon)
};

/// Of `count` elements element(0), element(1), …; with rms the mean is 0 and the variance is the mean of squares.
template <class Element>
GroupStatistics statistics(int64_t count, double epsilon, bool rms, const Element& element) {
  GroupStatistics result;
  const auto n = static_cast<double>(count);
  if (!rms) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += element(i);
    result.mean = sum / n;
  }
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double distance = element(i) - result.mean;
    squares += distance * distance;
  }
  result.inverse = 1 / std::sqrt(squares / n + epsilon);
  return result;
}

}  // namespace strop::ops
