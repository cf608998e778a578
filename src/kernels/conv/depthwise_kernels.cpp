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

constexpr int kTile = kDepthwiseTile;

/// Full vectors of input, or the last, partial one.
template <bool kPart>
HWY_INLINE V load(const float* from, int64_t count) {
  if constexpr (kPart) return load_part(from, count);
  return hn::LoadU(kD, from);
}

template <bool kPart>
HWY_INLINE void finish(V (&sum)[kTile], const DepthwiseTile& tile, int64_t c, int64_t count) {
  const V lo = hn::Set(kD, tile.lo);
  const V hi = hn::Set(kD, tile.hi);
  V bias = hn::Zero(kD);
  if (tile.bias) bias = load<kPart>(tile.bias + c, count);
  HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) {
    if (i >= tile.pixels) break;
    V x = hn::Add(sum[i], bias);
    if (tile.residual) x = hn::Add(x, load<kPart>(tile.residual + i * tile.residual_stride + c, count));
    x = clamp_vector(x, lo, hi);
    if constexpr (kPart) {
      store_part(x, tile.out + i * tile.out_stride + c, count);
    } else {
      hn::StoreU(x, kD, tile.out + i * tile.out_stride + c);
    }
  }
}

template <bool kPart>
HWY_INLINE void any_vector(const DepthwiseTile& tile, int64_t c, int64_t count) {
  V sum[kTile];
  HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) sum[i] = hn::Zero(kD);
  const float* const* rows = tile.rows;
  const float* weights = tile.weights + c;
  for (int64_t t = 0; t < tile.taps; ++t, rows += kTile, weights += tile.weight_stride) {
    const V w = hn::LoadU(kD, weights);
    HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) sum[i] = hn::MulAdd(load<kPart>(rows[i] + c, count), w, sum[i]);
  }
  finish<kPart>(sum, tile, c, count);
}

void any(const DepthwiseTile& tile) {
  int64_t c = tile.begin;
  for (; c + kLanes <= tile.end; c += kLanes) any_vector<false>(tile, c, kLanes);
  if (c < tile.end) any_vector<true>(tile, c, tile.end - c);
}

template <int kHeight, int kWidth, int kStride, bool kPart>
HWY_INLINE void sliding_vector(const DepthwiseTile& tile, int64_t c, int64_t count) {
  constexpr int kColumns = (kTile - 1) * kStride + kWidth;
  V sum[kTile];
  HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) sum[i] = hn::Zero(kD);
  const float* weights = tile.weights + c;
  const float* const* rows = tile.rows;
  HWY_UNROLL(5) for (int y = 0; y < kHeight; ++y, rows += kColumns) {
    V w[kWidth];
    HWY_UNROLL(5) for (int x = 0; x < kWidth; ++x, weights += tile.weight_stride) w[x] = hn::LoadU(kD, weights);
    HWY_UNROLL(11) for (int x = 0; x < kColumns; ++x) {
      const V in = load<kPart>(rows[x] + c, count);
      HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) {
        const int k = x - i * kStride;
        if (k >= 0 && k < kWidth) sum[i] = hn::MulAdd(in, w[k], sum[i]);
      }
    }
  }
  finish<kPart>(sum, tile, c, count);
}

template <int kHeight, int kWidth, int kStride>
void sliding(const DepthwiseTile& tile) {
  int64_t c = tile.begin;
  for (; c + kLanes <= tile.end; c += kLanes) sliding_vector<kHeight, kWidth, kStride, false>(tile, c, kLanes);
  if (c < tile.end) sliding_vector<kHeight, kWidth, kStride, true>(tile, c, tile.end - c);
}

/// Depthwise with several outputs per input channel: the inputs of a vector are picked one by one.
void multiplied(const DepthwiseTile& tile) {
  for (int64_t c = tile.begin; c < tile.end; c += kLanes) {
    const int64_t count = std::min(kLanes, tile.end - c);
    alignas(64) int64_t source[kLanes] = {};
    for (int64_t l = 0; l < count; ++l) source[l] = (c + l) / tile.group;
    V sum[kTile];
    HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) sum[i] = hn::Zero(kD);
    const float* const* rows = tile.rows;
    const float* weights = tile.weights + c;
    for (int64_t t = 0; t < tile.taps; ++t, rows += kTile, weights += tile.weight_stride) {
      const V w = hn::LoadU(kD, weights);
      for (int i = 0; i < kTile; ++i) {
        alignas(64) float in[kLanes];
        for (int64_t l = 0; l < kLanes; ++l) in[l] = rows[i][source[l]];
        sum[i] = hn::MulAdd(hn::Load(kD, in), w, sum[i]);
      }
    }
    if (count == kLanes) {
      finish<false>(sum, tile, c, count);
    } else {
      finish<true>(sum, tile, c, count);
    }
  }
}

/// Groups narrower than a vector: the inputs of a vector of outputs lie in the same lanes' groups of the input vector.
template <bool kPart>
HWY_INLINE void grouped_vector(const DepthwiseTile& tile, int64_t c, int64_t count) {
  V sum[kTile];
  HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) sum[i] = hn::Zero(kD);
  const int64_t group = tile.group;
  const float* weights = tile.weights + c;
  const float* const* rows = tile.rows;
  if (group >= kLanes) {
    const int64_t from = c / group * group;
    for (int64_t t = 0; t < tile.taps; ++t, rows += kTile) {
      for (int64_t j = 0; j < group; ++j, weights += tile.weight_stride) {
        const V w = hn::LoadU(kD, weights);
        HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) {
          sum[i] = hn::MulAdd(hn::Set(kD, rows[i][from + j]), w, sum[i]);
        }
      }
    }
  } else {
    alignas(64) int32_t lanes[16][kLanes];
    for (int64_t j = 0; j < group; ++j) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[j][l] = static_cast<int32_t>(l / group * group + j);
    }
    for (int64_t t = 0; t < tile.taps; ++t, rows += kTile) {
      V in[kTile];
      HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) in[i] = load<kPart>(rows[i] + c, count);
      for (int64_t j = 0; j < group; ++j, weights += tile.weight_stride) {
        const V w = hn::LoadU(kD, weights);
        const auto pick = hn::SetTableIndices(kD, lanes[j]);
        HWY_UNROLL(4) for (int i = 0; i < kTile; ++i) {
          sum[i] = hn::MulAdd(hn::TableLookupLanes(in[i], pick), w, sum[i]);
        }
      }
    }
  }
  finish<kPart>(sum, tile, c, count);
}

void grouped(const DepthwiseTile& tile) {
  int64_t c = tile.begin;
  for (; c + kLanes <= tile.end; c += kLanes) grouped_vector<false>(tile, c, kLanes);
  if (c < tile.end) grouped_vector<true>(tile, c, tile.end - c);
}

constexpr DepthwiseKernels kKernels{
    any, multiplied, grouped, {sliding<3, 3, 1>, sliding<3, 3, 2>}, {sliding<5, 5, 1>, sliding<5, 5, 2>}};

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
