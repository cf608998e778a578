#include <algorithm>

#include "base/check.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_plan.h"

namespace strop::kernels {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kPageBytes = 4096;
// Measured on shapes of convolutions in NCHW layout.
constexpr int64_t kRowsWorthPacking = 192;
// A section of a panel of B: more than a usual L1, since it streams through from L2 with prefetches while C stays in
// registers; longer sections mean that C is read and written less often.
constexpr int64_t kPanelBytes = 48 * 1024;
// Half of a usual L2 (512 KiB), a little more, for a block of A.
constexpr int64_t kBlockBytes = 288 * 1024;
// A section of B is read once per block of A: a small part of L3, of which other cores leave us an unknown share.
constexpr int64_t kSectionBytes = 3 * 1024 * 1024;

// Longest sums for which wider panels have been seen to win.
constexpr int64_t kMostWideK = 320;

/// kc, mc and nc for the config's mr and nr.
void set_blocking(const GemmProblem& p, GemmConfig& config) {
  const int64_t most_kc = kPanelBytes / (config.nr * kFloatBytes);
  const int64_t k = std::max<int64_t>(p.k, 1);
  // Half as much again is better than a second section, which reads and writes all of C once more; and a single tile of
  // rows has no second use for a section of B.
  config.kc =
      k <= most_kc * 3 / 2 || p.m <= config.mr ? k : gemm::round_up(gemm::ceil_div(k, gemm::ceil_div(k, most_kc)), 8);
  const int64_t row_bytes = config.kc * kFloatBytes;
  config.mc = std::max<int64_t>(kBlockBytes / row_bytes / config.mr, 1) * config.mr;
  config.nc = std::max<int64_t>(kSectionBytes / row_bytes / config.nr, 1) * config.nr;
}

}  // namespace

int vector_lanes(CpuTarget target) { return gemm::kernels_for(target).lanes; }

int max_mr(CpuTarget target, int nr) {
  const auto& kernels = gemm::kernels_for(target);
  const int vectors = nr / kernels.lanes;
  STROP_CHECK(vectors >= 1 && vectors <= 3 && nr % kernels.lanes == 0, "nr {} for {}", nr, to_string(target));
  return kernels.max_mr[vectors];
}

GemmConfig default_config(const GemmProblem& problem, CpuTarget target, int vectors) {
  const GemmProblem p = gemm::with_dense_strides(problem);
  GemmConfig config;
  config.target = target;
  config.nr = vectors * vector_lanes(target);
  config.mr = max_mr(target, config.nr);
  set_blocking(p, config);
  // Interleaving A pays when each value is used often; rows that lie closely together are nearly as good.
  config.copy_a = p.m > 2 * config.mr && p.n >= 256 && p.lda * kFloatBytes >= 1024;
  // Reading B in place saves its packing, until its panels have been used often enough for packing to pay; much
  // earlier when B's rows lie a multiple of a page apart, as their lines then compete for few sets of the caches.
  const bool rows_collide = p.ldb * kFloatBytes % kPageBytes == 0;
  config.copy_b = p.m > (rows_collide ? 4 * config.mr : kRowsWorthPacking);
  return config;
}

std::vector<GemmConfig> candidate_configs(const GemmProblem& problem, CpuTarget target) {
  const GemmConfig first = default_config(problem, target);
  std::vector<GemmConfig> configs{first};
  const auto& p = problem;
  if (p.n == 1) return configs;
  // Wider panels read A less often, which short sums with many rows and products with one row gain from.
  if (p.n > first.nr && (p.k <= kMostWideK || p.m == 1)) {
    configs.push_back(default_config(p, target, kDefaultVectors + 1));
  }
  if (p.m > first.mr && !p.trans_a) {
    configs.push_back(first);
    configs.back().copy_a = !first.copy_a;
  }
  return configs;
}

}  // namespace strop::kernels
