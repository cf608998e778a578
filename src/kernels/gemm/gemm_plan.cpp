#include "kernels/gemm/gemm_plan.h"

#include <algorithm>

#include "kernels/gemm/gemm_kernels.h"

namespace strop::kernels::gemm {
namespace {

// Multiply-adds that take a few microseconds, several times what handing a task to another thread costs.
constexpr int64_t kTaskWork = 192 * 1024;
// Below about ten microseconds the calling thread is done before another one has surely begun.
constexpr int64_t kParallelWork = 1536 * 1024;
// Tasks per thread: enough to even out cores that other processes disturb, few enough to keep blocks large.
constexpr int64_t kTasksPerThread = 4;
// Reading a column of B costs about as much as multiplying this many rows with it.
constexpr int64_t kRowsPerRead = 8;

double work_of(const GemmProblem& p) {
  return static_cast<double>(std::max(p.m, kRowsPerRead)) * static_cast<double>(p.n) *
         static_cast<double>(std::max<int64_t>(p.k, 1)) * static_cast<double>(p.batch);
}

int64_t wanted_tasks(double work, int threads) {
  if (threads <= 1 || work < kParallelWork) return 1;
  return static_cast<int64_t>(std::min(work / kTaskWork, static_cast<double>(kTasksPerThread * threads)));
}

/// Cuts the longer side until there are enough tasks or the pieces are as small as a tile is.
void choose_grid(const GemmProblem& p, const GemmConfig& config, int64_t tasks, Plan& plan) {
  const int64_t min_rows = 2 * config.mr;
  const int64_t min_cols = 2 * config.nr;
  while (plan.grid_m * plan.grid_n * p.batch < tasks) {
    const int64_t rows = p.m / plan.grid_m;
    const int64_t cols = p.n / plan.grid_n;
    const bool can_cut_m = p.m / (plan.grid_m + 1) >= min_rows;
    const bool can_cut_n = p.n / (plan.grid_n + 1) >= min_cols;
    if (can_cut_m && (rows > cols || !can_cut_n)) {
      ++plan.grid_m;
    } else if (can_cut_n) {
      ++plan.grid_n;
    } else {
      break;
    }
  }
  plan.rows_per_task = round_up(ceil_div(p.m, plan.grid_m), config.mr);
  plan.cols_per_task = round_up(ceil_div(p.n, plan.grid_n), config.nr);
  plan.grid_m = ceil_div(p.m, plan.rows_per_task);
  plan.grid_n = ceil_div(p.n, plan.cols_per_task);
}

BSource choose_b_source(const GemmProblem& p, const GemmConfig& config, const Plan& plan) {
  if (p.packed_b) return BSource::Packed;
  if (!p.trans_b && !config.copy_b) return BSource::InPlace;
  const bool packed_once = plan.grid_m == 1 && (p.batch == 1 || p.stride_b != 0);
  return packed_once ? BSource::PerTask : BSource::Shared;
}

Plan plan_gemv(const GemmProblem& p, int threads) {
  Plan plan;
  plan.method = Method::Gemv;
  plan.workers = std::max(threads, 1);
  const Gemv v = as_gemv(p);
  plan.grid_n = ceil_div(v.count, kGemvColumns);
  GemmProblem as_row = p;
  as_row.m = 1;
  as_row.n = v.count;
  plan.unit_grain = ceil_div(plan.grid_n * p.batch, wanted_tasks(work_of(as_row), threads));
  plan.a_floats = v.dot && v.inc_x != 1 ? round_up(p.k, 16) : 0;
  return plan;
}

}  // namespace

Gemv as_gemv(const GemmProblem& p) {
  if (p.n == 1) return {false, !p.trans_a, p.m, p.packed_b || p.trans_b ? 1 : p.ldb, p.lda};
  return {true, p.trans_b, p.n, p.trans_a ? p.lda : 1, p.ldb};
}

GemmProblem with_dense_strides(GemmProblem problem) {
  if (problem.lda == 0) problem.lda = problem.trans_a ? problem.m : problem.k;
  if (problem.ldb == 0) problem.ldb = problem.trans_b ? problem.k : problem.n;
  if (problem.ldc == 0) problem.ldc = problem.n;
  return problem;
}

int64_t packed_floats(int64_t k, int64_t n, int64_t nr, int64_t lanes) {
  if (n == 1) return k;
  return (n / nr * nr + round_up(n % nr, lanes)) * k;
}

Plan make_plan(const GemmProblem& p, const GemmConfig& config, int threads) {
  if (p.n == 1 || (p.m == 1 && !p.packed_b)) return plan_gemv(p, threads);
  Plan plan;
  plan.workers = std::max(threads, 1);
  const int64_t tasks = wanted_tasks(work_of(p), threads);
  choose_grid(p, config, tasks, plan);
  plan.unit_grain = ceil_div(plan.grid_m * plan.grid_n * p.batch, tasks);
  plan.b_source = choose_b_source(p, config, plan);
  plan.copy_a = config.copy_a || p.trans_a;
  // Columns are taken in portions so that B stays cached for the next block of A; a single block wants them all.
  plan.cols_per_portion = plan.rows_per_task <= config.mc ? plan.cols_per_task : config.nc;

  const int64_t lanes = kernels_for(config.target).lanes;
  if (plan.copy_a) {
    plan.a_floats = round_up(std::min(config.mc, plan.rows_per_task) * std::min(config.kc, p.k) + kPackASlack, 16);
  }
  if (plan.b_source == BSource::PerTask) {
    const int64_t cols = std::min({plan.cols_per_portion, plan.cols_per_task, round_up(p.n, lanes)});
    plan.b_floats = round_up(std::min(config.kc, p.k) * cols, 16);
  } else if (plan.b_source == BSource::InPlace) {
    plan.b_floats = round_up(p.k * round_up(p.n % config.nr, lanes), 16);
  } else if (plan.b_source == BSource::Shared) {
    plan.shared_floats = round_up(p.k * round_up(p.n, lanes), 16);
  }
  return plan;
}

}  // namespace strop::kernels::gemm
