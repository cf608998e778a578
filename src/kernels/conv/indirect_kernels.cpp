#include "kernels/conv/indirect_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/indirect_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/conv/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using kernels::HWY_NAMESPACE::clamp_vector;
using kernels::HWY_NAMESPACE::kD;
using kernels::HWY_NAMESPACE::kLanes;
using kernels::HWY_NAMESPACE::V;

// Sums, one row of weights and one input value fill the registers: 16 of them, or 32 of AVX-512, where eight rows keep
// the pointers in general registers.
#if HWY_TARGET <= HWY_AVX3
constexpr int kRows = 8;
constexpr int kVectors = 2;
#elif HWY_TARGET == HWY_AVX2
constexpr int kRows = 6;
constexpr int kVectors = 2;
#else
constexpr int kRows = 2;
constexpr int kVectors = 4;
#endif
constexpr int64_t kWidth = kVectors * kLanes;  // one panel; two of AVX-512; part of one if portable

/// Where vector v of a row of weights lies relative to the first panel.
HWY_INLINE int64_t vector_offset(int v, int64_t panel_floats) {
  return v * kLanes / kPanel * panel_floats + v * kLanes % kPanel;
}

/// A tile's own part of IndirectBlock.
struct Tile {
  const float* const* rows;
  const float* weights;
  float* out;
  const float* bias;
  const float* residual;
  int64_t channels;
};

template <int R, int N>
HWY_INLINE void finish_tile(V (&sum)[R][N], const IndirectBlock& args, const Tile& tile) {
  if (args.last) {
    if (tile.bias) {
      HWY_UNROLL(4) for (int v = 0; v < N; ++v) {
        const V bias = hn::LoadU(kD, tile.bias + v * kLanes);
        HWY_UNROLL(8) for (int r = 0; r < R; ++r) sum[r][v] = hn::Add(sum[r][v], bias);
      }
    }
    if (tile.residual) {
      const float* HWY_RESTRICT residual = tile.residual;
      HWY_UNROLL(8) for (int r = 0; r < R; ++r, residual += args.residual_stride) {
        HWY_UNROLL(4) for (int v = 0; v < N; ++v) {
          sum[r][v] = hn::Add(sum[r][v], hn::LoadU(kD, residual + v * kLanes));
        }
      }
    }
    if (args.clamp) {
      const V lo = hn::Set(kD, args.lo);
      const V hi = hn::Set(kD, args.hi);
      HWY_UNROLL(8) for (int r = 0; r < R; ++r) {
        HWY_UNROLL(4) for (int v = 0; v < N; ++v) sum[r][v] = clamp_vector(sum[r][v], lo, hi);
      }
    }
  }
  float* HWY_RESTRICT out = tile.out;
  HWY_UNROLL(8) for (int r = 0; r < R; ++r, out += args.out_stride) {
    HWY_UNROLL(4) for (int v = 0; v < N; ++v) hn::StoreU(sum[r][v], kD, out + v * kLanes);
  }
}

/// Adds taps x depth products to the sums of R pixels and N vectors of channels.
template <int R, int N>
HWY_INLINE void accumulate(V (&sum)[R][N], const IndirectBlock& args, const Tile& tile) {
  const float* HWY_RESTRICT weights = tile.weights;
  const float* const* rows = tile.rows;
  const size_t depth = static_cast<size_t>(args.depth);
  const int64_t panel_floats = args.panel_floats;
  for (int64_t tap = 0; tap < args.taps; ++tap, rows += args.row_pitch) {
    const float* HWY_RESTRICT row[R];
    HWY_UNROLL(8) for (int r = 0; r < R; ++r) row[r] = rows[r] + args.row_offset;
    for (size_t d = 0; d < depth; ++d, weights += kPanel) {
      V right[N];
      HWY_UNROLL(4) for (int v = 0; v < N; ++v) right[v] = hn::LoadU(kD, weights + vector_offset(v, panel_floats));
      HWY_UNROLL(8) for (int r = 0; r < R; ++r) {
        const V value = hn::Set(kD, row[r][d]);
        HWY_UNROLL(4) for (int v = 0; v < N; ++v) sum[r][v] = hn::MulAdd(value, right[v], sum[r][v]);
      }
    }
  }
}

template <int R, int N>
HWY_NOINLINE void full_tile(const IndirectBlock& args, const Tile& tile) {
  V sum[R][N];
  if (args.first) {
    HWY_UNROLL(8) for (int r = 0; r < R; ++r) { HWY_UNROLL(4) for (int v = 0; v < N; ++v) sum[r][v] = hn::Zero(kD); }
  } else {
    const float* HWY_RESTRICT out = tile.out;
    HWY_UNROLL(8) for (int r = 0; r < R; ++r, out += args.out_stride) {
      HWY_UNROLL(4) for (int v = 0; v < N; ++v) sum[r][v] = hn::LoadU(kD, out + v * kLanes);
    }
  }
  accumulate<R, N>(sum, args, tile);
  finish_tile<R, N>(sum, args, tile);
}

/// A tile with fewer channels than its vectors have lanes: everything but the sums goes through a full-width copy.
template <int R, int N>
HWY_NOINLINE void partial_tile(const IndirectBlock& args, const Tile& tile) {
  constexpr int64_t kTileWidth = N * kLanes;
  alignas(64) float out[R * kTileWidth] = {};
  alignas(64) float residual[R * kTileWidth] = {};
  alignas(64) float bias[kTileWidth] = {};
  const size_t bytes = static_cast<size_t>(tile.channels) * sizeof(float);
  if (tile.bias) std::memcpy(bias, tile.bias, bytes);
  for (int64_t r = 0; r < R; ++r) {
    if (!args.first) std::memcpy(out + r * kTileWidth, tile.out + r * args.out_stride, bytes);
    if (tile.residual) std::memcpy(residual + r * kTileWidth, tile.residual + r * args.residual_stride, bytes);
  }
  IndirectBlock inner = args;
  inner.out_stride = inner.residual_stride = kTileWidth;
  full_tile<R, N>(inner, Tile{tile.rows, tile.weights, out, tile.bias ? bias : nullptr,
                              tile.residual ? residual : nullptr, kTileWidth});
  for (int64_t r = 0; r < R; ++r) std::memcpy(tile.out + r * args.out_stride, out + r * kTileWidth, bytes);
}

template <int R, int N>
HWY_INLINE void run_tile(const IndirectBlock& args, const Tile& tile) {
  if (tile.channels >= N * kLanes) {
    full_tile<R, N>(args, tile);
  } else {
    partial_tile<R, N>(args, tile);
  }
}

using TileFunction = void (*)(const IndirectBlock& args, const Tile& tile);

template <int R>
void narrow_or_wide(const IndirectBlock& args, const Tile& tile) {
  // Padding ends with the panel, so the narrow kernel needs no more than half of one (one of two for AVX-512).
  constexpr int kHalf = kVectors / 2;
  if (tile.channels <= kHalf * kLanes) {
    run_tile<R, kHalf>(args, tile);
  } else {
    run_tile<R, kVectors>(args, tile);
  }
}

void compute_block(const IndirectBlock& args) {
  static constexpr TileFunction kTiles[9] = {nullptr,
                                             narrow_or_wide<1>,
                                             narrow_or_wide<std::min(2, kRows)>,
                                             narrow_or_wide<std::min(3, kRows)>,
                                             narrow_or_wide<std::min(4, kRows)>,
                                             narrow_or_wide<std::min(5, kRows)>,
                                             narrow_or_wide<std::min(6, kRows)>,
                                             narrow_or_wide<std::min(7, kRows)>,
                                             narrow_or_wide<std::min(8, kRows)>};
  const int64_t tiles = (args.pixels + kRows - 1) / kRows;
  for (int64_t channel = 0; channel < args.channels; channel += kWidth) {
    const float* weights = args.weights + channel / kPanel * args.panel_floats + channel % kPanel;
    const float* bias = args.bias ? args.bias + channel : nullptr;
    for (int64_t t = 0, pixel = 0; t < tiles; ++t) {
      const int64_t end = args.pixels * (t + 1) / tiles;  // rows are dealt out evenly
      const float* residual = args.residual ? args.residual + pixel * args.residual_stride + channel : nullptr;
      kTiles[end - pixel](args, Tile{args.rows + pixel, weights, args.out + pixel * args.out_stride + channel, bias,
                                     residual, args.channels - channel});
      pixel = end;
    }
  }
}

constexpr IndirectKernels kKernels{kRows, compute_block};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels::conv {

const IndirectKernels& indirect_kernels(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kKernels;
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kKernels;
#endif
    default: return HWY_STATIC_DISPATCH(kKernels);
  }
}

}  // namespace strop::kernels::conv
#endif  // HWY_ONCE
