#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/gemm/gemm_run.h"

namespace strop::kernels {
namespace gemm {
namespace {

// Panels that are packed side by side, so that several neighbouring lines of every row of B are used at once.
constexpr int64_t kPanelsAtOnce = 4;

/// The columns from `col` on, fewer than a panel's `width`, as one panel [k, width].
void pack_partial_panel(const PackBArgs& args, int64_t col, int64_t width, float* panel) {
  const int64_t cols = args.n - col;
  const float* from = args.b + col;
  for (int64_t i = 0; i < args.k; ++i, from += args.ldb, panel += width) {
    std::copy_n(from, cols, panel);
    std::fill(panel + cols, panel + width, 0.0f);
  }
}

void pack_plain(const PackBArgs& args, int64_t nr, const Kernels& kernels) {
  const int64_t whole = args.n / nr;
  for (int64_t panel = 0; panel < whole; panel += kPanelsAtOnce) {
    const int64_t col = panel * nr;
    const int64_t panels = std::min(kPanelsAtOnce, whole - panel);
    kernels.pack({args.b + col, args.ldb, args.k, panels, nr, args.packed + col * args.k, nr * args.k});
  }
  const int64_t col = whole * nr;
  if (col == args.n) return;
  const int64_t width = round_up(args.n - col, kernels.lanes);
  pack_partial_panel(args, col, width, args.packed + col * args.k);
}

void pack_transposed(const PackBArgs& args, int64_t nr, const Kernels& kernels) {
  for (int64_t col = 0; col < args.n; col += nr) {
    const int64_t cols = std::min(nr, args.n - col);
    const int64_t width = round_up(cols, kernels.lanes);
    float* panel = args.packed + col * args.k;
    if (cols < width) std::memset(panel, 0, static_cast<size_t>(args.k * width) * sizeof(float));
    kernels.transpose({args.b + col * args.ldb, args.ldb, cols, args.k, panel, width});
  }
}

}  // namespace

void pack_panels(const PackBArgs& args, int64_t nr, const Kernels& kernels) {
  if (args.k == 0) return;
  if (args.trans_b) {
    pack_transposed(args, nr, kernels);
  } else {
    pack_plain(args, nr, kernels);
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
