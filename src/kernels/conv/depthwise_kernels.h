/// The innermost loops of Depthwise and GroupedDirect, compiled once per CPU target. Private to conv/.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels::conv {

/// Output pixels of one row computed at once: by most kernels, by the sliding ones (on up to two rows).
inline constexpr int64_t kDepthwisePixels = 6;
inline constexpr int64_t kSlidingPixels = 4;

/// `pixels` neighbouring output pixels of `out_rows` rows, channels [begin, end): out[r, i, c] = epilogue(sum over taps
/// t and inputs j of c's group of input(t, r, i)[source(c, j)] * weights[t, j, c]).
struct DepthwiseTile {
  /// Pointers to input pixels (channel 0). Sliding kernels: [input rows of the tile][input columns], the window of
  /// pixel (r, i) starting at row r * stride, column i * stride; others: [taps][pixels]. Pointers of pixels that do not
  /// exist, up to a whole tile, must still be readable.
  const float* const* rows;
  int64_t row_pitch;
  int64_t taps;
  int64_t pixels;
  int64_t out_rows;       ///< 1, or for sliding kernels 2
  const float* weights;   ///< [taps, group inputs, weight_stride]
  int64_t weight_stride;  ///< channels rounded up to 16
  int64_t begin, end;     ///< begin is a multiple of 16
  int64_t group;          ///< GroupedDirect: channels per group; Depthwise: outputs per input channel
  float* out;             ///< of row 0, pixel 0, channel 0
  int64_t pixel_stride, row_stride;
  const float* bias;      ///< of channel 0, or null
  const float* residual;  ///< of row 0, pixel 0, channel 0, or null
  int64_t residual_pixel_stride, residual_row_stride;
  float lo, hi;
};

struct DepthwiseKernels {
  using Function = void (*)(const DepthwiseTile& tile);
  Function any;          ///< any window, one output per input channel
  Function multiplied;   ///< any window, `group` outputs per input channel
  Function grouped;      ///< any window, `group` inputs per output channel
  Function sliding3[2];  ///< 3x3, stride 1 or 2 in both directions, no dilation
  Function sliding5[2];  ///< 5x5
};
const DepthwiseKernels& depthwise_kernels(CpuTarget target);

}  // namespace strop::kernels::conv
