/// Which nodes compute on channels-last tensors and which on plain ones, so that the whole graph takes least time.
#pragma once

#include <set>
#include <vector>

#include "ir/graph.h"
#include "passes/pass.h"

namespace strop::passes {

/// A node in both forms, side by side in one graph.
struct TwoForms {
  ir::NodeId plain = ir::kNone;
  ir::NodeId last = ir::kNone;
  std::vector<ir::ValueId> inputs;   ///< plain operands
  std::vector<ir::ValueId> outputs;  ///< plain results that also exist channels-last; empty: its result is plain anyhow
  std::vector<int64_t> input_perm;   ///< axis i of a channels-last operand is axis input_perm[i] of the plain one
  std::vector<int64_t> output_perm;  ///< likewise, of the results
  bool reads_plain = false;          ///< the channels-last form reads plain operands as well as others
};

/// A graph in which nodes have both forms.
struct Trial {
  ir::Graph& graph;
  std::vector<TwoForms> nodes;
  ir::NodeId first_new = 0;  ///< nodes below are those of the graph as it was
};

/// The nodes (plain form) that are better left plain; none if leaving some is no faster by more than measuring can be
/// wrong, or if not all times are known. Both forms of each node, and a transpose of each value between nodes of
/// different forms, are timed through `costs`; the assignment of least sum is a minimum cut. Adds dead nodes to the
/// trial's graph. Errors: cancelled.
Result<std::set<ir::NodeId>> choose_plain(const Trial& trial, StepCosts& costs);

}  // namespace strop::passes
