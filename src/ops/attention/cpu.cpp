#include "ops/families.h"

namespace strop::ops {

std::span<const tactics::Tactic* const> attention_cpu_tactics() { return {}; }

}  // namespace strop::ops
