/// The innermost loops of channels-first pooling, compiled once per CPU target. Private to pool/.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels {

/// How a window lies along a row that has its padding around it.
struct RowWindow {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
};

struct PlaneKernels {
  /// to[i] = max(to[i], row[i]), NaN if either is; to[i] += row[i].
  void (*join_max)(const float* row, int64_t count, float* to);
  void (*join_sum)(const float* row, int64_t count, float* to);
  /// out[i] = max (sum) of row[i * stride + k * dilation] over k. `row` may be read 64 floats beyond what that needs.
  void (*slide_max)(const float* row, const RowWindow& window, int64_t count, float* out);
  void (*slide_sum)(const float* row, const RowWindow& window, int64_t count, float* out);
  /// row[i] = row[i] / (rows * columns[i]).
  void (*divide)(float rows, const float* columns, int64_t count, float* row);
};
const PlaneKernels& plane_kernels(CpuTarget target);

/// Floats beyond a row that slide_max and slide_sum may read.
inline constexpr int64_t kSlideSlack = 64;

}  // namespace strop::kernels
