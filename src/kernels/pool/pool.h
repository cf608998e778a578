/// fp32 pooling on the CPU, channels-last (see kernels/conv/conv.h for layout and the order of triples).
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "kernels/conv/conv.h"
#include "kernels/cpu_target.h"

namespace strop::kernels {

enum class PoolKind {
  Max,              ///< of the pixels inside; NaN if any is NaN; -inf if there are none
  Average,          ///< sum over pixels inside, divided by their number (0 / 0 = NaN if there are none)
  AverageWithPads,  ///< divided by the number of taps inside the padded input (ceil_mode may reach beyond it)
};

struct PoolProblem {
  PoolKind kind = PoolKind::Max;
  int64_t batch = 1;
  Extent3 in{1, 1, 1};
  int64_t channels = 1;
  Window window;
  Extent3 out{1, 1, 1};                               ///< see pool_out_extent
  int64_t in_pixel_stride = 0, out_pixel_stride = 0;  ///< 0: dense
  CpuTarget target = best_cpu_target();
};

/// Output pixels along an axis. With ceil_mode the last window may be partial, but must start inside the input or its
/// leading padding (as ONNX and PyTorch have it).
int64_t pool_out_extent(int64_t in, const Window& window, int axis, bool ceil_mode);

/// Max or average over windows.
void pool(const PoolProblem& problem, const float* input, float* output, Threads& threads);

/// One output pixel per image from all its pixels; window and out are ignored, and both averages are the same.
/// Averages sum 128 pixels at a time in fp32 and those sums in double, so that long sums stay accurate.
void global_pool(const PoolProblem& problem, const float* input, float* output, Threads& threads);

}  // namespace strop::kernels
