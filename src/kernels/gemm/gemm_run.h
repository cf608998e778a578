/// One call of run_gemm on its way through this folder's methods. Private to this folder.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_plan.h"

namespace strop::kernels::gemm {

/// Everything that the workers share; strides filled in, scratch aligned.
struct Call {
  GemmProblem problem;
  GemmConfig config;
  Plan plan;
  GemmEpilogue epilogue;
  const Kernels* kernels;
  const float* a;
  const float* b;
  float* c;
  float* shared;   ///< plan.shared_floats
  float* scratch;  ///< plan.workers times plan.a_floats + plan.b_floats

  float* a_scratch(int worker) const { return scratch + worker * (plan.a_floats + plan.b_floats); }
  float* b_scratch(int worker) const { return a_scratch(worker) + plan.a_floats; }
  bool has_clamp() const {
    return epilogue.lo != -std::numeric_limits<float>::infinity() ||
           epilogue.hi != std::numeric_limits<float>::infinity();
  }
};

/// Method::Tiles.
void run_tiles(const Call& call, Threads& threads);
/// Method::Gemv.
void run_gemv(const Call& call, Threads& threads);

/// pack_b for any panel width and n >= 1, without the special layout of n == 1.
void pack_panels(const PackBArgs& args, int64_t nr, const Kernels& kernels);

}  // namespace strop::kernels::gemm
