#include "ops/families.h"
#include "tactics/tactic.h"

namespace strop::ops {

// The reference evaluation serves.
std::span<const tactics::Tactic* const> detection_cpu_tactics() { return {}; }

}  // namespace strop::ops
