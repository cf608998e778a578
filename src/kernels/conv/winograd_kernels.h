/// The transforms of Winograd's F(m x m, 3 x 3), compiled once per CPU target. Private to conv/.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels::conv {

/// F(4, 3) evaluates at 0, +-kPointA, +-kPointB and infinity. Lavin and Gray's +-1 and +-2 lose twice as many bits;
/// these are near the best of the symmetric choices (rms error 1.7 times that of a direct sum over 128 channels,
/// measured), and all derived constants are exact in fp32.
inline constexpr double kPointA = 0.625;
inline constexpr double kPointB = 1.5;

/// One tile of n x n input pixels, n = m + 2, to n * n transformed values per channel.
struct WinogradInput {
  const float* const* pixels;  ///< [n * n]
  int64_t channels;
  float* to;      ///< channel 0 of value 0
  int64_t pitch;  ///< from one value to the next
};

/// n * n transformed sums per channel to m x m output pixels, of which rows x cols exist.
struct WinogradOutput {
  const float* from;
  int64_t pitch;
  int64_t channels;
  int64_t rows, cols;
  float* out;
  int64_t pixel_stride, row_stride;
  const float* bias;      ///< or null
  const float* residual;  ///< or null
  int64_t residual_pixel_stride, residual_row_stride;
  float lo, hi;
};

struct WinogradKernels {
  void (*input)(const WinogradInput& tile);
  void (*output)(const WinogradOutput& tile);
};
/// m is 2 or 4.
const WinogradKernels& winograd_kernels(CpuTarget target, int64_t m);

}  // namespace strop::kernels::conv
