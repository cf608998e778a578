#include "kernels/gemm/gemm.h"

#include "base/check.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/gemm/gemm_run.h"

namespace strop::kernels {
namespace {

constexpr uintptr_t kAlignment = 64;

int64_t scratch_floats(const gemm::Plan& plan) {
  return plan.shared_floats + plan.workers * (plan.a_floats + plan.b_floats);
}

void check_arguments(const GemmProblem& p, const GemmConfig& config, const GemmBuffers& buffers) {
  STROP_CHECK(buffers.c != nullptr && (p.k == 0 || (buffers.a != nullptr && buffers.b != nullptr)),
              "GEMM {}x{}x{} without memory", p.m, p.n, p.k);
  STROP_CHECK(config.target <= best_cpu_target(), "this CPU lacks {}", to_string(config.target));
  STROP_CHECK(config.mr >= 1 && config.mr <= max_mr(config.target, config.nr), "mr {} with nr {}", config.mr,
              config.nr);
  STROP_CHECK(config.kc >= 1 && config.mc >= 1 && config.nc >= 1 && config.nc % config.nr == 0,
              "kc {}, mc {}, nc {} with nr {}", config.kc, config.mc, config.nc, config.nr);
}

}  // namespace

size_t gemm_workspace_bytes(const GemmProblem& problem, const GemmConfig& config, int threads) {
  if (problem.m <= 0 || problem.n <= 0 || problem.batch <= 0) return 0;
  const auto plan = gemm::make_plan(gemm::with_dense_strides(problem), config, threads);
  const int64_t floats = scratch_floats(plan);
  return floats == 0 ? 0 : static_cast<size_t>(floats) * sizeof(float) + kAlignment;
}

void run_gemm(const GemmProblem& problem, const GemmConfig& config, const GemmBuffers& buffers,
              const GemmEpilogue& epilogue, Threads& threads) {
  if (problem.m <= 0 || problem.n <= 0 || problem.batch <= 0) return;
  check_arguments(problem, config, buffers);
  gemm::Call call{};
  call.problem = gemm::with_dense_strides(problem);
  call.config = config;
  call.plan = gemm::make_plan(call.problem, config, threads.count());
  call.epilogue = epilogue;
  if (call.epilogue.ldr == 0) call.epilogue.ldr = problem.n;
  call.kernels = &gemm::kernels_for(config.target);
  call.c = buffers.c;
  call.a = problem.k > 0 ? buffers.a : call.c;  // never read without k, but offsets are formed
  call.b = problem.k > 0 ? buffers.b : call.c;
  if (const int64_t floats = scratch_floats(call.plan); floats > 0) {
    STROP_CHECK(buffers.workspace != nullptr &&
                    buffers.workspace_bytes >= static_cast<size_t>(floats) * sizeof(float) + kAlignment,
                "GEMM {}x{}x{} needs a workspace of {} floats", problem.m, problem.n, problem.k, floats);
    const auto address = (reinterpret_cast<uintptr_t>(buffers.workspace) + kAlignment - 1) / kAlignment * kAlignment;
    call.shared = reinterpret_cast<float*>(address);
    call.scratch = call.shared + call.plan.shared_floats;
  }
  if (call.plan.method == gemm::Method::Gemv) {
    gemm::run_gemv(call, threads);
  } else {
    gemm::run_tiles(call, threads);
  }
}

}  // namespace strop::kernels
