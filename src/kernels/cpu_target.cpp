#include "kernels/cpu_target.h"

#include <hwy/targets.h>

namespace strop::kernels {

namespace {

CpuTarget detect() {
  const auto supported = hwy::SupportedTargets();
  if (supported & HWY_AVX3) return CpuTarget::Avx512;
  if (supported & HWY_AVX2) return CpuTarget::Avx2;
  return CpuTarget::Portable;
}

}  // namespace

CpuTarget best_cpu_target() {
  static const CpuTarget best = detect();  // asking costs tens of microseconds in a virtual machine, which traps cpuid
  return best;
}

const char* to_string(CpuTarget target) {
  switch (target) {
    case CpuTarget::Portable: return "portable";
    case CpuTarget::Avx2: return "avx2";
    case CpuTarget::Avx512: return "avx512";
  }
  return "portable";
}

std::optional<CpuTarget> parse_cpu_target(std::string_view name) {
  for (const CpuTarget target : {CpuTarget::Portable, CpuTarget::Avx2, CpuTarget::Avx512}) {
    if (name == to_string(target)) return target;
  }
  return std::nullopt;
}

}  // namespace strop::kernels
