#include "kernels/gemm_integer/gemm_integer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_integer/gemm_integer.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// tile: `rows` rows of A times one panel of B, to rows of kIntegerPanel sums; kRows is the most there can be.
#if HWY_TARGET == HWY_SCALAR

constexpr int kRows = 2;

template <int rows>
void tile(const IntegerProduct& p, const int16_t* a, const int16_t* panel, int32_t* out) {
  const int64_t depth = integer_depth(p.k);
  uint32_t sums[rows * kIntegerPanel] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const int16_t* b = panel + k / 2 * 2 * kIntegerPanel + k % 2;
    for (int i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < kIntegerPanel; ++j) {
        sums[i * kIntegerPanel + j] += static_cast<uint32_t>(int32_t{a[i * depth + k]} * int32_t{b[2 * j]});
      }
    }
  }
  std::memcpy(out, sums, sizeof(sums));
}

#else

using DW = hn::CappedTag<int32_t, kIntegerPanel>;
using DN = hn::Repartition<int16_t, DW>;
constexpr DW kDW{};
constexpr DN kDN{};
constexpr int64_t kLanes = std::min<int64_t>(HWY_MAX_BYTES / sizeof(int32_t), kIntegerPanel);
constexpr int kVectors = static_cast<int>(kIntegerPanel / kLanes);
// Rows that are summed side by side: accumulators, a vector of B and one of A must fit in the registers.
constexpr int kRows = kVectors == 1 ? 12 : kVectors == 2 ? 6 : 2;

template <int rows>
void tile(const IntegerProduct& p, const int16_t* a, const int16_t* panel, int32_t* out) {
  const int64_t depth = integer_depth(p.k);
  hn::Vec<DW> even[rows][kVectors];
  hn::Vec<DW> odd[rows][kVectors];  // only targets without a pairwise sum use it
  for (int i = 0; i < rows; ++i) {
    for (int v = 0; v < kVectors; ++v) even[i][v] = odd[i][v] = hn::Zero(kDW);
  }
  for (int64_t k = 0; k < depth; k += 2) {
    hn::Vec<DN> b[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) b[v] = hn::LoadU(kDN, panel + (k * kIntegerPanel + v * 2 * kLanes));
    HWY_UNROLL(12)
    for (int i = 0; i < rows; ++i) {
      int32_t pair;
      std::memcpy(&pair, a + i * depth + k, sizeof(pair));
      const auto both = hn::BitCast(kDN, hn::Set(kDW, pair));
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        even[i][v] = hn::ReorderWidenMulAccumulate(kDW, both, b[v], even[i][v], odd[i][v]);
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::Add(even[i][v], odd[i][v]), kDW, out + i * kIntegerPanel + v * kLanes);
    }
  }
}

#endif

template <int rows>
void tile_of(int64_t wanted, const IntegerProduct& p, const int16_t* a, const int16_t* panel, int32_t* out) {
  if constexpr (rows > 1) {
    if (wanted < rows) return tile_of<rows - 1>(wanted, p, a, panel, out);
  }
  tile<rows>(p, a, panel, out);
}

void multiply(const IntegerProduct& p, int64_t first, int64_t last) {
  const int64_t depth = integer_depth(p.k);
  int32_t sums[kRows * kIntegerPanel];
  for (int64_t panel = first; panel < last; ++panel) {
    const int64_t column = panel * kIntegerPanel;
    const auto bytes = static_cast<size_t>(std::min(kIntegerPanel, p.n - column)) * sizeof(int32_t);
    for (int64_t row = 0; row < p.m; row += kRows) {
      const int64_t rows = std::min<int64_t>(kRows, p.m - row);
      tile_of<kRows>(rows, p, p.a + row * depth, p.b + column * depth, sums);
      for (int64_t i = 0; i < rows; ++i) {
        std::memcpy(p.c + (row + i) * p.n + column, sums + i * kIntegerPanel, bytes);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {
namespace {

/// Collects whether all values seen fit in 16 bits.
struct Fits {
  uint32_t excess = 0;
  int16_t operator()(int32_t value) {
    excess |= (static_cast<uint32_t>(value) + 32768u) >> 16;
    return static_cast<int16_t>(value);
  }
};

int32_t at(const IntegerMatrix& matrix, int64_t row, int64_t column) {
  return matrix.data[row * matrix.row_stride + column * matrix.column_stride];
}

}  // namespace

bool pack_integer_b(const IntegerMatrix& b, int64_t first, int64_t last, int16_t* packed) {
  Fits fits;
  const int64_t depth = integer_depth(b.rows);
  for (int64_t panel = first; panel < last; ++panel) {
    const int64_t column = panel * kIntegerPanel;
    const int64_t columns = std::min(kIntegerPanel, b.columns - column);
    int16_t* to = packed + column * depth;
    std::memset(to, 0, static_cast<size_t>(depth * kIntegerPanel) * sizeof(int16_t));
    for (int64_t k = 0; k < b.rows; ++k) {
      int16_t* row = to + k / 2 * 2 * kIntegerPanel + k % 2;
      for (int64_t j = 0; j < columns; ++j) row[2 * j] = fits(at(b, k, column + j));
    }
  }
  return fits.excess == 0;
}

bool narrow_rows(const IntegerMatrix& a, int64_t first, int64_t last, int16_t* rows) {
  Fits fits;
  const int64_t depth = integer_depth(a.columns);
  for (int64_t i = first; i < last; ++i) {
    int16_t* to = rows + i * depth;
    if (a.column_stride == 1) {
      const int32_t* from = a.data + i * a.row_stride;
      for (int64_t k = 0; k < a.columns; ++k) to[k] = fits(from[k]);
    } else {
      for (int64_t k = 0; k < a.columns; ++k) to[k] = fits(at(a, i, k));
    }
    if (depth != a.columns) to[a.columns] = 0;
  }
  return fits.excess == 0;
}

void multiply_wide(const WideProduct& p, int64_t first, int64_t last) {
  const int64_t n = p.b.columns;
  const int64_t depth = integer_depth(p.b.rows);
  for (int64_t i = first; i < last; ++i) {
    int32_t* row = p.c + i * n;
    for (int64_t j = 0; j < n; ++j) {
      const int16_t* panel = p.packed_b ? p.packed_b + j / kIntegerPanel * kIntegerPanel * depth : nullptr;
      uint32_t sum = 0;
      for (int64_t k = 0; k < p.b.rows; ++k) {
        const int32_t b = panel ? panel[k / 2 * 2 * kIntegerPanel + j % kIntegerPanel * 2 + k % 2] : at(p.b, k, j);
        sum += static_cast<uint32_t>(at(p.a, i, k)) * static_cast<uint32_t>(b);
      }
      row[j] = static_cast<int32_t>(sum);
    }
  }
}

void multiply_panels(CpuTarget target, const IntegerProduct& product, int64_t first, int64_t last) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::multiply(product, first, last);
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::multiply(product, first, last);
#endif
    default: return HWY_STATIC_DISPATCH(multiply)(product, first, last);
  }
}

}  // namespace strop::kernels
#endif  // HWY_ONCE
