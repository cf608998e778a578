/// Changes to a plan as a fuzzer makes them: one number, name or list at a time, the plan's form intact. Bytes changed
/// at random hardly ever give a plan that FlatBuffers' verifier lets through, and never one whose lists have grown.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan_codec.h"
#include "plan/plan.h"

namespace strop::fuzz {

/// Makes one to four changes, the same for the same seed.
void mutate(engine::DecodedPlan& decoded, uint32_t seed);

}  // namespace strop::fuzz
