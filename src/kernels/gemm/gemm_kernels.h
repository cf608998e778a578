/// The innermost loops of GEMM, compiled once per CPU target. Private to this folder.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels::gemm {

/// C[rows, panels · width] (+)= A[rows, k] · B[k, panels · width] for a run of panels, each `vectors` vectors wide.
struct BlockArgs {
  const float* a;  ///< rows contiguous in k, or with packed_a what pack_a wrote for the same rows, mr and k
  int64_t lda;     ///< without packed_a
  bool packed_a;
  int64_t rows;
  int64_t mr;            ///< most rows per tile; rows are dealt out evenly
  const float* b;        ///< first panel
  int64_t ldb;           ///< from one k to the next within a panel
  int64_t panel_stride;  ///< from one panel to the next
  int64_t panels;
  int64_t vectors;  ///< width of a panel in vectors, 1 to 3
  int64_t cols;     ///< columns of a panel that exist; less than its width only with panels == 1
  int64_t k;
  bool split_k;  ///< break the sums' dependency chains (rows <= 3 tiles only); changes the order of additions
  float* c;
  int64_t ldc;
  const float* bias;      ///< per column, or null
  const float* row_bias;  ///< per row, or null
  const float* add;       ///< added element by element (residual, or C's own earlier sections), or null
  int64_t ld_add;
  bool clamp;
  float lo, hi;
};

/// Interleaves rows of A for BlockArgs: the rows of a tile side by side, so that the innermost loop reads one stream.
/// The tile of `tile_rows` rows from `row` on lies at dst + row · k: dst[row · k + i · tile_rows + r] = A[row + r, i].
struct PackAArgs {
  const float* src;
  int64_t ld_src;
  bool transposed;  ///< A[r, i] is src[i * ld_src + r], otherwise src[r * ld_src + i]
  int64_t rows;
  int64_t mr;
  int64_t k;
  float* dst;  ///< rows · k floats, and kPackASlack more that are overwritten
};
constexpr int64_t kPackASlack = 16;

/// dst[j, i] = src[i, j] for i < rows, j < cols.
struct TransposeArgs {
  const float* src;
  int64_t ld_src;
  int64_t rows, cols;
  float* dst;
  int64_t ld_dst;
};

/// Copies rows of B into panels side by side: dst[p * panel_stride + i * width + j] = src[i * ld_src + p * width + j]
/// for i < k, p < panels, j < width.
struct PackArgs {
  const float* src;
  int64_t ld_src;
  int64_t k;
  int64_t panels;
  int64_t width;  ///< a multiple of the target's lanes
  float* dst;
  int64_t panel_stride;
};

/// y[j] = sum over i < k of x[i] · mat(i, j), for j < count.
struct GemvArgs {
  const float* x;
  int64_t inc_x;  ///< must be 1 for gemv_dot
  const float* mat;
  int64_t ld;  ///< gemv_dot: mat(i, j) = mat[j * ld + i]; gemv_axpy: mat[i * ld + j]
  int64_t k;
  int64_t count;
  float* y;  ///< contiguous; gemv_axpy reads and writes it once per eight values of i
};

/// One target's functions.
struct Kernels {
  int lanes;
  int max_mr[4];  ///< by vectors per panel; [0] unused
  void (*block)(const BlockArgs& args);
  void (*pack_a)(const PackAArgs& args);
  void (*transpose)(const TransposeArgs& args);
  void (*pack)(const PackArgs& args);
  void (*gemv_dot)(const GemvArgs& args);
  void (*gemv_axpy)(const GemvArgs& args);
};

/// The functions of a target, whether or not this CPU can run them.
const Kernels& kernels_for(CpuTarget target);

}  // namespace strop::kernels::gemm
