#include "passes/pass.h"

#include <chrono>

namespace strop::passes {

namespace {

int64_t count_nodes(const ir::Graph& graph) {
  auto count = static_cast<int64_t>(graph.order().size());
  for (const ir::NodeId id : graph.order()) {
    for (const auto& region : graph.node(id).regions) count += count_nodes(*region);
  }
  return count;
}

void compact(ir::Graph& graph) {
  graph.compact();
  for (const ir::NodeId id : graph.order()) {
    for (const auto& region : graph.node(id).regions) compact(*region);
  }
}

/// Inside out, so that a graph sees what its regions have become.
Result<bool> run_on_all(const Pass& pass, ir::Graph& graph, const PassContext& ctx) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    for (const auto& region : graph.node(id).regions) {
      STROP_ASSIGN(const bool inner, run_on_all(pass, *region, ctx));
      changed |= inner;
    }
  }
  STROP_ASSIGN(const bool here, pass.run(graph, ctx));
  return changed || here;
}

Error pass_failed(const Pass& pass, const Error& cause) {
  return Error{ErrorCode::Internal, fmt::format("pass {}: {}", pass.name, cause.message)};
}

Result<void> check_after(const Pass& pass, ir::Graph& graph) {
  if (auto inferred = graph.reinfer_all(); !inferred.ok()) return pass_failed(pass, inferred.error());
  if (auto verified = ir::verify(graph); !verified.ok()) return pass_failed(pass, verified.error());
  return {};
}

Result<PassReport> run_pass(const Pass& pass, ir::Graph& graph, const PassContext& ctx,
                            const RunPassesOptions& options) {
  PassReport report;
  report.name = pass.name;
  report.nodes_before = report.nodes_after = count_nodes(graph);
  report.ran = pass.enabled == nullptr || ctx.route.get(*pass.enabled);
  if (!report.ran) return report;
  const auto start = std::chrono::steady_clock::now();
  auto changed = run_on_all(pass, graph, ctx);
  // What contradicts itself in the model names the node; which pass saw it first means nothing to the user.
  const bool ours = !changed.ok() && changed.error().code == ErrorCode::Internal;
  if (!changed.ok()) return ours ? pass_failed(pass, changed.error()) : changed.error();
  report.time_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  report.changed = *changed;
  if (!report.changed) return report;
  STROP_TRY(check_after(pass, graph));
  report.nodes_after = count_nodes(graph);
  if (options.on_change) options.on_change(pass, graph);
  return report;
}

}  // namespace

Result<std::vector<PassReport>> run_passes(ir::Graph& graph, const std::vector<Stage>& stages, const PassContext& ctx,
                                           const RunPassesOptions& options) {
  std::vector<PassReport> reports;
  for (const Stage& stage : stages) {
    for (int round = 0; round < stage.max_rounds; ++round) {
      bool changed = false;
      for (const Pass* pass : stage.passes) {
        STROP_ASSIGN(PassReport report, run_pass(*pass, graph, ctx, options));
        changed |= report.changed;
        reports.push_back(report);
      }
      if (!changed) break;
    }
  }
  compact(graph);
  return reports;
}

}  // namespace strop::passes
