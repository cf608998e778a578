/// The innermost loops of ImplicitGemm, RowGemm, Winograd and Transposed, compiled once per CPU target. Private to
/// conv/.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels::conv {

/// Output channels per panel of packed weights, on every target.
inline constexpr int64_t kPanel = 16;

/// out[p, c] (+)= sum over taps t and depth d of rows[t][p][row_offset + d] * weights[c / 16][t * depth + d][c % 16].
struct IndirectBlock {
  const float* const* rows;  ///< [taps, row_pitch]: pointers to the input of a tap and pixel
  int64_t row_pitch;
  int64_t row_offset;  ///< floats added to each of them
  int64_t pixels, taps, depth;
  const float* weights;  ///< first panel, at this section of the sum
  int64_t panel_floats;  ///< from one panel to the next
  int64_t channels;      ///< to compute; the last panel is padded with zeros
  float* out;
  int64_t out_stride;
  bool first;             ///< start from zero, not from what out holds
  bool last;              ///< apply the epilogue
  const float* bias;      ///< of the first channel, or null
  const float* residual;  ///< of the first pixel and channel, or null
  int64_t residual_stride;
  bool clamp;
  float lo, hi;
};

struct IndirectKernels {
  int tile_rows;  ///< pixels that the innermost kernel computes at once
  void (*block)(const IndirectBlock& args);
};
const IndirectKernels& indirect_kernels(CpuTarget target);

}  // namespace strop::kernels::conv
