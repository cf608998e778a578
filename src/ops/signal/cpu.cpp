#include "ops/families.h"

namespace strop::ops {

// The evaluation itself is what there is to do.
std::span<const tactics::Tactic* const> signal_cpu_tactics() { return {}; }

}  // namespace strop::ops
