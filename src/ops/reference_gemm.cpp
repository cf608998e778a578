#include "ops/reference_gemm.h"

#include <algorithm>

namespace strop::ops {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 8;
constexpr int64_t kDepth = 256;

// A tile of kRows x kColumns sums kept in registers; the compiler vectorises the loops over columns.
__attribute__((target_clones("avx2", "default"))) void tile(int64_t k, int64_t lda, int64_t n, const double* a,
                                                            const double* b, double* c) {
  double sums[kRows][kColumns];
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) sums[i][j] = c[i * n + j];
  }
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t i = 0; i < kRows; ++i) {
      const double left = a[i * lda + p];
      for (int64_t j = 0; j < kColumns; ++j) sums[i][j] += left * b[p * n + j];
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) c[i * n + j] = sums[i][j];
  }
}

void edge(int64_t rows, int64_t columns, int64_t k, int64_t lda, int64_t n, const double* a, const double* b,
          double* c) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      const double left = a[i * lda + p];
      for (int64_t j = 0; j < columns; ++j) c[i * n + j] += left * b[p * n + j];
    }
  }
}

}  // namespace

void reference_gemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c) {
  // Sections of k keep the columns of B in cache; within a sum the order of k is kept.
  for (int64_t depth = 0; depth < k; depth += kDepth) {
    const int64_t section = std::min(kDepth, k - depth);
    for (int64_t j = 0; j < n; j += kColumns) {
      const int64_t columns = std::min(kColumns, n - j);
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t rows = std::min(kRows, m - i);
        const double* left = a + i * k + depth;
        const double* right = b + depth * n + j;
        double* out = c + i * n + j;
        if (rows == kRows && columns == kColumns) {
          tile(section, k, n, left, right, out);
        } else {
          edge(rows, columns, section, k, n, left, right, out);
        }
      }
    }
  }
}

void reference_gemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c, Threads& threads) {
  parallel_for(threads, (m + kRows - 1) / kRows, 4, [&](int64_t begin, int64_t end, int) {
    const int64_t first = begin * kRows;
    const int64_t last = std::min(end * kRows, m);
    reference_gemm(last - first, n, k, a + first * k, b, c + first * n);
  });
}

void reference_gemm(int64_t m, int64_t n, int64_t k, const int64_t* a, const int64_t* b, int64_t* c, Threads& threads) {
  parallel_for(threads, m, 4, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t p = 0; p < k; ++p) {
        const auto left = static_cast<uint64_t>(a[i * k + p]);
        for (int64_t j = 0; j < n; ++j) {
          c[i * n + j] =
              static_cast<int64_t>(static_cast<uint64_t>(c[i * n + j]) + left * static_cast<uint64_t>(b[p * n + j]));
        }
      }
    }
  });
}

}  // namespace strop::ops
