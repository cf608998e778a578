#include "ops/families.h"

namespace strop::ops {

// Handles to tensors are passed on; there is nothing that a kernel could do better.
std::span<const tactics::Tactic* const> sequence_cpu_tactics() { return {}; }

}  // namespace strop::ops
