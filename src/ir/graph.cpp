#include "ir/graph.h"

#include <algorithm>

#include "ir/infer.h"

namespace strop::ir {

ValueId Graph::add_input(std::string input_name, Type type) {
  ValueInfo info;
  info.type = std::move(type);
  info.name = input_name;
  values_.push_back(std::move(info));
  const auto id = static_cast<ValueId>(values_.size()) - 1;
  inputs.push_back({std::move(input_name), id});
  return id;
}

ValueId Graph::add_constant(Constant constant, std::string value_name) {
  STROP_CHECK(constant.tensor.defined(), "a constant without a tensor");
  ValueInfo info;
  info.type = constant.tensor.type();
  info.name = std::move(value_name);
  info.known = known_contents(constant.tensor);
  info.constant = std::make_shared<const Constant>(std::move(constant));
  values_.push_back(std::move(info));
  return static_cast<ValueId>(values_.size()) - 1;
}

NodeId Graph::append(NewNode node) {
  STROP_CHECK(node.op != nullptr, "a node without an operator");
  const auto id = static_cast<NodeId>(nodes_.size());
  Node added;
  added.op = node.op;
  added.attrs = std::move(node.attrs);
  added.inputs = std::move(node.inputs);
  added.late = std::move(node.late);
  added.regions = std::move(node.regions);
  added.sources = std::move(node.sources);
  added.unbacked_number = node.unbacked_number == kNone ? unbacked_count_ : node.unbacked_number;
  unbacked_count_ = std::max(unbacked_count_, added.unbacked_number + 1);
  for (const ValueId input : added.inputs) {
    STROP_CHECK(input >= kNone && input < static_cast<ValueId>(values_.size()), "operand {} does not exist", input);
  }
  for (size_t i = 0; i < added.regions.size(); ++i) {
    added.regions[i]->set_unbacked_scope(fmt::format("{}_{}r", unbacked_prefix(added), i));
  }
  for (size_t i = 0; i < node.output_count; ++i) {
    ValueInfo info;
    info.producer = id;
    values_.push_back(std::move(info));
    added.outputs.push_back(static_cast<ValueId>(values_.size()) - 1);
  }
  nodes_.push_back(std::move(added));
  return id;
}

Result<NodeId> Graph::add_node(NewNode node) {
  const size_t values_before = values_.size();
  const NodeId id = append(std::move(node));
  auto inferred = infer_node(*this, nodes_.back());
  if (!inferred.ok()) {  // leave no trace
    nodes_.pop_back();
    values_.resize(values_before);
    return inferred.error();
  }
  set_types(id, inferred->outputs);
  for (size_t i = 0; i < inferred->known.size(); ++i) value(nodes_.back().outputs[i]).known = inferred->known[i];
  order_.push_back(id);
  return id;
}

Result<ValueId> Graph::add(NewNode node) {
  STROP_CHECK(node.output_count == 1, "add is for nodes with one output");
  STROP_ASSIGN(const NodeId id, add_node(std::move(node)));
  return nodes_[static_cast<size_t>(id)].outputs[0];
}

NodeId Graph::add_node_with_types(NewNode node, std::vector<Type> output_types) {
  node.output_count = output_types.size();
  const NodeId id = append(std::move(node));
  set_types(id, output_types);
  order_.push_back(id);
  return id;
}

void Graph::set_types(NodeId id, const std::vector<Type>& types) {
  const Node& target = node(id);
  STROP_CHECK(types.size() == target.outputs.size(), "{}: {} types for {} outputs", target.op->name, types.size(),
              target.outputs.size());
  for (size_t i = 0; i < types.size(); ++i) value(target.outputs[i]).type = types[i];
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  for (const NodeId id : order_) {
    for (ValueId& input : node(id).inputs) {
      if (input == from) input = to;
    }
  }
  for (Port& port : outputs) {
    if (port.value == from) port.value = to;
  }
  ValueInfo& old_info = value(from);
  ValueInfo& new_info = value(to);
  refine(new_info, old_info);
  const bool is_input = old_info.producer == kNone && !old_info.constant;
  if (new_info.name.empty() && !is_input) new_info.name = std::move(old_info.name);
}

void Graph::erase(NodeId id) {
  node(id).alive = false;
  std::erase(order_, id);
}

std::vector<std::vector<Graph::Use>> Graph::uses() const {
  std::vector<std::vector<Use>> result(values_.size());
  for (const NodeId id : order_) {
    const auto& operands = node(id).inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != kNone) result[static_cast<size_t>(operands[i])].push_back({id, static_cast<int32_t>(i)});
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    result[static_cast<size_t>(outputs[i].value)].push_back({kNone, static_cast<int32_t>(i)});
  }
  return result;
}

void Graph::sort() {
  enum class Mark : uint8_t { New, Open, Done };
  std::vector<Mark> marks(nodes_.size(), Mark::New);
  std::vector<NodeId> sorted;
  sorted.reserve(order_.size());
  // Depth first over producers, in the present order: only what stands behind its user moves.
  std::vector<std::pair<NodeId, size_t>> stack;
  for (const NodeId root : order_) {
    if (marks[static_cast<size_t>(root)] == Mark::New) stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      marks[static_cast<size_t>(id)] = Mark::Open;
      const auto& operands = node(id).inputs;
      NodeId producer = kNone;
      while (producer == kNone && next < operands.size()) {
        const ValueId operand = operands[next++];
        if (operand == kNone || value(operand).producer == kNone) continue;
        const NodeId candidate = value(operand).producer;
        STROP_CHECK(marks[static_cast<size_t>(candidate)] != Mark::Open, "{} is part of a cycle", describe(*this, id));
        if (marks[static_cast<size_t>(candidate)] == Mark::New) producer = candidate;
      }
      if (producer != kNone) {
        stack.emplace_back(producer, 0);
      } else {
        marks[static_cast<size_t>(id)] = Mark::Done;
        sorted.push_back(id);
        stack.pop_back();
      }
    }
  }
  order_ = std::move(sorted);
}

void Graph::compact() {
  std::vector<ValueId> value_map(values_.size(), kNone);
  std::vector<bool> used(values_.size(), false);
  const auto mark = [&](ValueId id) {
    if (id != kNone) used[static_cast<size_t>(id)] = true;
  };
  for (const Port& port : inputs) mark(port.value);
  for (const Port& port : outputs) mark(port.value);
  for (const NodeId id : order_) {
    std::for_each(node(id).inputs.begin(), node(id).inputs.end(), mark);
    std::for_each(node(id).outputs.begin(), node(id).outputs.end(), mark);
  }
  std::vector<ValueInfo> kept_values;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!used[i]) continue;
    value_map[i] = static_cast<ValueId>(kept_values.size());
    kept_values.push_back(std::move(values_[i]));
  }
  const auto renumber = [&](ValueId& id) {
    if (id != kNone) id = value_map[static_cast<size_t>(id)];
  };
  std::vector<Node> kept_nodes;
  kept_nodes.reserve(order_.size());
  for (NodeId& id : order_) {
    Node& moved = kept_nodes.emplace_back(std::move(nodes_[static_cast<size_t>(id)]));
    id = static_cast<NodeId>(kept_nodes.size()) - 1;
    std::for_each(moved.inputs.begin(), moved.inputs.end(), renumber);
    std::for_each(moved.outputs.begin(), moved.outputs.end(), renumber);
    for (const ValueId output : moved.outputs) kept_values[static_cast<size_t>(output)].producer = id;
  }
  for (Port& port : inputs) renumber(port.value);
  for (Port& port : outputs) renumber(port.value);
  values_ = std::move(kept_values);
  nodes_ = std::move(kept_nodes);
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>(*this);
  for (Node& copied : copy->nodes_) {
    for (auto& region : copied.regions) region = region->clone();
  }
  return copy;
}

std::string Graph::next_unbacked() { return fmt::format("{}{}", unbacked_scope_, unbacked_count_++); }

std::string Graph::unbacked_prefix(const Node& of) const {
  return fmt::format("{}{}", unbacked_scope_, of.unbacked_number);
}

std::string Graph::next_node_prefix() const { return fmt::format("{}{}.", unbacked_scope_, unbacked_count_); }

void Graph::set_unbacked_scope(std::string scope) {
  unbacked_scope_ = std::move(scope);
  for (const NodeId id : order_) {
    const Node& inner = node(id);
    for (size_t i = 0; i < inner.regions.size(); ++i) {
      inner.regions[i]->set_unbacked_scope(fmt::format("{}_{}r", unbacked_prefix(inner), i));
    }
  }
}

std::string describe(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string names;
  for (const std::string& source : node.sources) names += fmt::format("{}'{}'", names.empty() ? "" : "+", source);
  if (names.empty()) {
    const std::string& output = node.outputs.empty() ? "" : graph.value(node.outputs[0]).name;
    names = output.empty() ? fmt::format("#{}", id) : fmt::format("of '{}'", output);
  }
  return fmt::format("node {} ({})", names, node.op->name);
}

}  // namespace strop::ir
