#include "kernels/conv/depthwise_kernels.h"

#include <algorithm>
#include <cstddef>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise_kernels.cpp"
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
using kernels::HWY_NAMESPACE::load_part;
using kernels::HWY_NAMESPACE::store_part;
using kernels::HWY_NAMESPACE::V;

/// Which pixels and channels of a tile exist. kWhole: all of them, known at compile time.
template <bool kWhole>
struct Part {
  int64_t pixels;  // of the tile
  int64_t lanes;   // of the vector

  HWY_INLINE V load(const float* from) const {
    if constexpr (kWhole) return hn::LoadU(kD, from);
    return load_part(from, lanes);
  }
  HWY_INLINE void store(V x, float* to) const {
    if constexpr (kWhole) {
      hn::StoreU(x, kD, to);
    } else {
      store_part(x, to, lanes);
    }
  }
};

HWY_INLINE V start_of(const DepthwiseTile& tile, int64_t c, int64_t lanes) {
  return tile.bias ? load_part(tile.bias + c, lanes) : hn::Zero(kD);
}

/// Residual, clamp and store of one output row's pixels.
template <int kPixels, bool kWhole>
HWY_INLINE void finish(const V (&sum)[kPixels], const DepthwiseTile& tile, int64_t row, int64_t c,
                       const Part<kWhole>& part) {
  const V lo = hn::Set(kD, tile.lo);
  const V hi = hn::Set(kD, tile.hi);
  const int64_t pixel_stride = tile.pixel_stride;
  float* to = tile.out + row * tile.row_stride + c;
  if (!tile.residual) {
    HWY_UNROLL(8) for (int i = 0; i < kPixels; ++i, to += pixel_stride) {
      if (!kWhole && i >= part.pixels) break;
      part.store(clamp_vector(sum[i], lo, hi), to);
    }
    return;
  }
  const float* residual = tile.residual + row * tile.residual_row_stride + c;
  HWY_UNROLL(8) for (int i = 0; i < kPixels; ++i, to += pixel_stride, residual += tile.residual_pixel_stride) {
    if (!kWhole && i >= part.pixels) break;
    part.store(clamp_vector(hn::Add(sum[i], part.load(residual)), lo, hi), to);
  }
}

/// Calls body(channel, Part) for every vector of channels.
#define STROP_FOR_CHANNELS(tile, tile_pixels, body)                                \
  do {                                                                             \
    int64_t c = (tile).begin;                                                      \
    if ((tile).pixels == (tile_pixels)) {                                          \
      for (; c + kLanes <= (tile).end; c += kLanes) {                              \
        body(tile, c, Part<true>{tile_pixels, kLanes});                            \
      }                                                                            \
    }                                                                              \
    for (; c < (tile).end; c += kLanes) {                                          \
      body(tile, c, Part<false>{(tile).pixels, std::min(kLanes, (tile).end - c)}); \
    }                                                                              \
  } while (false)

constexpr int kPixels = kDepthwisePixels;  // sums and inputs of GroupedDirect fit 16 registers

template <bool kWhole>
HWY_INLINE void any_vector(const DepthwiseTile& tile, int64_t c, const Part<kWhole>& part) {
  V sum[kPixels];
  const V start = start_of(tile, c, part.lanes);
  HWY_UNROLL(8) for (int i = 0; i < kPixels; ++i) sum[i] = start;
  const float* const* rows = tile.rows;
  const float* weights = tile.weights + c;
  for (int64_t t = 0; t < tile.taps; ++t, rows += tile.row_pitch, weights += tile.weight_stride) {
    const V w = hn::LoadU(kD, weights);
    HWY_UNROLL(8) for (int i = 0; i < kPixels; ++i) sum[i] = hn::MulAdd(part.load(rows[i] + c), w, sum[i]);
  }
  finish<kPixels>(sum, tile, 0, c, part);
}

void any(const DepthwiseTile& tile) { STROP_FOR_CHANNELS(tile, kPixels, any_vector); }

template <int kSize, int kStride, int kOutRows, bool kWhole>
HWY_INLINE void sliding_vector(const DepthwiseTile& tile, int64_t c, const Part<kWhole>& part) {
  constexpr int kTile = kSlidingPixels;
  constexpr int kInRows = (kOutRows - 1) * kStride + kSize;
  constexpr int kInColumns = (kTile - 1) * kStride + kSize;
  V sum[kOutRows][kTile];
  const V start = start_of(tile, c, part.lanes);
  HWY_UNROLL(2) for (int r = 0; r < kOutRows; ++r) { HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) sum[r][i] = start; }
  const float* weights = tile.weights + c;
  const int64_t stride = tile.weight_stride;
  const float* const* rows = tile.rows;
  HWY_UNROLL(7) for (int y = 0; y < kInRows; ++y, rows += tile.row_pitch) {
    V w[kOutRows][kSize];  // the weights' rows that meet this input row
    HWY_UNROLL(2) for (int r = 0; r < kOutRows; ++r) {
      const int ky = y - r * kStride;
      if (ky < 0 || ky >= kSize) continue;
      HWY_UNROLL(5) for (int x = 0; x < kSize; ++x) w[r][x] = hn::LoadU(kD, weights + (ky * kSize + x) * stride);
    }
    HWY_UNROLL(11) for (int x = 0; x < kInColumns; ++x) {
      const V in = part.load(rows[x] + c);
      HWY_UNROLL(2) for (int r = 0; r < kOutRows; ++r) {
        if (y - r * kStride < 0 || y - r * kStride >= kSize) continue;
        HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) {
          const int kx = x - i * kStride;
          if (kx >= 0 && kx < kSize) sum[r][i] = hn::MulAdd(in, w[r][kx], sum[r][i]);
        }
      }
    }
  }
  HWY_UNROLL(2) for (int r = 0; r < kOutRows; ++r) finish<kTile>(sum[r], tile, r, c, part);
}

template <int kSize, int kStride>
void sliding(const DepthwiseTile& tile) {
  if (tile.out_rows == 2) {
    STROP_FOR_CHANNELS(tile, kSlidingPixels, (sliding_vector<kSize, kStride, 2>));
  } else {
    STROP_FOR_CHANNELS(tile, kSlidingPixels, (sliding_vector<kSize, kStride, 1>));
  }
}

/// Depthwise with several outputs per input channel: the inputs of a vector are picked one by one.
template <bool kWhole>
HWY_INLINE void multiplied_vector(const DepthwiseTile& tile, int64_t c, const Part<kWhole>& part) {
  int64_t source[kLanes] = {};
  for (int64_t l = 0; l < part.lanes; ++l) source[l] = (c + l) / tile.group;
  V sum[kPixels];
  const V start = start_of(tile, c, part.lanes);
  HWY_UNROLL(8) for (int i = 0; i < kPixels; ++i) sum[i] = start;
  const float* const* rows = tile.rows;
  const float* weights = tile.weights + c;
  for (int64_t t = 0; t < tile.taps; ++t, rows += tile.row_pitch, weights += tile.weight_stride) {
    const V w = hn::LoadU(kD, weights);
    for (int i = 0; i < kPixels; ++i) {
      float in[kLanes];
      for (int64_t l = 0; l < kLanes; ++l) in[l] = rows[i][source[l]];
      sum[i] = hn::MulAdd(hn::LoadU(kD, in), w, sum[i]);
    }
  }
  finish<kPixels>(sum, tile, 0, c, part);
}

void multiplied(const DepthwiseTile& tile) { STROP_FOR_CHANNELS(tile, kPixels, multiplied_vector); }

/// What GroupedDirect multiplies: input j of the group of each lane of the vector at channel c.
template <int kGroup, bool kWhole>
HWY_INLINE V pick(const float* row, int64_t c, int j, [[maybe_unused]] const Part<kWhole>& part) {
  if constexpr (kGroup >= kLanes) {
    return hn::Set(kD, row[c / kGroup * kGroup + j]);
#if HWY_TARGET != HWY_SCALAR
  } else if constexpr (kGroup == 2) {
    const V in = part.load(row + c);
    return j == 0 ? hn::DupEven(in) : hn::DupOdd(in);
  } else if constexpr (kGroup == 4) {
    const V in = part.load(row + c);
    return j == 0   ? hn::Broadcast<0>(in)  // within blocks of four lanes
           : j == 1 ? hn::Broadcast<1>(in)
           : j == 2 ? hn::Broadcast<2>(in)
                    : hn::Broadcast<3>(in);
  } else {
    alignas(64) int32_t lanes[kLanes];
    for (int l = 0; l < static_cast<int>(kLanes); ++l) lanes[l] = l / kGroup * kGroup + j;
    return hn::TableLookupLanes(part.load(row + c), hn::SetTableIndices(kD, lanes));
#endif
  }
}

template <int kGroup, bool kWhole>
HWY_INLINE void grouped_vector(const DepthwiseTile& tile, int64_t c, const Part<kWhole>& part) {
  V sum[kPixels];
  const V start = start_of(tile, c, part.lanes);
  HWY_UNROLL(8) for (int i = 0; i < kPixels; ++i) sum[i] = start;
  const float* const* rows = tile.rows;
  const float* weights = tile.weights + c;
  for (int64_t t = 0; t < tile.taps; ++t, rows += tile.row_pitch) {
    HWY_UNROLL(16) for (int j = 0; j < kGroup; ++j, weights += tile.weight_stride) {
      const V w = hn::LoadU(kD, weights);
      HWY_UNROLL(8) for (int i = 0; i < kPixels; ++i) {
        sum[i] = hn::MulAdd(pick<kGroup>(rows[i], c, j, part), w, sum[i]);
      }
    }
  }
  finish<kPixels>(sum, tile, 0, c, part);
}

void grouped(const DepthwiseTile& tile) {
  switch (tile.group) {
    case 1: return any(tile);
    case 2: STROP_FOR_CHANNELS(tile, kPixels, grouped_vector<2>); break;
    case 4: STROP_FOR_CHANNELS(tile, kPixels, grouped_vector<4>); break;
    case 8: STROP_FOR_CHANNELS(tile, kPixels, grouped_vector<8>); break;
    case 16: STROP_FOR_CHANNELS(tile, kPixels, grouped_vector<16>); break;
    default: break;
  }
}
#undef STROP_FOR_CHANNELS

constexpr DepthwiseKernels kKernels{
    any, multiplied, grouped, {sliding<3, 1>, sliding<3, 2>}, {sliding<5, 1>, sliding<5, 2>}};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels::conv {

const DepthwiseKernels& depthwise_kernels(CpuTarget target) {
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
