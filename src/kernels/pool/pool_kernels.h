/// The innermost loops of pooling, compiled once per CPU target. Private to pool/.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels {

struct PoolKernels {
  /// out[c] = max (-inf for none) or sum / divisor over `count` input pixels, channels [0, channels).
  void (*max)(const float* const* rows, int64_t count, int64_t channels, float* out);
  void (*average)(const float* const* rows, int64_t count, int64_t channels, float divisor, float* out);
  /// The same over `count` pixels, one every `stride` floats.
  void (*max_run)(const float* in, int64_t stride, int64_t count, int64_t channels, float* out);
  void (*average_run)(const float* in, int64_t stride, int64_t count, int64_t channels, float* out);
};
const PoolKernels& pool_kernels(CpuTarget target);

}  // namespace strop::kernels
