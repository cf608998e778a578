/// What an engine's steps depend on besides the plan: this build of Strop.
#pragma once

#include <string>

namespace strop::tactics {

/// Version, instruction set and compiler: "strop 0.1.0 cpu avx2 gcc 12.2". Kept in the engine's record.
std::string fingerprint();

}  // namespace strop::tactics
