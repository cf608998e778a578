#include "kernels/transpose/transpose.h"

#include <emmintrin.h>

#include <algorithm>

#include "base/check.h"

namespace strop::kernels {
namespace {

// SSE2 belongs to every x86-64 CPU, and moving data from cache to cache gains nothing from wider vectors.

__m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
void store(void* to, __m128i x) { _mm_storeu_si128(static_cast<__m128i*>(to), x); }

/// One round of a perfect shuffle: after log2(N) rounds of interleaving x[i] with x[i + N / 2], N vectors of N elements
/// are transposed.
template <class T, int N>
void interleave(__m128i (&x)[N]) {
  __m128i y[N];
  for (int i = 0; i < N / 2; ++i) {
    const __m128i a = x[i];
    const __m128i b = x[i + N / 2];
    if constexpr (sizeof(T) == 1) {
      y[2 * i] = _mm_unpacklo_epi8(a, b);
      y[2 * i + 1] = _mm_unpackhi_epi8(a, b);
    } else if constexpr (sizeof(T) == 2) {
      y[2 * i] = _mm_unpacklo_epi16(a, b);
      y[2 * i + 1] = _mm_unpackhi_epi16(a, b);
    } else if constexpr (sizeof(T) == 4) {
      y[2 * i] = _mm_unpacklo_epi32(a, b);
      y[2 * i + 1] = _mm_unpackhi_epi32(a, b);
    } else {
      y[2 * i] = _mm_unpacklo_epi64(a, b);
      y[2 * i + 1] = _mm_unpackhi_epi64(a, b);
    }
  }
  for (int i = 0; i < N; ++i) x[i] = y[i];
}

/// Pointers and strides of one block.
template <class T>
struct Block {
  const T* src;
  int64_t src_stride;
  T* dst;
  int64_t dst_stride;
};

/// N x N elements, N = 16 / sizeof(T).
template <class T>
void tile(const Block<T>& b) {
  constexpr int N = 16 / sizeof(T);
  __m128i x[N];
  for (int i = 0; i < N; ++i) x[i] = load(b.src + i * b.src_stride);
  for (int width = 1; width < N; width *= 2) interleave<T, N>(x);
  for (int i = 0; i < N; ++i) store(b.dst + i * b.dst_stride, x[i]);
}

template <class T>
void scalar(const Block<T>& b, int64_t rows, int64_t cols) {
  if (rows <= cols) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) b.dst[j * b.dst_stride + i] = b.src[i * b.src_stride + j];
    }
  } else {
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t i = 0; i < rows; ++i) b.dst[j * b.dst_stride + i] = b.src[i * b.src_stride + j];
    }
  }
}

/// Any size; meant for blocks that fit the L1 cache.
template <class T>
void block(const Block<T>& b, int64_t rows, int64_t cols) {
  constexpr int64_t N = 16 / sizeof(T);
  const int64_t full_rows = rows / N * N;
  const int64_t full_cols = cols / N * N;
  for (int64_t i = 0; i < full_rows; i += N) {
    for (int64_t j = 0; j < full_cols; j += N) {
      tile<T>({b.src + i * b.src_stride + j, b.src_stride, b.dst + j * b.dst_stride + i, b.dst_stride});
    }
  }
  if (full_cols < cols)
    scalar<T>({b.src + full_cols, b.src_stride, b.dst + full_cols * b.dst_stride, b.dst_stride}, full_rows,
              cols - full_cols);
  if (full_rows < rows)
    scalar<T>({b.src + full_rows * b.src_stride, b.src_stride, b.dst + full_rows, b.dst_stride}, rows - full_rows,
              cols);
}

constexpr int64_t kBlockBytes = 16 * 1024;  // half of an L1 of 32 KiB

template <class T>
void transpose_all(const TransposeProblem& p, const T* src, T* dst, Threads& threads) {
  // Square blocks, or long ones if one side is short; whole cache lines on both sides.
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t elements = kBlockBytes / static_cast<int64_t>(sizeof(T)) / 2;
  const int64_t block_rows =
      std::min<int64_t>(p.rows, std::max<int64_t>(kLine, elements / std::min(p.cols, 2 * kLine)));
  const int64_t block_cols = std::min<int64_t>(p.cols, std::max<int64_t>(kLine, elements / block_rows / kLine * kLine));
  const int64_t row_blocks = (p.rows + block_rows - 1) / block_rows;
  const int64_t col_blocks = (p.cols + block_cols - 1) / block_cols;
  const int64_t bytes = p.batch * p.rows * p.cols * static_cast<int64_t>(sizeof(T));
  const auto one = [&](int64_t index) {
    const int64_t j = index % col_blocks * block_cols;
    const int64_t i = index / col_blocks % row_blocks * block_rows;
    const int64_t b = index / col_blocks / row_blocks;
    block<T>({src + b * p.src_batch_stride + i * p.src_row_stride + j, p.src_row_stride,
              dst + b * p.dst_batch_stride + j * p.dst_row_stride + i, p.dst_row_stride},
             std::min(block_rows, p.rows - i), std::min(block_cols, p.cols - j));
  };
  const int64_t blocks = p.batch * row_blocks * col_blocks;
  const int64_t grain = bytes < 4 * kBlockBytes ? blocks : 4;  // small ones are not worth waking threads
  parallel_for(threads, blocks, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end; ++index) one(index);
  });
}

}  // namespace

void transpose(const TransposeProblem& problem, size_t element_bytes, const void* src, void* dst, Threads& threads) {
  TransposeProblem p = problem;
  if (p.batch <= 0 || p.rows <= 0 || p.cols <= 0) return;
  if (p.src_row_stride == 0) p.src_row_stride = p.cols;
  if (p.dst_row_stride == 0) p.dst_row_stride = p.rows;
  if (p.src_batch_stride == 0) p.src_batch_stride = p.rows * p.src_row_stride;
  if (p.dst_batch_stride == 0) p.dst_batch_stride = p.cols * p.dst_row_stride;
  switch (element_bytes) {
    case 1: return transpose_all(p, static_cast<const uint8_t*>(src), static_cast<uint8_t*>(dst), threads);
    case 2: return transpose_all(p, static_cast<const uint16_t*>(src), static_cast<uint16_t*>(dst), threads);
    case 4: return transpose_all(p, static_cast<const uint32_t*>(src), static_cast<uint32_t*>(dst), threads);
    case 8: return transpose_all(p, static_cast<const uint64_t*>(src), static_cast<uint64_t*>(dst), threads);
    default: STROP_UNREACHABLE("transposition of {}-byte elements", element_bytes);
  }
}

}  // namespace strop::kernels
