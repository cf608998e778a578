/// A pass: a free function that rewrites the graph. The runner, not the pass, gives it the off-switch, the timer, the
/// dump-if-changed, the verification after it, and the recursion into regions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/knob.h"
#include "base/log.h"
#include "base/result.h"
#include "base/threads.h"
#include "ir/graph.h"

namespace strop::passes {

/// What steps cost on the device: how a pass decides between forms that mean the same.
class StepCosts {
 public:
  virtual ~StepCosts() = default;
  /// The time of the node's fastest tactic, in µs, as the node stands and with open dimensions at their optimum. Null:
  /// it is not known and may not be measured, or no tactic applies. Errors: cancelled.
  virtual Result<std::optional<double>> time_us(const ir::Graph& graph, ir::NodeId id) = 0;
};

/// What a pass may look at besides the graph.
struct PassContext {
  const Route& route;  ///< knob values
  const ops::Catalogue& catalogue;
  Threads& threads;
  StepCosts* costs = nullptr;  ///< null: rules decide
};

/// True if the graph changed.
using PassFunction = Result<bool> (*)(ir::Graph& graph, const PassContext& ctx);

struct Pass {
  std::string_view name;     ///< file stem, for example "fold_constants"
  std::string_view summary;  ///< one line
  PassFunction run = nullptr;
  const Knob<bool>* enabled = nullptr;          ///< "passes.<name>"; null: always runs
  std::span<const KnobInfo* const> knobs = {};  ///< its other knobs
};

/// One entry of the pipeline: a pass, or a group repeated until nothing changes (bounded).
struct Stage {
  std::vector<const Pass*> passes;
  int max_rounds = 1;
};

/// The pipeline, in order: pipeline.cpp. Read it first.
std::vector<Stage> default_pipeline();
/// Every pass once, in pipeline order.
std::vector<const Pass*> all_passes();
/// The knobs of all passes.
std::vector<const KnobInfo*> pass_knobs();

struct PassReport {
  std::string_view name;
  bool ran = false;  ///< false: switched off
  bool changed = false;
  double time_us = 0;
  int64_t nodes_before = 0;
  int64_t nodes_after = 0;
};

struct RunPassesOptions {
  /// Called after a pass that changed the graph, for dumps; may be empty.
  std::function<void(const Pass&, const ir::Graph&)> on_change;
};

/// Runs the stages: each pass on every graph, regions before the graph around them. After each pass that changed
/// something, types are inferred again and the graph is verified (a failure names the pass and is a bug). Dead nodes
/// are dropped at the end, so ids change. One report per pass and round.
Result<std::vector<PassReport>> run_passes(ir::Graph& graph, const std::vector<Stage>& stages, const PassContext& ctx,
                                           const RunPassesOptions& options = {});

}  // namespace strop::passes
