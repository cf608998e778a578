#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/gemm/gemm_run.h"

namespace strop::kernels {
namespace gemm {
namespace {

/// Columns [col, col + cols) as one panel [k, width].
void pack_panel(const PackBArgs& args, int64_t col, int64_t cols, int64_t width, float* panel, const Kernels& kernels) {
  if (args.trans_b) {
    if (cols < width) std::memset(panel, 0, static_cast<size_t>(args.k * width) * sizeof(float));
    kernels.transpose({args.b + col * args.ldb, args.ldb, cols, args.k, panel, width});
    return;
  }
  const float* from = args.b + col;
  for (int64_t i = 0; i < args.k; ++i, from += args.ldb, panel += width) {
    std::copy_n(from, cols, panel);
    std::fill(panel + cols, panel + width, 0.0f);
  }
}

}  // namespace

void pack_panels(const PackBArgs& args, int64_t nr, const Kernels& kernels) {
  if (args.k == 0) return;
  for (int64_t col = 0; col < args.n; col += nr) {
    const int64_t cols = std::min(nr, args.n - col);
    const int64_t width = round_up(cols, kernels.lanes);
    pack_panel(args, col, cols, width, args.packed + col * args.k, kernels);
  }
}

}  // namespace gemm

size_t packed_b_bytes(int64_t k, int64_t n, const GemmConfig& config) {
  const int64_t lanes = vector_lanes(config.target);
  return static_cast<size_t>(gemm::packed_floats(k, n, config.nr, lanes)) * sizeof(float);
}

void pack_b(const PackBArgs& args, const GemmConfig& config) {
  if (args.k == 0 || args.n == 0) return;
  STROP_CHECK(args.b != nullptr && args.packed != nullptr, "pack_b without memory");
  PackBArgs dense = args;
  if (dense.ldb == 0) dense.ldb = dense.trans_b ? dense.k : dense.n;
  if (dense.n > 1) return gemm::pack_panels(dense, config.nr, gemm::kernels_for(config.target));
  const int64_t step = dense.trans_b ? 1 : dense.ldb;
  for (int64_t i = 0; i < dense.k; ++i) dense.packed[i] = dense.b[i * step];
}

}  // namespace strop::kernels
