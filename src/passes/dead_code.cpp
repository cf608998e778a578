/// Drops every node whose results nobody needs.
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{{.name = "passes.dead_code", .help = "drop nodes whose results are not needed"}};

Result<bool> run(ir::Graph& graph, const PassContext&) {
  std::vector<bool> needed(graph.value_count(), false);
  for (const ir::Port& port : graph.outputs) needed[static_cast<size_t>(port.value)] = true;
  std::vector<ir::NodeId> dead;
  const std::vector<ir::NodeId>& order = graph.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const ir::Node& node = graph.node(*id);
    bool used = false;
    for (const ir::ValueId output : node.outputs) used |= needed[static_cast<size_t>(output)];
    if (!used) {
      dead.push_back(*id);
      continue;
    }
    for (const ir::ValueId input : node.inputs) {
      if (input != ir::kNone) needed[static_cast<size_t>(input)] = true;
    }
  }
  for (const ir::NodeId id : dead) graph.erase(id);
  return !dead.empty();
}

}  // namespace

extern const Pass kDeadCode;
const Pass kDeadCode = {"dead_code", "drops nodes whose results are not needed", run, &kEnabled};

}  // namespace strop::passes
