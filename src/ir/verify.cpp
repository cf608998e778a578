#include <set>

#include "ir/graph.h"
#include "ir/infer.h"
#include "ir/type_order.h"

namespace strop::ir {

namespace {

Error broken(const std::string& message) { return Error{ErrorCode::Internal, message}; }

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  Result<void> run() {
    STROP_TRY(check_sources());
    STROP_TRY(check_order());
    for (const NodeId id : graph_.order()) STROP_TRY(check_node(id));
    for (const Port& port : graph_.outputs) {
      if (!exists(port.value)) return broken(fmt::format("output '{}' is not a value", port.name));
      if (!defined(port.value)) return broken(fmt::format("output '{}' is computed by no live node", port.name));
    }
    return {};
  }

 private:
  bool exists(ValueId id) const { return id >= 0 && static_cast<size_t>(id) < graph_.value_count(); }

  /// The value is an input, a constant, or the result of a live node.
  bool defined(ValueId id) const {
    const ValueInfo& info = graph_.value(id);
    return info.constant || is_input_[static_cast<size_t>(id)] ||
           (info.producer != kNone && graph_.node(info.producer).alive);
  }

  /// Each value has one source.
  Result<void> check_sources() {
    is_input_.assign(graph_.value_count(), false);
    for (const Port& port : graph_.inputs) {
      if (!exists(port.value)) return broken(fmt::format("input '{}' is not a value", port.name));
      if (is_input_[static_cast<size_t>(port.value)]) return broken(fmt::format("input '{}' is two inputs", port.name));
      is_input_[static_cast<size_t>(port.value)] = true;
    }
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueInfo& info = graph_.value(static_cast<ValueId>(i));
      const int sources = (info.constant ? 1 : 0) + (info.producer != kNone ? 1 : 0) + (is_input_[i] ? 1 : 0);
      if (sources > 1) return broken(fmt::format("value {} '{}' has {} sources", i, info.name, sources));
      if (info.constant && !compatible(info.type, Type(info.constant->tensor.type()))) {
        return broken(fmt::format("constant {} '{}' is {}, but its type is {}", i, info.name,
                                  to_string(info.constant->tensor.type()), to_string(info.type)));
      }
    }
    return {};
  }

  /// The order holds every live node once, after the nodes that it uses.
  Result<void> check_order() const {
    std::vector<bool> done(graph_.node_count(), false);
    for (const NodeId id : graph_.order()) {
      if (id < 0 || static_cast<size_t>(id) >= graph_.node_count()) return broken(fmt::format("no node {}", id));
      const std::string where = describe(graph_, id);
      if (!graph_.node(id).alive) return broken(where + " is dead, but in the order");
      if (done[static_cast<size_t>(id)]) return broken(where + " is in the order twice");
      for (const ValueId input : graph_.node(id).inputs) {
        if (input == kNone) continue;
        if (!exists(input)) return broken(fmt::format("{}: operand {} is not a value", where, input));
        if (!defined(input))
          return broken(
              fmt::format("{}: operand '{}' ({}) is computed by no live node", where, graph_.value(input).name, input));
        const NodeId producer = graph_.value(input).producer;
        if (producer != kNone && !done[static_cast<size_t>(producer)]) {
          return broken(fmt::format("{} stands before {}, whose result it uses", where, describe(graph_, producer)));
        }
      }
      done[static_cast<size_t>(id)] = true;
    }
    for (size_t i = 0; i < graph_.node_count(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (graph_.node(id).alive && !done[i]) return broken(describe(graph_, id) + " is alive, but not in the order");
    }
    return {};
  }

  Result<void> check_node(NodeId id) const {
    const Node& node = graph_.node(id);
    const std::string where = describe(graph_, id);
    for (const ValueId output : node.outputs) {
      if (!exists(output) || graph_.value(output).producer != id) {
        return broken(fmt::format("{}: result {} is not its own", where, output));
      }
    }
    if (node.op->has_regions == node.regions.empty()) {
      return broken(fmt::format("{} has {} regions", where, node.regions.size()));
    }
    STROP_TRY(check_late(node, where));
    for (size_t i = 0; i < node.regions.size(); ++i) {
      if (auto inner = verify(*node.regions[i]); !inner.ok()) {
        return in_context(inner.error(), fmt::format("region {} of {}", i, where));
      }
    }
    return check_types(node, where);
  }

  Result<void> check_late(const Node& node, const std::string& where) const {
    if (node.late.empty()) return {};
    std::set<std::string> names;
    for (const ops::NamedField& field : node.attrs.fields()) names.insert(field.name);
    for (const ops::LateField& late : node.late) {
      const bool present = late.operand >= 0 && static_cast<size_t>(late.operand) < node.inputs.size() &&
                           node.inputs[static_cast<size_t>(late.operand)] != kNone;
      if (!present)
        return broken(fmt::format("{}: late field '{}' has no operand {}", where, late.field, late.operand));
      if (!names.contains(late.field)) return broken(fmt::format("{}: no field '{}' can be late", where, late.field));
    }
    return {};
  }

  /// Inference is repeated on copies of the regions, because it writes their types.
  Result<void> check_types(const Node& node, const std::string& where) const {
    Result<Inferred> inferred = [&] {
      if (node.regions.empty()) return infer_node(graph_, node);
      Node copy = node;
      for (auto& region : copy.regions) region = region->clone();
      return infer_node(graph_, copy);
    }();
    if (!inferred.ok()) return Error{ErrorCode::Internal, fmt::format("{}: {}", where, inferred.error().message)};
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Type& declared = graph_.value(node.outputs[i]).type;
      if (compatible(declared, inferred->outputs[i])) continue;
      return broken(fmt::format("{}: output {} is {}, but inference gives {}", where, i, to_string(declared),
                                to_string(inferred->outputs[i])));
    }
    return {};
  }

  const Graph& graph_;
  std::vector<bool> is_input_;
};

}  // namespace

Result<void> verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace strop::ir
