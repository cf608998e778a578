#include "kernels/attention/attention_kernels.h"

#include <algorithm>
#include <limits>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/conv/vector_inl.h"
#include "kernels/pointwise/vector_math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kPanelVectors = 2;
constexpr int64_t kPanel = kPanelVectors * kLanes;
constexpr int64_t kTileRows = 6;  // 6 x 2 sums, 2 of B and 1 of A fit 16 registers
constexpr float kLowest = -std::numeric_limits<float>::infinity();

template <int kRows>
HWY_INLINE void multiply_tile(const PanelProduct& p, const float* a, const float* b, float* c) {
  V sum[kRows][kPanelVectors];
  HWY_UNROLL(6) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(2) for (int v = 0; v < kPanelVectors; ++v) {
      sum[r][v] = p.accumulate ? hn::LoadU(kD, c + r * p.ldc + v * kLanes) : hn::Zero(kD);
    }
  }
  for (int64_t i = 0; i < p.k; ++i) {
    const V b0 = hn::LoadU(kD, b + i * kPanel);
    const V b1 = hn::LoadU(kD, b + i * kPanel + kLanes);
    HWY_UNROLL(6) for (int r = 0; r < kRows; ++r) {
      const V x = splat(a[r * p.lda + i]);
      sum[r][0] = hn::MulAdd(x, b0, sum[r][0]);
      sum[r][1] = hn::MulAdd(x, b1, sum[r][1]);
    }
  }
  HWY_UNROLL(6) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(2) for (int v = 0; v < kPanelVectors; ++v) hn::StoreU(sum[r][v], kD, c + r * p.ldc + v * kLanes);
  }
}

void multiply(const PanelProduct& p) {
  for (int64_t j = 0; j < p.columns; j += kPanel) {
    const float* b = p.b + j / kPanel * p.panel_stride;
    for (int64_t i = 0; i < p.rows; i += kTileRows) {
      const float* a = p.a + i * p.lda;
      float* c = p.c + i * p.ldc + j;
      switch (std::min(kTileRows, p.rows - i)) {
        case 1: multiply_tile<1>(p, a, b, c); break;
        case 2: multiply_tile<2>(p, a, b, c); break;
        case 3: multiply_tile<3>(p, a, b, c); break;
        case 4: multiply_tile<4>(p, a, b, c); break;
        case 5: multiply_tile<5>(p, a, b, c); break;
        default: multiply_tile<6>(p, a, b, c); break;
      }
    }
  }
}

// Rows are contiguous: a copy.
void pack_rows(const PanelSource& source, int64_t first, int64_t width, float* panel) {
  for (int64_t i = 0; i < source.rows; ++i) {
    const float* from = source.data + i * source.row_stride + first;
    float* to = panel + i * kPanel;
    for (int64_t v = 0; v < kPanelVectors; ++v) {
      const int64_t lanes = std::clamp<int64_t>(width - v * kLanes, 0, kLanes);
      hn::StoreU(lanes == 0 ? hn::Zero(kD) : load_part(from + v * kLanes, lanes), kD, to + v * kLanes);
    }
  }
}

/// to[r * kPanel + c] = from[c][i + r] for a tile of 4 x 4.
HWY_INLINE void transpose_tile(const float* const* from, int64_t i, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t c = 0; c < 4; ++c) to[r * kPanel + c] = from[c][i + r];
  }
#else
  const hn::CappedTag<float, 4> d;
  const auto a = hn::LoadU(d, from[0] + i);
  const auto b = hn::LoadU(d, from[1] + i);
  const auto c = hn::LoadU(d, from[2] + i);
  const auto e = hn::LoadU(d, from[3] + i);
  const auto ab_low = hn::InterleaveLower(d, a, b);  // a0 b0 a1 b1
  const auto ab_high = hn::InterleaveUpper(d, a, b);
  const auto ce_low = hn::InterleaveLower(d, c, e);
  const auto ce_high = hn::InterleaveUpper(d, c, e);
  hn::StoreU(hn::ConcatLowerLower(d, ce_low, ab_low), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, ce_low, ab_low), d, to + kPanel);
  hn::StoreU(hn::ConcatLowerLower(d, ce_high, ab_high), d, to + 2 * kPanel);
  hn::StoreU(hn::ConcatUpperUpper(d, ce_high, ab_high), d, to + 3 * kPanel);
#endif
}

// Columns are contiguous: a transposition in tiles of 4 x 4.
void pack_columns(const PanelSource& source, int64_t first, int64_t width, float* panel) {
  if (width < kPanel) std::fill_n(panel, source.rows * kPanel, 0.0f);
  const auto column = [&](int64_t j) { return source.data + (first + j) * source.column_stride; };
  int64_t j = 0;
  for (; kPanel >= 4 && j + 4 <= width; j += 4) {
    const float* const from[] = {column(j), column(j + 1), column(j + 2), column(j + 3)};
    int64_t i = 0;
    for (; i + 4 <= source.rows; i += 4) transpose_tile(from, i, panel + i * kPanel + j);
    for (; i < source.rows; ++i) {
      for (int64_t c = 0; c < 4; ++c) panel[i * kPanel + j + c] = from[c][i];
    }
  }
  for (; j < width; ++j) {
    for (int64_t i = 0; i < source.rows; ++i) panel[i * kPanel + j] = column(j)[i];
  }
}

void pack(const PanelSource& source, float* panels, int64_t panel_stride) {
  for (int64_t first = 0; first < source.columns; first += kPanel) {
    const int64_t width = std::min(kPanel, source.columns - first);
    float* panel = panels + first / kPanel * panel_stride;
    if (source.column_stride == 1) {
      pack_rows(source, first, width, panel);
    } else {
      pack_columns(source, first, width, panel);
    }
  }
}

HWY_INLINE V dot_lanes(const float* a, const float* b, int64_t k) {
  V sum = hn::Zero(kD);
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) sum = hn::MulAdd(hn::LoadU(kD, a + i), hn::LoadU(kD, b + i), sum);
  if (i < k) sum = hn::MulAdd(load_part(a + i, k - i), load_part(b + i, k - i), sum);
  return sum;
}

void dot_rows(const float* a, const float* b, int64_t b_row, int64_t n, int64_t k, float* s) {
  for (int64_t j = 0; j < n; ++j) s[j] = hn::GetLane(hn::SumOfLanes(kD, dot_lanes(a, b + j * b_row, k)));
}

template <bool kCap, bool kMask>
HWY_INLINE void change_row(float* s, int64_t n, const ScoreChange& change) {
  const V factor = splat(change.scale);
  const V cap = splat(change.softcap);
  for (int64_t j = 0; j < n; j += kLanes) {
    const int64_t lanes = n - j;
    V score = hn::Mul(load_part(s + j, lanes), factor);
    if constexpr (kCap) score = hn::Mul(tanh_vector(hn::Div(score, cap)), cap);
    if constexpr (kMask) score = hn::Add(score, load_part(change.mask + j, lanes));
    store_part(score, s + j, lanes);
  }
}

void change_scores(float* s, int64_t n, const ScoreChange& change) {
  if (change.softcap == 0) {
    change.mask == nullptr ? change_row<false, false>(s, n, change) : change_row<false, true>(s, n, change);
  } else {
    change.mask == nullptr ? change_row<true, false>(s, n, change) : change_row<true, true>(s, n, change);
  }
}

void apply_bool_mask(float* s, const uint8_t* mask, int64_t n) {
  const hn::Rebind<uint8_t, D> bytes;
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const auto seen = hn::Ne(hn::PromoteTo(kDI, hn::LoadU(bytes, mask + j)), hn::Zero(kDI));
    hn::StoreU(hn::IfThenElse(hn::RebindMask(kD, seen), hn::LoadU(kD, s + j), splat(kLowest)), kD, s + j);
  }
  for (; j < n; ++j) s[j] = mask[j] != 0 ? s[j] : kLowest;
}

float max_row(const float* s, int64_t padded) {
  V even = splat(kLowest);  // two chains: a step of one takes several cycles
  V odd = even;
  for (int64_t j = 0; j < padded; j += kPanel) {
    even = max_or_nan(even, hn::LoadU(kD, s + j));
    odd = max_or_nan(odd, hn::LoadU(kD, s + j + kLanes));
  }
  const V most = max_or_nan(even, odd);
  float values[kLanes];
  hn::StoreU(most, kD, values);
  float result = kLowest;
  for (const float value : values) result = result > value || result != result ? result : value;
  return result;
}

float exp_row(float* s, int64_t padded, float factor, float shift) {
  const V by = splat(factor);
  const V less = splat(shift);
  V sum = hn::Zero(kD);
  for (int64_t j = 0; j < padded; j += kLanes) {
    const V e = exp_nonpositive(hn::MulSub(hn::LoadU(kD, s + j), by, less));
    hn::StoreU(e, kD, s + j);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(kD, sum));
}

void scale(const float* x, int64_t n, float factor, float* y) {
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) hn::StoreU(hn::Mul(hn::LoadU(kD, x + j), splat(factor)), kD, y + j);
  for (; j < n; ++j) y[j] = x[j] * factor;
}

void add_scaled(const float* v, int64_t e, float weight, float* out) {
  int64_t j = 0;
  for (; j + kLanes <= e; j += kLanes) {
    hn::StoreU(hn::MulAdd(hn::LoadU(kD, v + j), splat(weight), hn::LoadU(kD, out + j)), kD, out + j);
  }
  for (; j < e; ++j) out[j] += v[j] * weight;
}

constexpr AttentionKernels kKernels{kPanel,          multiply, pack,    dot_rows, change_scores,
                                    apply_bool_mask, max_row,  exp_row, scale,    add_scaled};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

const AttentionKernels& attention_kernels(CpuTarget target) {
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

}  // namespace strop::kernels
#endif  // HWY_ONCE
