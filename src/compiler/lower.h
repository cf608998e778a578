/// Graph → plan: tactics are chosen, values get their storage, constants become weights.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/knob.h"
#include "base/result.h"
#include "base/threads.h"
#include "ir/graph.h"
#include "plan/plan.h"
#include "select/selector.h"
#include "tactics/tactic.h"

namespace strop::compiler {

struct LowerContext {
  select::Selector& selector;
  const Route& route;
  Threads& threads;                              ///< that weights are packed on
  std::map<std::string, tactics::Range> ranges;  ///< of symbols, from the profile
  int64_t memory_limit_bytes = 0;  ///< resident memory that packing weights may bring the process to; 0: any
  std::function<void(std::string_view node)> on_node = {};  ///< before a node's tactic is selected; may be empty
  std::function<void()> beside = {};  ///< other work that may run while weights are packed; may be empty
};

/// The node as a problem: its types, attributes and constants, without the graph.
tactics::Problem make_problem(const ir::Graph& graph, const ir::Node& node,
                              const std::map<std::string, tactics::Range>& ranges);

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
