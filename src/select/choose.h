/// Choosing a tactic for a problem. Every candidate is kept with its time or the reason why it does not apply, so that
/// the choice can be explained.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/knob.h"
#include "plan/plan.h"
#include "tactics/tactic.h"

namespace strop::select {

/// Which implementations may be chosen: all; own kernels only (no libraries); the reference evaluation only.
enum class Sources : uint8_t { All, Own, Reference };
inline constexpr std::string_view kSourceNames[] = {"all", "own", "reference"};
inline constexpr Knob<Sources> kSources{{.name = "tactics.sources",
                                         .help = "which implementations may be chosen: all, own kernels, the reference",
                                         .default_value = "all",
                                         .values = kSourceNames,
                                         .effect = Effect::Numerics}};

/// The knobs that choosing reads.
std::vector<const KnobInfo*> knobs();

struct Choice {
  const tactics::Tactic* tactic = nullptr;  ///< null: the reference evaluation, which never refuses
  tactics::Config config;
  std::string why;  ///< one sentence
  std::vector<plan::Candidate> candidates;
};

/// By the tactics' own ranks (effort 0): nothing is measured.
Choice choose(const tactics::Problem& problem, const tactics::TacticList& tactics, const Route& route);

}  // namespace strop::select
