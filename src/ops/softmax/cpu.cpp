#include "ops/families.h"

namespace strop::ops {

std::span<const tactics::Tactic* const> softmax_cpu_tactics() { return {}; }

}  // namespace strop::ops
