/// The innermost loops of resizing, compiled once per CPU target. Private to resize/.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels {

struct ResizeKernels {
  /// out[i] = sum over k < taps of weights[k] * rows[k][i].
  void (*blend)(const float* const* rows, const float* weights, int64_t taps, int64_t count, float* out);
  /// out[i] = sum over k < taps of weights[k * count + i] * row[indices[k * count + i]]; weights null: taps is 1.
  void (*gather)(const float* row, const int32_t* indices, const float* weights, int64_t taps, int64_t count,
                 float* out);
  /// out[2 * i] = out[2 * i + 1] = row[i].
  void (*twice)(const float* row, int64_t count, float* out);
};
const ResizeKernels& resize_kernels(CpuTarget target);

}  // namespace strop::kernels
