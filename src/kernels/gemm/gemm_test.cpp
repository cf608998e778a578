#include "kernels/gemm/gemm.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "kernels/gemm/gemm_kernels.h"

namespace strop::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kGuard = 12345.5f;  // no result has this value

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> result;
  for (CpuTarget target : {CpuTarget::Portable, CpuTarget::Avx2, CpuTarget::Avx512}) {
    if (target <= best_cpu_target()) result.push_back(target);
  }
  return result;
}

/// The operands of one problem, their reference result, and C within guard zones.
struct Case {
  GemmProblem p;
  GemmEpilogue epilogue;
  std::vector<float> a, b, c, bias, row_bias, residual;
  std::vector<double> want, magnitude;

  float a_at(int64_t batch, int64_t i, int64_t kk) const {
    return a[batch * p.stride_a + (p.trans_a ? kk * p.lda + i : i * p.lda + kk)];
  }
  float b_at(int64_t batch, int64_t kk, int64_t j) const {
    return b[batch * p.stride_b + (p.trans_b ? j * p.ldb + kk : kk * p.ldb + j)];
  }
};

struct Extras {
  bool bias = false, row_bias = false, residual = false, clamp = false;
  int64_t pad = 0;  ///< added to every leading dimension
  bool share_b = false;
};

std::vector<float> random_values(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1.0f, 1.0f);
  std::vector<float> result(static_cast<size_t>(count));
  for (float& x : result) x = values(random);
  return result;
}

double clamped(double x, const GemmEpilogue& e) {
  x = x < e.lo ? e.lo : x;
  return x > e.hi ? e.hi : x;
}

/// Sums in double, exactly as the header defines the result.
void compute_reference(Case& t) {
  const GemmProblem& p = t.p;
  t.want.assign(static_cast<size_t>(p.batch * p.m * p.n), 0.0);
  t.magnitude = t.want;
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    for (int64_t i = 0; i < p.m; ++i) {
      double* sums = t.want.data() + (batch * p.m + i) * p.n;
      double* magnitudes = t.magnitude.data() + (batch * p.m + i) * p.n;
      for (int64_t kk = 0; kk < p.k; ++kk) {
        const double a = t.a_at(batch, i, kk);
        for (int64_t j = 0; j < p.n; ++j) {
          const double product = a * t.b_at(batch, kk, j);
          sums[j] += product;
          magnitudes[j] += std::abs(product);
        }
      }
      for (int64_t j = 0; j < p.n; ++j) {
        for (const float extra : {t.bias.empty() ? 0.0f : t.bias[j], t.row_bias.empty() ? 0.0f : t.row_bias[i],
                                  t.residual.empty() ? 0.0f : t.residual[(batch * p.m + i) * p.n + j]}) {
          sums[j] += extra;
          magnitudes[j] += std::abs(extra);
        }
        sums[j] = clamped(sums[j], t.epilogue);
      }
    }
  }
}

Case make_case(GemmProblem p, const Extras& extras, uint32_t seed = 1) {
  Case t;
  p.lda = (p.trans_a ? p.m : p.k) + extras.pad;
  p.ldb = (p.trans_b ? p.k : p.n) + extras.pad;
  p.ldc = p.n + extras.pad;
  p.stride_a = (p.trans_a ? p.k : p.m) * p.lda + extras.pad;
  p.stride_b = extras.share_b ? 0 : (p.trans_b ? p.n : p.k) * p.ldb + extras.pad;
  p.stride_c = p.m * p.ldc + extras.pad;
  t.p = p;
  t.a = random_values(p.batch * p.stride_a, seed);
  t.b = random_values(p.batch * (p.trans_b ? p.n : p.k) * p.ldb + p.batch * extras.pad, seed + 1);
  if (extras.bias) t.bias = random_values(p.n, seed + 2);
  if (extras.row_bias) t.row_bias = random_values(p.m, seed + 3);
  if (extras.residual) t.residual = random_values(p.batch * p.m * p.n, seed + 4);
  if (extras.clamp) t.epilogue.lo = -0.5f, t.epilogue.hi = 1.25f;
  t.epilogue.bias = extras.bias ? t.bias.data() : nullptr;
  t.epilogue.row_bias = extras.row_bias ? t.row_bias.data() : nullptr;
  t.epilogue.residual = extras.residual ? t.residual.data() : nullptr;
  t.epilogue.stride_r = p.m * p.n;
  compute_reference(t);
  return t;
}

/// Runs the case into t.c, whose gaps and ends hold kGuard.
void run_case(Case& t, const GemmConfig& config, Threads& threads) {
  constexpr int64_t kGuardFloats = 64;
  GemmProblem p = t.p;
  std::vector<float> packed;
  if (p.packed_b) {
    const int64_t item = static_cast<int64_t>(packed_b_bytes(p.k, p.n, config) / sizeof(float));
    const int64_t items = p.stride_b == 0 ? 1 : p.batch;
    packed.assign(static_cast<size_t>(item * items + 1), kGuard);
    for (int64_t i = 0; i < items; ++i) {
      pack_b({p.k, p.n, p.trans_b, p.ldb, t.b.data() + i * p.stride_b, packed.data() + i * item}, config);
    }
    EXPECT_EQ(packed.back(), kGuard) << "pack_b wrote more than packed_b_bytes";
    p.stride_b = p.stride_b == 0 ? 0 : item;
  }
  const size_t bytes = gemm_workspace_bytes(p, config, threads.count());
  std::vector<char> workspace(bytes + 64, 'x');
  t.c.assign(static_cast<size_t>(p.batch * p.stride_c + 2 * kGuardFloats), kGuard);
  GemmEpilogue epilogue = t.epilogue;
  run_gemm(p, config,
           {t.a.data(), p.packed_b ? packed.data() : t.b.data(), t.c.data() + kGuardFloats, workspace.data(), bytes},
           epilogue, threads);
  for (size_t i = bytes; i < workspace.size(); ++i) ASSERT_EQ(workspace[i], 'x') << "workspace overrun";
  t.c.erase(t.c.begin(), t.c.begin() + kGuardFloats);
  for (size_t i = t.c.size() - kGuardFloats; i < t.c.size(); ++i) ASSERT_EQ(t.c[i], kGuard) << "wrote past C";
}

std::string describe(const GemmProblem& p, const GemmConfig& c) {
  return fmt::format("{}[{}x{}x{}]{}{}{} ld {} {} {} target {} tile {}x{} kc {} mc {} nc {} copy_a {} copy_b {}",
                     p.batch, p.m, p.n, p.k, p.trans_a ? " trans_a" : "", p.trans_b ? " trans_b" : "",
                     p.packed_b ? " packed" : "", p.lda, p.ldb, p.ldc, to_string(c.target), c.mr, c.nr, c.kc, c.mc,
                     c.nc, c.copy_a, c.copy_b);
}

/// Error bound of a sum of k + 3 terms in any order (Higham, Accuracy and Stability, 3.1): (k + 3) u Σ|terms|.
void expect_right(const Case& t, const std::string& what) {
  const GemmProblem& p = t.p;
  constexpr double kUnit = std::numeric_limits<float>::epsilon() / 2;
  int64_t index = 0;
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    for (int64_t i = 0; i < p.m; ++i) {
      const float* row = t.c.data() + batch * p.stride_c + i * p.ldc;
      for (int64_t j = 0; j < p.n; ++j, ++index) {
        const double bound = kUnit * static_cast<double>(p.k + 4) * t.magnitude[index];
        ASSERT_LE(std::abs(row[j] - t.want[index]), bound)
            << what << " at " << batch << ", " << i << ", " << j << ": " << row[j] << " for " << t.want[index];
      }
      for (int64_t j = p.n; j < p.ldc; ++j) ASSERT_EQ(row[j], kGuard) << what << ": gap of row " << i;
    }
  }
}

void check(const GemmProblem& problem, const Extras& extras, const GemmConfig& config, Threads& threads) {
  Case t = make_case(problem, extras, static_cast<uint32_t>(problem.m * 31 + problem.n * 7 + problem.k));
  run_case(t, config, threads);
  if (!testing::Test::HasFatalFailure()) expect_right(t, describe(t.p, config));
}

class GemmTest : public testing::TestWithParam<CpuTarget> {
 protected:
  SingleThread single_;
};
INSTANTIATE_TEST_SUITE_P(Targets, GemmTest, testing::ValuesIn(targets()),
                         [](const auto& target) { return std::string(to_string(target.param)); });

TEST_P(GemmTest, EdgeShapesInEveryLayout) {
  const int64_t sizes[] = {1, 2, 5, 6, 7, 15, 16, 17, 37};
  int variant = 0;
  for (int64_t m : sizes) {
    for (int64_t n : sizes) {
      for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{16}, int64_t{29}}) {
        GemmProblem p{m, n, k};
        ++variant;
        for (int layout = 0; layout < 8; ++layout) {
          p.trans_a = layout & 1;
          p.trans_b = layout & 2;
          p.packed_b = layout & 4;
          Extras extras;
          extras.bias = variant & 1;
          extras.row_bias = variant % 3 == 0;
          extras.residual = variant & 2;
          extras.clamp = variant & 4;
          extras.pad = variant % 5 == 0 ? 3 : 0;
          check(p, extras, default_config(p, GetParam()), single_);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(GemmTest, EveryEpilogueOverSectionsOfK) {
  const GemmProblem p{23, 41, 67};
  GemmConfig config = default_config(p, GetParam());
  config.kc = 16;
  config.mc = config.mr;
  config.nc = config.nr;
  for (int bits = 0; bits < 16; ++bits) {
    const Extras extras{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, 5};
    for (const bool copy : {false, true}) {
      config.copy_a = config.copy_b = copy;
      check(p, extras, config, single_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GemmTest, EveryTileShape) {
  for (int vectors : {1, 2, 3}) {
    GemmConfig config = default_config({100, 100, 50}, GetParam());
    config.nr = vectors * vector_lanes(GetParam());
    config.nc = config.nr * 3;
    for (config.mr = 1; config.mr <= max_mr(GetParam(), config.nr); ++config.mr) {
      config.mc = 4 * config.mr;
      for (const bool packed : {false, true}) {
        for (int64_t m : {1, 2, 3, 4, 31, 60}) {
          GemmProblem p{m, 109, 50};
          p.packed_b = packed;
          check(p, {true, false, false, true}, config, single_);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(GemmTest, CandidateConfigsAreAllRight) {
  for (const bool packed : {false, true}) {
    GemmProblem p{61, 131, 300};
    p.packed_b = packed;
    const auto configs = candidate_configs(p, GetParam());
    EXPECT_EQ(configs.size(), 3u);
    EXPECT_EQ(configs.front(), default_config(p, GetParam()));
    for (const auto& config : configs) {
      check(p, {true, false, true, true}, config, single_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GemmTest, LargerShapesOnSeveralThreads) {
  auto pool = make_thread_pool(3);
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{128, 384, 384},
                                {16, 640, 384},
                                {1, 1000, 700},
                                {3, 1000, 700},
                                {1000, 1, 700},
                                {211, 199, 523},
                                {700, 24, 33}}) {
    for (int layout = 0; layout < 8; ++layout) {
      GemmProblem p{m, n, k};
      p.trans_a = layout & 1;
      p.trans_b = layout & 2;
      p.packed_b = layout & 4;
      check(p, {true, true, true, true, 1}, default_config(p, GetParam()), *pool);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GemmTest, BatchesWithOwnAndSharedB) {
  auto pool = make_thread_pool(2);
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{16, 16, 32}, {128, 128, 32}, {128, 32, 128}, {1, 64, 128}, {64, 1, 33}, {90, 70, 50}}) {
    for (int layout = 0; layout < 16; ++layout) {
      GemmProblem p{m, n, k, 12};
      p.trans_a = layout & 1;
      p.trans_b = layout & 2;
      p.packed_b = layout & 4;
      Extras extras{true, false, true, true, 2};
      extras.share_b = layout & 8;
      check(p, extras, default_config(p, GetParam()), *pool);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GemmTest, ResultDoesNotDependOnThreads) {
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{128, 384, 384}, {3, 1541, 700}, {1, 2000, 700}, {2000, 1, 701}, {67, 1001, 300}}) {
    for (int layout = 0; layout < 8; ++layout) {
      GemmProblem p{m, n, k};
      p.trans_a = layout & 1;
      p.trans_b = layout & 2;
      p.packed_b = layout & 4;
      Case t = make_case(p, {true});
      const GemmConfig config = default_config(t.p, GetParam());
      run_case(t, config, single_);
      const std::vector<float> alone = t.c;
      for (int count : {2, 5}) {
        auto pool = make_thread_pool(count);
        run_case(t, config, *pool);
        ASSERT_EQ(std::memcmp(alone.data(), t.c.data(), alone.size() * sizeof(float)), 0)
            << describe(t.p, config) << " on " << count;
      }
    }
  }
}

TEST_P(GemmTest, ResidualMayBeC) {
  for (int64_t m : {1, 40}) {
    const GemmProblem p{m, 50, 64};
    Case t = make_case(p, {true, false, true, true});
    GemmConfig config = default_config(t.p, GetParam());
    config.kc = 24;
    std::vector<float> workspace(gemm_workspace_bytes(t.p, config, 1) / sizeof(float) + 1);
    t.c = t.residual;
    t.epilogue.residual = t.c.data();
    run_gemm(t.p, config, {t.a.data(), t.b.data(), t.c.data(), workspace.data(), workspace.size() * sizeof(float)},
             t.epilogue, single_);
    expect_right(t, describe(t.p, config));
  }
}

/// Adds 100 · batch to every element and counts the visits.
struct Visitor {
  GemmProblem p;
  float* c;
  std::vector<std::atomic<int>> visits;
  std::atomic<bool> bad{false};

  static void apply(void* context, const GemmBlock& block) {
    auto& self = *static_cast<Visitor*>(context);
    const GemmProblem& p = self.p;
    if (block.c != self.c + block.batch * p.stride_c + block.row * p.ldc + block.col) self.bad = true;
    if (block.ldc != p.ldc || block.worker < 0 || block.worker >= 3) self.bad = true;
    for (int64_t i = 0; i < block.rows; ++i) {
      for (int64_t j = 0; j < block.cols; ++j) {
        block.c[i * block.ldc + j] += static_cast<float>(100 * block.batch);
        self.visits[(block.batch * p.m + block.row + i) * p.n + block.col + j].fetch_add(1);
      }
    }
  }
};

TEST_P(GemmTest, CallbackSeesEveryElementOnceAfterTheClamp) {
  auto pool = make_thread_pool(3);
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{67, 301, 40}, {1, 500, 600}, {500, 1, 600}, {5, 17, 0}, {200, 200, 400}}) {
    for (const bool packed : {false, true}) {
      GemmProblem p{m, n, k, 3};
      p.packed_b = packed;
      Case t = make_case(p, {true, false, false, true, 2});
      GemmConfig config = default_config(t.p, GetParam());
      config.kc = 150;
      t.c.assign(t.p.batch * t.p.stride_c, kGuard);
      std::vector<float> panels;
      const float* b = t.b.data();
      GemmProblem run = t.p;
      if (packed) {
        const size_t item = packed_b_bytes(k, n, config) / sizeof(float);
        panels.resize(item * 3);
        for (int i = 0; i < 3; ++i) {
          pack_b({k, n, false, t.p.ldb, b + i * t.p.stride_b, panels.data() + i * item}, config);
        }
        run.stride_b = static_cast<int64_t>(item);
        b = panels.data();
      }
      std::vector<float> workspace(gemm_workspace_bytes(run, config, 3) / sizeof(float) + 1);
      Visitor visitor{t.p, t.c.data(), std::vector<std::atomic<int>>(p.batch * m * n)};
      t.epilogue.apply = Visitor::apply;
      t.epilogue.context = &visitor;
      run_gemm(run, config, {t.a.data(), b, t.c.data(), workspace.data(), workspace.size() * sizeof(float)}, t.epilogue,
               *pool);
      EXPECT_FALSE(visitor.bad);
      for (const auto& count : visitor.visits) ASSERT_EQ(count.load(), 1) << describe(t.p, config);
      for (int64_t i = 0; i < p.batch * m * n; ++i) {
        t.want[i] += 100.0 * static_cast<double>(i / (m * n));
        t.magnitude[i] += 300.0;
      }
      expect_right(t, describe(t.p, config));
    }
  }
}

TEST_P(GemmTest, NanAndInfinityPropagate) {
  for (int64_t m : {1, 3, 20}) {
    for (int64_t n : {1, 5, 40}) {
      for (int layout = 0; layout < 8; ++layout) {
        GemmProblem p{m, n, 33};
        p.trans_a = layout & 1;
        p.trans_b = layout & 2;
        p.packed_b = layout & 4;
        Case t = make_case(p, {});
        // Row 0 of A and column 0 of B: zeros, but A[0, 17] = 0 meets B[17, 0] = Inf.
        for (int64_t kk = 0; kk < 33; ++kk) t.a[t.p.trans_a ? kk * t.p.lda : kk] = 0.0f;
        t.b[t.p.trans_b ? 17 : 17 * t.p.ldb] = kInf;
        t.epilogue.lo = 0.0f;
        t.epilogue.hi = 6.0f;
        run_case(t, default_config(t.p, GetParam()), single_);
        const std::string what = describe(t.p, default_config(t.p, GetParam()));
        EXPECT_TRUE(std::isnan(t.c[0])) << what;  // 0 · Inf, and the clamp keeps NaN
        for (int64_t i = 1; i < m; ++i) {
          EXPECT_EQ(t.c[i * t.p.ldc], t.a_at(0, i, 17) > 0 ? 6.0f : 0.0f) << what;  // ±Inf, clamped
        }
        for (int64_t j = 1; j < n; ++j) EXPECT_EQ(t.c[j], 0.0f) << what;  // Inf stays in its column
      }
    }
  }
}

TEST_P(GemmTest, NanOfResidualAndBiasSurvivesTheClamp) {
  Case t = make_case({8, 20, 4}, {true, false, true, true});
  t.bias[3] = kNan;
  t.residual[5 * 20 + 18] = kNan;
  run_case(t, default_config(t.p, GetParam()), single_);
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t j = 0; j < 20; ++j) EXPECT_EQ(std::isnan(t.c[i * 20 + j]), j == 3 || (i == 5 && j == 18));
  }
}

TEST_P(GemmTest, PackedLayoutIsTheDocumentedOne) {
  GemmConfig config = default_config({8, 100, 8}, GetParam());
  const int64_t lanes = vector_lanes(GetParam());
  config.nr = static_cast<int>(2 * lanes);
  const int64_t k = 3, n = 2 * lanes + 1;
  std::vector<float> b(k * n);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i + 1);
  ASSERT_EQ(packed_b_bytes(k, n, config), static_cast<size_t>(k * 3 * lanes) * sizeof(float));
  std::vector<float> packed(k * 3 * lanes, kGuard);
  pack_b({k, n, false, 0, b.data(), packed.data()}, config);
  for (int64_t kk = 0; kk < k; ++kk) {
    for (int64_t j = 0; j < 2 * lanes; ++j) EXPECT_EQ(packed[kk * 2 * lanes + j], b[kk * n + j]);
    const float* last = packed.data() + k * 2 * lanes + kk * lanes;
    EXPECT_EQ(last[0], b[kk * n + 2 * lanes]);
    for (int64_t j = 1; j < lanes; ++j) EXPECT_EQ(last[j], 0.0f);
  }
}

TEST_P(GemmTest, PackAPutsTheRowsOfATileSideBySide) {
  for (const int64_t rows : {1, 5, 6, 7, 8, 11, 12, 13, 29}) {
    for (const int64_t mr : {1, 4, 6, 8, 9, 12}) {
      for (const int64_t k : {0, 1, 7, 8, 9, 16, 37}) {
        const int64_t ld = std::max(rows, k) + 3;
        const std::vector<float> a = random_values(ld * ld, 5);
        for (const bool transposed : {false, true}) {
          std::vector<float> packed(static_cast<size_t>(rows * k + gemm::kPackASlack + 1), kGuard);
          gemm::kernels_for(GetParam()).pack_a({a.data(), ld, transposed, rows, mr, k, packed.data()});
          const int64_t tiles = (rows + mr - 1) / mr;
          for (int64_t t = 0, row = 0; t < tiles; ++t) {
            const int64_t height = (rows - row) / (tiles - t);
            for (int64_t i = 0; i < k * height; ++i) {
              const int64_t r = row + i % height, kk = i / height;
              const float want = a[static_cast<size_t>(transposed ? kk * ld + r : r * ld + kk)];
              ASSERT_EQ(packed[static_cast<size_t>(row * k + i)], want) << rows << " " << mr << " " << k;
            }
            row += height;
          }
          EXPECT_EQ(packed.back(), kGuard) << "beyond the slack";
        }
      }
    }
  }
}

TEST(Gemm, EmptyProblemsTouchNothing) {
  SingleThread single;
  for (const GemmProblem& p : {GemmProblem{0, 4, 4}, GemmProblem{4, 0, 4}, GemmProblem{4, 4, 4, 0}}) {
    const GemmConfig config = default_config(p);
    EXPECT_EQ(gemm_workspace_bytes(p, config, 2), 0u);
    run_gemm(p, config, {}, {}, single);
  }
}

TEST(Gemm, BadArgumentsAreBugs) {
  SingleThread single;
  const GemmProblem p{40, 40, 40};
  std::vector<float> x(1600), c(1600);
  GemmConfig config = default_config(p);
  EXPECT_THROW(run_gemm(p, config, {x.data(), x.data(), nullptr}, {}, single), Bug);
  config.copy_a = true;
  EXPECT_THROW(run_gemm(p, config, {x.data(), x.data(), c.data()}, {}, single), Bug);  // no workspace
  config.mr = 100;
  EXPECT_THROW(run_gemm(p, config, {x.data(), x.data(), c.data()}, {}, single), Bug);
}

}  // namespace
}  // namespace strop::kernels
