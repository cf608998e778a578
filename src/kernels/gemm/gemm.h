/// fp32 matrix multiplication on the CPU: C = epilogue(op(A) · op(B)), row-major, batched, B optionally packed ahead.
///
/// The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), with two
/// changes that fit inference: a packed B spans all of k (so that it can be packed when the engine is built, whatever
/// kc and nc are later), and a small A stays where it is, the innermost kernel walking a few of its rows side by side.
///
/// Numerics: fp32 accumulation in the order of k, in `kc` sections (reassociated, fused multiply-adds where the target
/// has them). Nothing is skipped: 0 · Inf is NaN and propagates. For a given problem and config the result does not
/// depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/threads.h"
#include "kernels/cpu_target.h"

namespace strop::kernels {

/// Sizes and layouts; everything that the choice of a config and the size of the workspace depend on.
/// Leading dimensions of 0 mean dense. All counts and strides are in elements.
struct GemmProblem {
  int64_t m = 0;  ///< rows of C
  int64_t n = 0;  ///< columns of C
  int64_t k = 0;  ///< length of the sums; 0 gives epilogue(0)
  int64_t batch = 1;
  bool trans_a = false;   ///< A is stored [k, m] instead of [m, k]
  bool trans_b = false;   ///< B is stored [n, k] instead of [k, n]; with packed_b, matters to pack_b only
  bool packed_b = false;  ///< B comes from pack_b; ldb is then ignored when running
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< between batch items; 0 shares A or B (packed B: see pack_b)
};

/// Blocking and method: the tunable part. Every legal config gives a right result on every problem.
struct GemmConfig {
  CpuTarget target = CpuTarget::Portable;
  int mr = 0;           ///< rows of C that the innermost kernel computes, in [1, max_mr(target, nr)]
  int nr = 0;           ///< columns that it computes: 1, 2 or 3 times vector_lanes(target)
  int64_t kc = 0;       ///< length of a section of k; kc · nr floats of B should stay in L1
  int64_t mc = 0;       ///< rows of A per block; mc · kc floats of A should stay in L2
  int64_t nc = 0;       ///< columns of B used before the next block of A is fetched again
  bool copy_a = false;  ///< interleave blocks of A in tiles of mr rows (always done when trans_a)
  bool copy_b = false;  ///< pack a B that is not packed yet (always done when trans_b)

  bool operator==(const GemmConfig&) const = default;
};

/// A finished block of C, still in cache: element (i, j) is c[i * ldc + j] and belongs to row + i, col + j.
struct GemmBlock {
  float* c;
  int64_t ldc;
  int64_t batch, row, col, rows, cols;
  int worker;  ///< unique among concurrent calls, in [0, threads.count())
};

/// What happens to the sums. Level one is done in registers:
///   c = clamp(sum + bias[col] + row_bias[row] + residual[row, col], lo, hi)
/// where clamp(x) = x < lo ? lo : x > hi ? hi : x, so that NaN survives (as ONNX Relu, Clip and Max propagate it).
/// Level two calls `apply` for every block of C after level one, exactly once per element, possibly from several
/// workers at once.
struct GemmEpilogue {
  const float* bias = nullptr;      ///< [n], shared by the batch
  const float* row_bias = nullptr;  ///< [m], shared by the batch
  const float* residual = nullptr;  ///< [m, n] per batch item; may be C itself with C's strides
  int64_t ldr = 0;                  ///< leading dimension of residual; 0 means n
  int64_t stride_r = 0;             ///< between batch items of residual; 0 shares it
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
  void (*apply)(void* context, const GemmBlock& block) = nullptr;
  void* context = nullptr;
};

/// The memory of one call. C may not overlap A, B or the workspace. `packed_b` of the problem says what b is.
struct GemmBuffers {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  void* workspace = nullptr;  ///< any alignment, contents undefined before and after
  size_t workspace_bytes = 0;
};

/// Floats per vector register of a target.
int vector_lanes(CpuTarget target);
/// Most rows that the innermost kernel of a target holds in registers beside nr columns.
int max_mr(CpuTarget target, int nr);

/// A good config without measuring, for `target` (which this CPU must offer) and panels of `vectors` vectors (1 to 3).
constexpr int kDefaultVectors = 2;
GemmConfig default_config(const GemmProblem& problem, CpuTarget target = best_cpu_target(),
                          int vectors = kDefaultVectors);
/// The configs worth measuring: the default first, then those that have been seen to win on problems of this kind. They
/// differ from the default of their nr in copy_a only.
std::vector<GemmConfig> candidate_configs(const GemmProblem& problem, CpuTarget target = best_cpu_target());

/// Bytes of one packed B. Depends on k, n, config.nr and config.target only, as do the packed bytes:
/// panels of nr columns, each [k, nr] contiguous, one after the other; the last panel is as wide as the remaining
/// columns rounded up to whole vectors, its missing columns zero. When n == 1, B's column itself, [k].
size_t packed_b_bytes(int64_t k, int64_t n, const GemmConfig& config);
/// Packs b, [k, n] or with trans_b [n, k], leading dimension ldb (0: dense), into `packed`, best 64-byte aligned.
/// For a batch, pack every item by itself and set stride_b to their distance in floats.
struct PackBArgs {
  int64_t k = 0, n = 0;
  bool trans_b = false;
  int64_t ldb = 0;
  const float* b = nullptr;
  float* packed = nullptr;
};
void pack_b(const PackBArgs& args, const GemmConfig& config);

/// Scratch that run_gemm needs on a Threads with that count; may be 0.
size_t gemm_workspace_bytes(const GemmProblem& problem, const GemmConfig& config, int threads);

/// Computes C. Allocates nothing; small problems run on the calling thread alone.
/// Bad arguments (null pointers, illegal config, too little workspace) are bugs of the caller: STROP_CHECK.
void run_gemm(const GemmProblem& problem, const GemmConfig& config, const GemmBuffers& buffers,
              const GemmEpilogue& epilogue, Threads& threads);

}  // namespace strop::kernels
