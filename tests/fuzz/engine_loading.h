/// What the runtime does with an engine that was read, up to the first run.
#pragma once

#include "engine/engine_file.h"

namespace strop::fuzz {

/// Reads every weight's bytes, looks operators, attributes and tactics up, and plans every block at the smallest and
/// largest shapes of its profile. Refusals are no failures. Tactics other than the reference are stand-ins that accept
/// whatever is prepared: what kernels make of a problem is not tested here.
void load_and_plan(const engine::ReadEngine& read);

}  // namespace strop::fuzz
