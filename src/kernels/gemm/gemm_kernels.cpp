#include "kernels/gemm/gemm_kernels.h"

#include <cstddef>

// One portable baseline, AVX2 and AVX-512: the targets of CpuTarget, no others.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strop::kernels::gemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The few vector operations that the loops below are made of.
#if HWY_TARGET == HWY_SCALAR
// Highway's baseline without instruction-set flags is one lane wide; the compiler's own vectors of four suit every CPU.
using V = float __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;
HWY_INLINE V zero() { return V{}; }
HWY_INLINE V broadcast(float x) { return V{x, x, x, x}; }
HWY_INLINE V load(const float* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
HWY_INLINE void store(V v, float* to) { __builtin_memcpy(to, &v, sizeof(v)); }
HWY_INLINE V add(V a, V b) { return a + b; }
HWY_INLINE V mul_add(V a, V b, V c) { return a * b + c; }
HWY_INLINE V max_keeping_nan(V x, V lo) { return x < lo ? lo : x; }
HWY_INLINE V min_keeping_nan(V x, V hi) { return x > hi ? hi : x; }
HWY_INLINE float sum_of_lanes(V v) { return (v[0] + v[2]) + (v[1] + v[3]); }
#else
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D kD{};
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);  // exact: neither target's width is unknown or capped
HWY_INLINE V zero() { return hn::Zero(kD); }
HWY_INLINE V broadcast(float x) { return hn::Set(kD, x); }
HWY_INLINE V load(const float* from) { return hn::LoadU(kD, from); }
HWY_INLINE void store(V v, float* to) { hn::StoreU(v, kD, to); }
HWY_INLINE V add(V a, V b) { return hn::Add(a, b); }
HWY_INLINE V mul_add(V a, V b, V c) { return hn::MulAdd(a, b, c); }
// Comparisons with NaN are false: NaN stays.
HWY_INLINE V max_keeping_nan(V x, V lo) { return hn::IfThenElse(hn::Lt(x, lo), lo, x); }
HWY_INLINE V min_keeping_nan(V x, V hi) { return hn::IfThenElse(hn::Gt(x, hi), hi, x); }
HWY_INLINE float sum_of_lanes(V v) { return hn::GetLane(hn::SumOfLanes(kD, v)); }
#endif

// Rows by vectors per panel, such that sums, one row of B and one value of A fit the registers (16, or 32 of AVX-512).
#if HWY_TARGET <= HWY_AVX3
constexpr int kMaxRows[4] = {0, 12, 12, 8};
#else
constexpr int kMaxRows[4] = {0, 6, 6, 4};
#endif
constexpr size_t kMostTileFloats = 12 * 3 * kLanes;

HWY_INLINE float clamp_scalar(float x, float lo, float hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

/// Where a tile of C goes; everything else comes from BlockArgs.
struct Tile {
  float* c;
  const float* bias;
  const float* row_bias;
  const float* add;
};

/// The epilogue of a tile whose sums lie in memory, [rows, ld_sums], because it has fewer columns than the panel.
HWY_NOINLINE void finish_partial_tile(const BlockArgs& args, const Tile& tile, const float* sums, size_t ld_sums,
                                      size_t rows) {
  const size_t cols = static_cast<size_t>(args.cols);
  for (size_t r = 0; r < rows; ++r) {
    const float* from = sums + r * ld_sums;
    float* to = tile.c + static_cast<int64_t>(r) * args.ldc;
    const float* added = tile.add ? tile.add + static_cast<int64_t>(r) * args.ld_add : nullptr;
    for (size_t j = 0; j < cols; ++j) {
      float x = from[j];
      if (tile.bias) x += tile.bias[j];
      if (tile.row_bias) x += tile.row_bias[r];
      if (added) x += added[j];
      to[j] = args.clamp ? clamp_scalar(x, args.lo, args.hi) : x;
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void finish_tile(V (&sum)[kRows][kVectors], const BlockArgs& args, const Tile& tile) {
  if (tile.bias) {
    HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) {
      const V bias = load(tile.bias + v * kLanes);
      HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) sum[r][v] = add(sum[r][v], bias);
    }
  }
  if (tile.row_bias) {
    HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
      const V bias = broadcast(tile.row_bias[r]);
      HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) sum[r][v] = add(sum[r][v], bias);
    }
  }
  if (tile.add) {
    const float* HWY_RESTRICT added = tile.add;
    HWY_UNROLL(12) for (int r = 0; r < kRows; ++r, added += args.ld_add) {
      HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) { sum[r][v] = add(sum[r][v], load(added + v * kLanes)); }
    }
  }
  if (args.clamp) {
    const V lo = broadcast(args.lo);
    const V hi = broadcast(args.hi);
    HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) sum[r][v] = min_keeping_nan(max_keeping_nan(sum[r][v], lo), hi);
    }
  }
  float* c = tile.c;
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r, c += args.ldc) {
    HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) store(sum[r][v], c + v * kLanes);
  }
}

/// Asks for the tile's lines of C: they arrive while the sums are computed, instead of stalling the epilogue.
template <int kRows, int kVectors>
HWY_INLINE void prefetch_output(const BlockArgs& args, const Tile& tile) {
  const float* c = tile.c;
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r, c += args.ldc) {
    __builtin_prefetch(c, 1);
    __builtin_prefetch(c + kVectors * kLanes - 1, 1);
  }
  if (tile.add == nullptr || tile.add == tile.c) return;
  const float* added = tile.add;
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r, added += args.ld_add) __builtin_prefetch(added);
}

// Rows of B between a prefetch and its use: a few hundred cycles in a full tile, as long as L3 takes.
constexpr int64_t kRowsAhead = 32;
// Values of k per turn of the loop over an interleaved A. (Rows of A side by side are better off without: an address
// per row and value is formed then.)
constexpr size_t kUnroll = 4;

/// sum += A[kRows, 1] · B[1, kVectors], `value(r)` being A's.
template <int kRows, int kVectors, class Value>
HWY_INLINE void accumulate(V (&sum)[kRows][kVectors], const float* HWY_RESTRICT b, const Value& value) {
  V right[kVectors];
  HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) right[v] = load(b + v * kLanes);
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
    const V left = broadcast(value(r));
    HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) sum[r][v] = mul_add(left, right[v], sum[r][v]);
  }
}

/// Level one of the epilogue and the store, for whole and for partial tiles.
template <int kRows, int kVectors>
HWY_INLINE void finish(V (&sum)[kRows][kVectors], const BlockArgs& args, const Tile& tile) {
  if (HWY_LIKELY(args.cols == static_cast<int64_t>(kVectors * kLanes))) {
    finish_tile<kRows, kVectors>(sum, args, tile);
    return;
  }
  alignas(64) float sums[kMostTileFloats];
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) { store(sum[r][v], sums + (r * kVectors + v) * kLanes); }
  }
  finish_partial_tile(args, tile, sums, kVectors * kLanes, kRows);
}

/// compute_tile for an A that pack_a interleaved.
template <int kRows, int kVectors>
HWY_NOINLINE void compute_packed_tile(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, const BlockArgs& args,
                                      const Tile& tile) {
  V sum[kRows][kVectors];
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) sum[r][v] = zero();
  }
  prefetch_output<kRows, kVectors>(args, tile);
  const size_t k = static_cast<size_t>(args.k);
  const int64_t ldb = args.ldb;
  const int64_t ahead = kRowsAhead * ldb;
  size_t i = 0;
  for (; i + kUnroll <= k; i += kUnroll) {
    HWY_UNROLL(4) for (size_t u = 0; u < kUnroll; ++u) {
      __builtin_prefetch(b + ahead);
      accumulate<kRows, kVectors>(sum, b, [a](int r) HWY_ATTR { return a[r]; });
      a += kRows;
      b += ldb;
      // One value of k after the other: mixing their instructions makes the compiler run out of registers.
      asm volatile("" : "+r"(a), "+r"(b));
    }
  }
  for (; i < k; ++i, a += kRows, b += ldb) accumulate<kRows, kVectors>(sum, b, [a](int r) HWY_ATTR { return a[r]; });
  finish<kRows, kVectors>(sum, args, tile);
}

/// One tile of C: kRows rows by kVectors vectors, all of args.k, in registers. kChains > 1 deals the values of k out to
/// several sets of sums, because fewer than eight dependent chains do not fill two multiply-add units of latency four.
template <int kRows, int kVectors, int kChains>
HWY_NOINLINE void compute_tile(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, const BlockArgs& args,
                               const Tile& tile) {
  V sum[kChains][kRows][kVectors];
  HWY_UNROLL(4) for (int u = 0; u < kChains; ++u) {
    HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) sum[u][r][v] = zero();
    }
  }
  prefetch_output<kRows, kVectors>(args, tile);
  const float* HWY_RESTRICT row[kRows];
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) row[r] = a + r * args.lda;
  const size_t k = static_cast<size_t>(args.k);
  const int64_t ldb = args.ldb;
  const int64_t ahead = kRowsAhead * ldb;
  size_t i = 0;
  if constexpr (kChains > 1) {
    for (; i + kChains <= k; i += kChains) {
      HWY_UNROLL(4) for (int u = 0; u < kChains; ++u, b += ldb) {
        __builtin_prefetch(b + 2 * ahead);
        HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
          const V value = broadcast(row[r][i + u]);
          HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) {
            sum[u][r][v] = mul_add(value, load(b + v * kLanes), sum[u][r][v]);
          }
        }
      }
    }
  }
  for (; i < k; ++i, b += ldb) {
    __builtin_prefetch(b + ahead);
    accumulate<kRows, kVectors>(sum[0], b, [&row, i](int r) HWY_ATTR { return row[r][i]; });
  }
  HWY_UNROLL(4) for (int u = 1; u < kChains; ++u) {
    HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(3) for (int v = 0; v < kVectors; ++v) sum[0][r][v] = add(sum[0][r][v], sum[u][r][v]);
    }
  }
  finish<kRows, kVectors>(sum[0], args, tile);
}

using TileFunction = void (*)(const float* HWY_RESTRICT, const float* HWY_RESTRICT, const BlockArgs&, const Tile&);

/// compute_tile by number of rows; [0] unused, null where the registers do not suffice.
template <int kVectors>
struct TileFunctions {
  TileFunction plain[13] = {};
  TileFunction packed[13] = {};  ///< of interleaved rows
  TileFunction split[4] = {};    ///< kChains > 1, for up to three rows

  template <int kRows>
  constexpr void fill() {
    if constexpr (kRows <= kMaxRows[kVectors]) {
      plain[kRows] = compute_tile<kRows, kVectors, 1>;
      packed[kRows] = compute_packed_tile<kRows, kVectors>;
      fill<kRows + 1>();
    }
  }
  constexpr TileFunctions() {
    fill<1>();
    split[1] = compute_tile<1, kVectors, 4>;
    split[2] = compute_tile<2, kVectors, 2>;
    split[3] = compute_tile<3, kVectors, (kVectors == 3 ? 1 : 2)>;
  }
};

/// The rows of a block's next tile: even shares, so that no tile is much thinner than the others.
HWY_INLINE int64_t rows_of_tile(int64_t rows_left, int64_t tiles_left) { return rows_left / tiles_left; }

template <int kVectors>
void multiply_panels(const BlockArgs& args) {
  static constexpr TileFunctions<kVectors> kFunctions;
  const int64_t tiles = (args.rows + args.mr - 1) / args.mr;
  const TileFunction* functions = args.packed_a ? kFunctions.packed : kFunctions.plain;
  const int64_t row_step = args.packed_a ? args.k : args.lda;
  for (int64_t p = 0; p < args.panels; ++p) {
    const int64_t col = p * static_cast<int64_t>(kVectors * kLanes);
    const float* b = args.b + p * args.panel_stride;
    for (int64_t t = 0, row = 0; t < tiles; ++t) {
      const int64_t rows = rows_of_tile(args.rows - row, tiles - t);
      const Tile tile{args.c + row * args.ldc + col, args.bias ? args.bias + col : nullptr,
                      args.row_bias ? args.row_bias + row : nullptr,
                      args.add ? args.add + row * args.ld_add + col : nullptr};
      const TileFunction function = args.split_k && rows <= 3 ? kFunctions.split[rows] : functions[rows];
      function(args.a + row * row_step, b, args, tile);
      row += rows;
    }
  }
}

void block(const BlockArgs& args) {
  switch (args.vectors) {
    case 1: return multiply_panels<1>(args);
    case 2: return multiply_panels<2>(args);
    default: return multiply_panels<3>(args);
  }
}

#if HWY_MAX_BYTES >= 32
constexpr int64_t kSquare = 8;
constexpr hn::FixedTag<float, 8> kD8{};
using V8 = hn::Vec<decltype(kD8)>;
/// Transposes eight rows of eight in registers: row[i][j] becomes row[j][i].
HWY_INLINE void transpose_rows(V8 (&row)[8]) {
  constexpr hn::FixedTag<float, 8> d;
  constexpr hn::FixedTag<double, 4> d2;
  V8 quad[8];
  // Pairs of rows, then pairs of pairs, within 128-bit halves; then the halves change places.
  HWY_UNROLL(2) for (int i = 0; i < 8; i += 4) {
    const auto low01 = hn::BitCast(d2, hn::InterleaveLower(d, row[i], row[i + 1]));
    const auto high01 = hn::BitCast(d2, hn::InterleaveUpper(d, row[i], row[i + 1]));
    const auto low23 = hn::BitCast(d2, hn::InterleaveLower(d, row[i + 2], row[i + 3]));
    const auto high23 = hn::BitCast(d2, hn::InterleaveUpper(d, row[i + 2], row[i + 3]));
    quad[i] = hn::BitCast(d, hn::InterleaveLower(d2, low01, low23));
    quad[i + 1] = hn::BitCast(d, hn::InterleaveUpper(d2, low01, low23));
    quad[i + 2] = hn::BitCast(d, hn::InterleaveLower(d2, high01, high23));
    quad[i + 3] = hn::BitCast(d, hn::InterleaveUpper(d2, high01, high23));
  }
  HWY_UNROLL(4) for (int j = 0; j < 4; ++j) {
    row[j] = hn::ConcatLowerLower(d, quad[j + 4], quad[j]);
    row[j + 4] = hn::ConcatUpperUpper(d, quad[j + 4], quad[j]);
  }
}

/// dst[j][i] = src[i][j] for i, j < 8.
HWY_INLINE void transpose_square(const float* src, int64_t ld_src, float* dst, int64_t ld_dst) {
  V8 row[8];
  HWY_UNROLL(8) for (int i = 0; i < 8; ++i) row[i] = hn::LoadU(kD8, src + i * ld_src);
  transpose_rows(row);
  HWY_UNROLL(8) for (int j = 0; j < 8; ++j) hn::StoreU(row[j], kD8, dst + j * ld_dst);
}

/// Eight values of k from up to twelve rows: dst[j * rows + r] = src[r * ld_src + j] for j < 8. What is stored beyond a
/// value's rows is overwritten by the next value's; the last store reaches up to kPackASlack floats further.
HWY_INLINE void interleave_eight(const float* src, int64_t ld_src, int64_t rows, float* dst) {
  V8 first[8], second[8];
  for (int i = 0; i < 8; ++i) first[i] = i < rows ? hn::LoadU(kD8, src + i * ld_src) : hn::Zero(kD8);
  transpose_rows(first);
  if (rows <= kSquare) {
    HWY_UNROLL(8) for (int j = 0; j < 8; ++j) hn::StoreU(first[j], kD8, dst + j * rows);
    return;
  }
  for (int i = 0; i < 8; ++i) second[i] = 8 + i < rows ? hn::LoadU(kD8, src + (8 + i) * ld_src) : hn::Zero(kD8);
  transpose_rows(second);
  HWY_UNROLL(8) for (int j = 0; j < 8; ++j) {
    hn::StoreU(first[j], kD8, dst + j * rows);
    hn::StoreU(second[j], kD8, dst + j * rows + kSquare);
  }
}
#else
constexpr int64_t kSquare = 4;
HWY_INLINE void transpose_square(const float* src, int64_t ld_src, float* dst, int64_t ld_dst) {
  for (int64_t j = 0; j < 4; ++j) {
    for (int64_t i = 0; i < 4; ++i) dst[j * ld_dst + i] = src[i * ld_src + j];
  }
}
#endif

void transpose(const TransposeArgs& args) {
  for (int64_t i = 0; i < args.rows; i += kSquare) {
    const int64_t rows = args.rows - i < kSquare ? args.rows - i : kSquare;
    int64_t j = 0;
    if (rows == kSquare) {
      for (; j + kSquare <= args.cols; j += kSquare) {
        transpose_square(args.src + i * args.ld_src + j, args.ld_src, args.dst + j * args.ld_dst + i, args.ld_dst);
      }
    }
    for (; j < args.cols; ++j) {
      for (int64_t s = 0; s < rows; ++s) args.dst[j * args.ld_dst + i + s] = args.src[(i + s) * args.ld_src + j];
    }
  }
}

/// One tile of pack_a, whose A is not transposed.
void interleave_rows(const float* src, int64_t ld_src, int64_t rows, int64_t k, float* dst) {
  int64_t i = 0;
#if HWY_MAX_BYTES >= 32
  for (; i + kSquare <= k; i += kSquare) interleave_eight(src + i, ld_src, rows, dst + i * rows);
#endif
  for (; i < k; ++i) {
    for (int64_t r = 0; r < rows; ++r) dst[i * rows + r] = src[r * ld_src + i];
  }
}

void pack_a(const PackAArgs& args) {
  const int64_t tiles = (args.rows + args.mr - 1) / args.mr;
  if (!args.transposed) {
    for (int64_t t = 0, row = 0; t < tiles; ++t) {
      const int64_t rows = rows_of_tile(args.rows - row, tiles - t);
      interleave_rows(args.src + row * args.ld_src, args.ld_src, rows, args.k, args.dst + row * args.k);
      row += rows;
    }
    return;
  }
  for (int64_t i = 0; i < args.k; ++i) {
    const float* from = args.src + i * args.ld_src;
    for (int64_t t = 0, row = 0; t < tiles; ++t) {
      const int64_t rows = rows_of_tile(args.rows - row, tiles - t);
      float* to = args.dst + row * args.k + i * rows;
      for (int64_t r = 0; r < rows; ++r) to[r] = from[row + r];
      row += rows;
    }
  }
}

void pack(const PackArgs& args) {
  // Rows may lie pages apart, which stops the hardware's prefetchers.
  constexpr int64_t kAhead = 8;
  for (int64_t i = 0; i < args.k; ++i) {
    const float* HWY_RESTRICT from = args.src + i * args.ld_src;
    float* to = args.dst + i * args.width;
    for (int64_t p = 0; p < args.panels; ++p, from += args.width, to += args.panel_stride) {
      __builtin_prefetch(from + kAhead * args.ld_src);
      for (int64_t j = 0; j < args.width; j += static_cast<int64_t>(kLanes)) store(load(from + j), to + j);
    }
  }
}

/// kRows dot products at once. A row's additions happen in the same order whatever kRows is.
template <int kRows>
HWY_INLINE void dot_rows(const GemvArgs& args, const float* HWY_RESTRICT mat, float* HWY_RESTRICT y) {
  V even[kRows], odd[kRows];
  HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) even[r] = odd[r] = zero();
  const float* HWY_RESTRICT x = args.x;
  const int64_t step = static_cast<int64_t>(kLanes);
  int64_t i = 0;
  for (; i + 2 * step <= args.k; i += 2 * step) {
    const V x0 = load(x + i);
    const V x1 = load(x + i + step);
    HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) {
      even[r] = mul_add(load(mat + r * args.ld + i), x0, even[r]);
      odd[r] = mul_add(load(mat + r * args.ld + i + step), x1, odd[r]);
    }
  }
  HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) {
    float sum = sum_of_lanes(add(even[r], odd[r]));
    for (int64_t t = i; t < args.k; ++t) sum += mat[r * args.ld + t] * x[t];
    y[r] = sum;
  }
}

void gemv_dot(const GemvArgs& args) {
  int64_t j = 0;
  for (; j + 4 <= args.count; j += 4) dot_rows<4>(args, args.mat + j * args.ld, args.y + j);
  for (; j < args.count; ++j) dot_rows<1>(args, args.mat + j * args.ld, args.y + j);
}

/// y += x[0] · mat[0, :] + ... over kRows rows of mat.
template <int kRows>
HWY_INLINE void axpy_rows(const GemvArgs& args, const float* HWY_RESTRICT x, const float* HWY_RESTRICT mat) {
  V value[kRows];
  HWY_UNROLL(8) for (int r = 0; r < kRows; ++r) value[r] = broadcast(x[r * args.inc_x]);
  const int64_t step = static_cast<int64_t>(kLanes);
  int64_t j = 0;
  for (; j + step <= args.count; j += step) {
    V sum = load(args.y + j);
    HWY_UNROLL(8) for (int r = 0; r < kRows; ++r) { sum = mul_add(value[r], load(mat + r * args.ld + j), sum); }
    store(sum, args.y + j);
  }
  for (; j < args.count; ++j) {
    float sum = args.y[j];
    for (int r = 0; r < kRows; ++r) sum += x[r * args.inc_x] * mat[r * args.ld + j];
    args.y[j] = sum;
  }
}

void gemv_axpy(const GemvArgs& args) {
  for (int64_t j = 0; j < args.count; ++j) args.y[j] = 0.0f;
  int64_t i = 0;
  for (; i + 8 <= args.k; i += 8) axpy_rows<8>(args, args.x + i * args.inc_x, args.mat + i * args.ld);
  for (; i < args.k; ++i) axpy_rows<1>(args, args.x + i * args.inc_x, args.mat + i * args.ld);
}

const Kernels& kernels() {
  static constexpr Kernels kKernels = {static_cast<int>(kLanes),
                                       {kMaxRows[0], kMaxRows[1], kMaxRows[2], kMaxRows[3]},
                                       block,
                                       pack_a,
                                       transpose,
                                       pack,
                                       gemv_dot,
                                       gemv_axpy};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels::gemm {

const Kernels& kernels_for(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kernels();
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kernels();
#endif
    default: return HWY_STATIC_DISPATCH(kernels)();
  }
}

}  // namespace strop::kernels::gemm
#endif
