#include "ops/families.h"

namespace strop::ops {

// Texts and tables of them are host work; the evaluation itself is what there is to do.
std::span<const tactics::Tactic* const> strings_cpu_tactics() { return {}; }

}  // namespace strop::ops
