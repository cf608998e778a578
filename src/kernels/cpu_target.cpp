#include "kernels/cpu_target.h"

#include <hwy/targets.h>

namespace strop::kernels {

CpuTarget best_cpu_target() {
  const auto supported = hwy::SupportedTargets();
  if (supported & HWY_AVX3) return CpuTarget::Avx512;
  if (supported & HWY_AVX2) return CpuTarget::Avx2;
  return CpuTarget::Portable;
}

const char* to_string(CpuTarget target) {
  switch (target) {
    case CpuTarget::Portable: return "portable";
    case CpuTarget::Avx2: return "avx2";
    case CpuTarget::Avx512: return "avx512";
  }
  return "portable";
}

}  // namespace strop::kernels
