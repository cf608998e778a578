/// Plan ⇄ FlatBuffers: the plan and notes sections of an engine file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace strop::engine {

/// Where a weight's bytes are in the weights section.
struct WeightPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

std::vector<std::byte> encode_plan(const plan::Plan& plan, const std::vector<WeightPlace>& places);
std::vector<std::byte> encode_notes(const plan::Plan& plan);

struct DecodedPlan {
  plan::Plan plan;
  std::vector<WeightPlace> places;
};
/// Runs FlatBuffers' verifier, then reads. The semantic check (plan::verify) is the caller's.
Result<DecodedPlan> decode_plan(std::span<const std::byte> bytes);
/// Fills in source nodes, reasons and candidates. Notes that do not match the plan's steps are an error.
Result<void> decode_notes(std::span<const std::byte> bytes, plan::Plan& plan);

}  // namespace strop::engine
