/// Computes equal things once: nodes with the same operator, attributes, operands and regions, and small equal
/// constants.
#include <map>

#include "ir/constant_text.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{{.name = "passes.common_subexpressions", .help = "compute equal subexpressions once"}};

/// Larger constants are not compared: hashing all weights would cost more than it finds.
constexpr int64_t kMaxComparedElements = 1024;

/// Constants are merged only if they come from the same initializers: refit may change one and not the other.
bool merge_constants(ir::Graph& graph) {
  std::map<std::string, ir::ValueId> seen;
  bool changed = false;
  const UseCounts uses(graph);
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    const Tensor* tensor = graph.constant_tensor(id);
    if (!tensor || uses[id] == 0 || tensor->count() > kMaxComparedElements) continue;
    std::string key = ir::constant_digest(*tensor) + graph.value(id).constant->recipe;
    for (const std::string& origin : graph.value(id).constant->origins) key += "\n" + origin;
    const auto [first, is_new] = seen.emplace(std::move(key), id);
    if (is_new) continue;
    graph.replace_uses(id, first->second);
    changed = true;
  }
  return changed;
}

std::string key_of(const ir::Node& node) {
  std::string key = fmt::format("{}{{{}}}#{}", node.op->name, node.attrs.to_string(), node.outputs.size());
  for (const ir::ValueId input : node.inputs) key += fmt::format(",{}", input);
  for (const ops::LateField& late : node.late) key += fmt::format(";{}={}", late.field, late.operand);
  for (const auto& region : node.regions) key += "\n" + ir::to_text(*region, {.max_constant_elements = 16});
  return key;
}

bool is_random(const ir::Node& node) {
  if (!node.op->is_deterministic) return true;
  for (const auto& region : node.regions) {
    for (const ir::NodeId id : region->order()) {
      if (is_random(region->node(id))) return true;
    }
  }
  return false;
}

Result<bool> run(ir::Graph& graph, const PassContext&) {
  bool changed = merge_constants(graph);
  std::map<std::string, ir::NodeId> seen;
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    if (is_random(graph.node(id))) continue;
    const auto [first, is_new] = seen.emplace(key_of(graph.node(id)), id);
    if (is_new) continue;
    const std::vector<ir::ValueId> results = graph.node(first->second).outputs;
    replace_node(graph, id, results);
    changed = true;
  }
  return changed;
}

}  // namespace

extern const Pass kCommonSubexpressions;
const Pass kCommonSubexpressions = {"common_subexpressions", "computes equal subexpressions once", run, &kEnabled};

}  // namespace strop::passes
