#include <algorithm>

#include "kernels/gemm/gemm_run.h"

namespace strop::kernels::gemm {
namespace {

// Sums that one worker holds in L1 while it reads the matrix: a page per row, long enough for the prefetchers.
constexpr int64_t kSums = 1024;

/// Level one of the epilogue for the block of y whose sums are given, and the store.
void finish(const Call& call, const Gemv& v, const float* sums, const GemmBlock& block) {
  const GemmEpilogue& e = call.epilogue;
  const int64_t count = v.row ? block.cols : block.rows;
  const int64_t inc_c = v.row ? 1 : block.ldc;
  const int64_t inc_r = v.row ? 1 : e.ldr;
  const float* residual = e.residual ? e.residual + block.batch * e.stride_r + block.row * e.ldr + block.col : nullptr;
  for (int64_t j = 0; j < count; ++j) {
    float x = sums[j];
    if (e.bias) x += e.bias[v.row ? block.col + j : 0];
    if (e.row_bias) x += e.row_bias[v.row ? 0 : block.row + j];
    if (residual) x += residual[j * inc_r];
    x = x < e.lo ? e.lo : x;
    block.c[j * inc_c] = x > e.hi ? e.hi : x;
  }
  if (e.apply) e.apply(e.context, block);
}

/// y[first, first + count) of one batch item.
void compute(const Call& call, const Gemv& v, int64_t batch, int64_t first, int64_t count, int worker) {
  const GemmProblem& p = call.problem;
  const float* a = call.a + batch * p.stride_a;
  const float* b = call.b + batch * p.stride_b;
  const float* x = v.row ? a : b;
  const float* mat = v.row ? b : a;
  int64_t inc_x = v.inc_x;
  if (v.dot && inc_x != 1) {
    float* copy = call.a_scratch(worker);
    for (int64_t i = 0; i < p.k; ++i) copy[i] = x[i * inc_x];
    x = copy;
    inc_x = 1;
  }
  alignas(64) float sums[kSums];
  for (int64_t j = first; j < first + count; j += kSums) {
    const int64_t part = std::min(kSums, first + count - j);
    if (v.dot) {
      call.kernels->gemv_dot({x, inc_x, mat + j * v.ld, v.ld, p.k, part, sums});
    } else {
      call.kernels->gemv_axpy({x, inc_x, mat + j, v.ld, p.k, part, sums});
    }
    const int64_t row = v.row ? 0 : j;
    const int64_t col = v.row ? j : 0;
    float* c = call.c + batch * p.stride_c + row * p.ldc + col;
    finish(call, v, sums, {c, p.ldc, batch, row, col, v.row ? 1 : part, v.row ? part : 1, worker});
  }
}

}  // namespace

void run_gemv(const Call& call, Threads& threads) {
  const Gemv v = as_gemv(call.problem);
  const int64_t per_item = call.plan.grid_n;
  parallel_for(threads, per_item * call.problem.batch, call.plan.unit_grain,
               [&](int64_t begin, int64_t end, int worker) {
                 while (begin < end) {
                   const int64_t batch = begin / per_item;
                   const int64_t first = begin % per_item * kGemvColumns;
                   const int64_t units = std::min(end - begin, per_item - begin % per_item);
                   compute(call, v, batch, first, std::min(units * kGemvColumns, v.count - first), worker);
                   begin += units;
                 }
               });
}

}  // namespace strop::kernels::gemm
