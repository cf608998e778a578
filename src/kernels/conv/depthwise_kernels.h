/// The innermost loops of Depthwise and GroupedDirect, compiled once per CPU target. Private to conv/.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels::conv {

/// Most neighbouring output pixels of one row computed at once.
inline constexpr int kDepthwiseTile = 4;

/// Output pixels [0, pixels) of one row, channels [begin, end): out[i, c] = epilogue(sum over taps t, and inputs j of
/// c's group, of rows[...][source(c, j)] * weights[t, j, c]).
struct DepthwiseTile {
  /// Pointers to input pixels (channel 0). Sliding kernels: [kernel height, columns] with columns =
  /// (kDepthwiseTile - 1) * stride + kernel width; others: [taps, kDepthwiseTile].
  const float* const* rows;
  int64_t pixels;  ///< at most kDepthwiseTile; pointers of missing pixels must still be readable
  int64_t taps;
  const float* weights;   ///< [taps, group size, weight_stride]
  int64_t weight_stride;  ///< channels rounded up to 16
  int64_t begin, end;     ///< begin is a multiple of 16
  int64_t group;          ///< GroupedDirect: channels per group; Depthwise: outputs per input channel
  float* out;             ///< of pixel 0, channel 0
  int64_t out_stride;
  const float* bias;      ///< of channel 0, or null
  const float* residual;  ///< of pixel 0, channel 0, or null
  int64_t residual_stride;
  float lo, hi;
};

struct DepthwiseKernels {
  using Function = void (*)(const DepthwiseTile& tile);
  Function any;          ///< any window, one output per input channel
  Function multiplied;   ///< any window, `group` outputs per input channel
  Function grouped;      ///< any window, `group` inputs per output channel
  Function sliding3[2];  ///< 3x3, stride 1 or 2 along the row
  Function sliding5[2];  ///< 5x5
};
const DepthwiseKernels& depthwise_kernels(CpuTarget target);

}  // namespace strop::kernels::conv
