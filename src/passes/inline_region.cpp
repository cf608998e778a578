#include "passes/inline_region.h"

#include "passes/match.h"

namespace strop::passes {

Result<std::vector<ir::ValueId>> inline_region(ir::Graph& graph, const ir::Graph& region,
                                               const std::vector<ir::ValueId>& arguments,
                                               const std::vector<std::string>& more_sources) {
  STROP_CHECK(arguments.size() == region.inputs.size(), "{} arguments for a region with {} inputs", arguments.size(),
              region.inputs.size());
  std::vector<ir::ValueId> map(region.value_count(), ir::kNone);
  for (size_t i = 0; i < arguments.size(); ++i) map[static_cast<size_t>(region.inputs[i].value)] = arguments[i];
  const auto mapped = [&](ir::ValueId id) {
    if (id == ir::kNone) return ir::kNone;
    ir::ValueId& target = map[static_cast<size_t>(id)];
    if (target == ir::kNone && region.is_constant(id)) {
      target = graph.add_constant(*region.value(id).constant, region.value(id).name);
    }
    return target;
  };
  for (const ir::NodeId id : region.order()) {
    const ir::Node& node = region.node(id);
    ir::Graph::NewNode copy;
    copy.op = node.op;
    copy.attrs = node.attrs;
    copy.output_count = node.outputs.size();
    copy.late = node.late;
    copy.sources = merged_sources(node.sources, more_sources);
    for (const ir::ValueId input : node.inputs) copy.inputs.push_back(mapped(input));
    for (const auto& inner : node.regions) copy.regions.push_back(inner->clone());
    auto added = graph.add_node(std::move(copy));
    if (!added.ok()) return in_context(added.error(), ir::describe(region, id));
    const auto& outputs = graph.node(*added).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      map[static_cast<size_t>(node.outputs[i])] = outputs[i];
      graph.value(outputs[i]).name = region.value(node.outputs[i]).name;
    }
  }
  std::vector<ir::ValueId> results;
  for (const ir::Port& port : region.outputs) results.push_back(mapped(port.value));
  return results;
}

}  // namespace strop::passes
