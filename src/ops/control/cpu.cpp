#include "ops/families.h"

namespace strop::ops {

// Control flow is run by whoever runs the graph.
std::span<const tactics::Tactic* const> control_cpu_tactics() { return {}; }

}  // namespace strop::ops
