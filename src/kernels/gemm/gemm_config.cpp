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
// A section of a panel of B: twice a usual L1, since it streams through from L2 with prefetches while C stays in
// registers; longer sections mean that C is read and written less often.
constexpr int64_t kPanelBytes = 64 * 1024;
// Half of a usual L2 (512 KiB), a little more, for a block of A.
constexpr int64_t kBlockBytes = 288 * 1024;
// A section of B is read once per block of A: a small part of L3, of which other cores leave us an unknown share.
constexpr int64_t kSectionBytes = 4 * 1024 * 1024;

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

GemmConfig default_config(const GemmProblem& problem, CpuTarget target) {
  const GemmProblem p = gemm::with_dense_strides(problem);
  GemmConfig config;
  config.target = target;
  config.nr = 2 * vector_lanes(target);
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

std::vector<GemmConfig> candidate_configs(const GemmProblem& problem, CpuTarget target, bool keep_nr) {
  const GemmProblem p = gemm::with_dense_strides(problem);
  const GemmConfig first = default_config(p, target);
  std::vector<GemmConfig> configs{first};
  const auto add = [&](GemmConfig config) {
    if (std::find(configs.begin(), configs.end(), config) == configs.end()) configs.push_back(config);
  };
  for (int vectors : {2, 3, 1}) {
    GemmConfig config = first;
    config.nr = vectors * vector_lanes(target);
    if (keep_nr && config.nr != first.nr) continue;
    config.mr = max_mr(target, config.nr);
    set_blocking(p, config);
    add(config);
    GemmConfig other_copy = config;
    other_copy.copy_a = !config.copy_a;
    add(other_copy);
    if (!p.packed_b && !p.trans_b) {
      GemmConfig other_b = config;
      other_b.copy_b = !config.copy_b;
      add(other_b);
    }
    if (config.kc > 128) {
      GemmConfig half_kc = config;
      half_kc.kc = gemm::round_up(gemm::ceil_div(config.kc, 2), 8);
      half_kc.mc = config.mc * 2;
      add(half_kc);
    }
    if (config.mc > 2 * config.mr && config.mc < 2 * p.m) {
      GemmConfig half_mc = config;
      half_mc.mc = gemm::round_up(config.mc / 2, config.mr);
      add(half_mc);
    }
  }
  return configs;
}

}  // namespace strop::kernels
