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

// Columns are contiguous: a transposition, four source columns at a time so that writes of a row meet in cache.
void pack_columns(const PanelSource& source, int64_t first, int64_t width, float* panel) {
  if (width < kPanel) std::fill_n(panel, source.rows * kPanel, 0.0f);
  const float* data = source.data + first * source.column_stride;
  int64_t j = 0;
  for (; j + 4 <= width; j += 4) {
    const float* x0 = data + j * source.column_stride;
    const float* x1 = x0 + source.column_stride;
    const float* x2 = x1 + source.column_stride;
    const float* x3 = x2 + source.column_stride;
    for (int64_t i = 0; i < source.rows; ++i) {
      float* to = panel + i * kPanel + j;
      to[0] = x0[i];
      to[1] = x1[i];
      to[2] = x2[i];
      to[3] = x3[i];
    }
  }
  for (; j < width; ++j) {
    for (int64_t i = 0; i < source.rows; ++i) panel[i * kPanel + j] = data[j * source.column_stride + i];
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

void scale_row(const ScoreRow& row) {
  const V factor = splat(row.scale);
  if (row.softcap == 0) {
    for (int64_t j = 0; j < row.padded; j += kLanes) hn::StoreU(hn::Mul(hn::LoadU(kD, row.s + j), factor), kD, row.s + j);
  } else {
    const V cap = splat(row.softcap);
    for (int64_t j = 0; j < row.padded; j += kLanes) {
      const V score = hn::Mul(hn::LoadU(kD, row.s + j), factor);
      hn::StoreU(hn::Mul(tanh_vector(hn::Div(score, cap)), cap), kD, row.s + j);
    }
  }
  std::fill(row.s + row.n, row.s + row.padded, kLowest);
}

void add_mask(float* s, const float* mask, int64_t n) {
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) hn::StoreU(hn::Add(hn::LoadU(kD, s + j), hn::LoadU(kD, mask + j)), kD, s + j);
  for (; j < n; ++j) s[j] += mask[j];
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
  V most = splat(kLowest);
  for (int64_t j = 0; j < padded; j += kLanes) most = max_or_nan(most, hn::LoadU(kD, s + j));
  float values[kLanes];
  hn::StoreU(most, kD, values);
  float result = kLowest;
  for (const float value : values) result = result > value || result != result ? result : value;
  return result;
}

float exp_row(float* s, int64_t padded, float shift) {
  const V by = splat(shift);
  V sum = hn::Zero(kD);
  for (int64_t j = 0; j < padded; j += kLanes) {
    const V e = exp_vector(hn::Sub(hn::LoadU(kD, s + j), by));
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

constexpr AttentionKernels kKernels{kPanel,          multiply, pack,    dot_rows, scale_row, add_mask,
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
