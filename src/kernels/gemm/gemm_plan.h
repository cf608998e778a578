/// How one GEMM call is cut into tasks and what scratch it needs: pure functions of problem, config and thread count.
/// Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace strop::kernels::gemm {

enum class Method {
  Tiles,  ///< packed panels and register tiles
  Gemv,   ///< m == 1 or n == 1: bound by reading the matrix once
};

enum class BSource {
  Packed,   ///< the caller packed it
  InPlace,  ///< rows of B where they lie; only the last, partial panel is packed, by every task
  PerTask,  ///< every task packs the portions of B that it needs
  Shared,   ///< all workers pack B together, then multiply
};

struct Plan {
  Method method = Method::Tiles;
  BSource b_source = BSource::Packed;
  int64_t grid_m = 1, grid_n = 1;  ///< tasks per batch item
  int64_t rows_per_task = 0;
  int64_t cols_per_task = 0;     ///< a multiple of nr
  int64_t cols_per_portion = 0;  ///< columns of a task that its blocks of A meet before the next portion
  int64_t unit_grain = 1;        ///< tasks that are worth another thread
  bool copy_a = false;
  int workers = 1;
  int64_t a_floats = 0, b_floats = 0;  ///< scratch per worker
  int64_t shared_floats = 0;           ///< scratch for BSource::Shared
};

/// A problem with m == 1 or n == 1 as y[j] = sum over i of x[i] · mat(i, j): y is C's only row or column.
struct Gemv {
  bool row;       ///< y is a row: x is A and mat is B; otherwise x is B and mat is A
  bool dot;       ///< mat is contiguous in i, otherwise in j
  int64_t count;  ///< length of y
  int64_t inc_x;
  int64_t ld;  ///< of mat
};
Gemv as_gemv(const GemmProblem& problem);

/// The problem with its leading dimensions filled in.
GemmProblem with_dense_strides(GemmProblem problem);

/// `problem` must have its leading dimensions.
Plan make_plan(const GemmProblem& problem, const GemmConfig& config, int threads);

/// Floats of one packed B.
int64_t packed_floats(int64_t k, int64_t n, int64_t nr, int64_t lanes);

constexpr int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
constexpr int64_t ceil_div(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

/// Columns of a gemv that form one unit of work; a multiple of every target's vector length, so that the split
/// between threads does not change how a value is computed.
constexpr int64_t kGemvColumns = 64;

}  // namespace strop::kernels::gemm
