#include "tactics/fingerprint.h"

#include <fmt/core.h>

#include "kernels/cpu_target.h"

namespace strop::tactics {

std::string fingerprint() {
  return fmt::format("strop {} cpu {} gcc {}.{}", STROP_VERSION, kernels::to_string(kernels::best_cpu_target()),
                     __GNUC__, __GNUC_MINOR__);
}

}  // namespace strop::tactics
