/// The canonical text of a problem: what timing caches are keyed by.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tactics/tactic.h"

namespace strop::select {

/// "Conv(group=1, …) f32[1, 64, 56, 56], const f32[64, 64, 3, 3], none -> f32[1, 64, 56, 56]". Of constants only that
/// they are constant. Attributes of more than a few lines end in their digest.
std::string problem_text(const tactics::Problem& problem);

/// The problem with the symbols' values put in; nullopt if a dimension stays open, or an operand is not a tensor.
std::optional<tactics::Problem> at_values(const tactics::Problem& problem,
                                          const std::map<std::string, int64_t>& values);

}  // namespace strop::select
