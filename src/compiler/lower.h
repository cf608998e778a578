/// Graph → plan: tactics are chosen, values get their storage, constants become weights.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/knob.h"
#include "base/result.h"
#include "ir/graph.h"
#include "plan/plan.h"
#include "select/choose.h"
#include "tactics/tactic.h"

namespace strop::compiler {

struct LowerContext {
  const tactics::TacticList& tactics;
  const Route& route;
  std::map<std::string, tactics::Range> ranges;  ///< of symbols, from the profile
};

/// Counts that inspection prints.
struct LowerStats {
  int64_t steps = 0;
  int64_t reference_steps = 0;  ///< run by the operator's own evaluation
  int64_t generic_steps = 0;    ///< shapes known only at run time
  int64_t views = 0;            ///< values that needed no step
  int64_t in_place = 0;         ///< values that overwrite an operand
};

struct Lowered {
  plan::Plan plan;
  std::vector<Tensor> weights;  ///< parallel to plan.weights
  LowerStats stats;
};

/// The graph must be verified. Errors: a graph output that nothing produces, a problem too large to plan.
Result<Lowered> lower(const ir::Graph& graph, const LowerContext& ctx);

/// The knobs that lowering reads.
std::vector<const KnobInfo*> lower_knobs();

}  // namespace strop::compiler
