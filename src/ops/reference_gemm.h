/// The double-precision matrix product that the reference evaluations of matmul, convolution and their relatives share.
#pragma once

#include <cstdint>

#include "base/threads.h"

namespace strop::ops {

/// C[m, n] += A[m, k] * B[k, n], row-major and dense, on the calling thread. Sums in order of k, with no fused
/// operations, so that the result does not depend on the CPU.
void reference_gemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

/// The same over blocks of rows on all threads.
void reference_gemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c, Threads& threads);

/// C[m, n] += A * B in 64-bit integers modulo 2^64, on all threads.
void reference_gemm(int64_t m, int64_t n, int64_t k, const int64_t* a, const int64_t* b, int64_t* c, Threads& threads);

}  // namespace strop::ops
