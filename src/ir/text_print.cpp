#include <algorithm>
#include <set>

#include "ir/constant_text.h"
#include "ir/graph.h"
#include "ir/text.h"
#include "ops/field_text.h"

namespace strop::ir {

bool is_plain_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), plain) && !std::all_of(name.begin(), name.end(), digit);
}

namespace {

std::string name_text(std::string_view name) { return is_plain_name(name) ? std::string(name) : ops::quote(name); }

std::string quoted_list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + ops::quote(item);
  return text;
}

class Printer {
 public:
  Printer(const Graph& graph, const TextOptions& options, std::string indent)
      : graph_(graph), options_(options), indent_(std::move(indent)), labels_(graph.value_count()) {}

  std::string print(std::string_view keyword) {
    label_all();
    text_ += fmt::format("{}{} {} (", indent_, keyword, ops::quote(graph_.name));
    for (const Port& port : graph_.inputs) {
      if (&port != graph_.inputs.data()) text_ += ", ";
      text_ += fmt::format("{}: {}", name_text(port.name), to_string(graph_.value(port.value).type));
    }
    text_ += ") -> (";
    for (const Port& port : graph_.outputs) {
      if (&port != graph_.outputs.data()) text_ += ", ";
      text_ += fmt::format("{} = {}", name_text(port.name), label(port.value));
    }
    text_ += ") {\n";
    for (const NodeId id : graph_.order()) {
      for (const ValueId input : graph_.node(id).inputs) print_constant(input);
      print_node(graph_.node(id));
    }
    for (const Port& port : graph_.outputs) print_constant(port.value);
    return text_ + indent_ + "}\n";
  }

 private:
  /// Names where they are unique, numbers in the order of appearance elsewhere.
  void label_all() {
    for (const Port& port : graph_.inputs) set_label(port.value, port.name);
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      for (const ValueId input : node.inputs) {
        if (graph_.is_constant(input)) set_label(input, graph_.value(input).name);
      }
      for (const ValueId output : node.outputs) set_label(output, graph_.value(output).name);
    }
    for (const Port& port : graph_.outputs) set_label(port.value, graph_.value(port.value).name);
  }

  void set_label(ValueId id, const std::string& name) {
    std::string& target = labels_[static_cast<size_t>(id)];
    if (!target.empty()) return;
    const bool named = !name.empty() && taken_.insert(name).second;
    target = "%" + (named ? name_text(name) : std::to_string(next_number_++));
  }

  const std::string& label(ValueId id) const { return labels_[static_cast<size_t>(id)]; }

  void print_constant(ValueId id) {
    if (!graph_.is_constant(id) || !printed_.insert(id).second) return;
    const Constant& constant = *graph_.value(id).constant;
    const Tensor& tensor = constant.tensor;
    const bool small = tensor.count() <= options_.max_constant_elements;
    text_ += fmt::format("{}  {} = constant {} {}", indent_, label(id), to_string(tensor.type()),
                         small ? elements_text(tensor) : constant_digest(tensor));
    if (!constant.origins.empty()) text_ += fmt::format(" origins({})", quoted_list(constant.origins));
    if (!constant.recipe.empty()) text_ += fmt::format(" recipe({})", ops::quote(constant.recipe));
    text_ += "\n";
  }

  void print_node(const Node& node) {
    std::string results;
    std::string operands;
    std::string types;
    for (const ValueId id : node.outputs) {
      results += (results.empty() ? "" : ", ") + label(id);
      types += (types.empty() ? "" : ", ") + to_string(graph_.value(id).type);
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      operands += (i == 0 ? "" : ", ") + (node.inputs[i] == kNone ? "_" : label(node.inputs[i]));
    }
    text_ += fmt::format("{}  {} = {}({}){}", indent_, results, node.op->name, operands, attrs_text(node));
    if (!node.late.empty()) {
      std::string late;
      for (const ops::LateField& field : node.late) {
        late += fmt::format("{}{}=operand {}", late.empty() ? "" : ", ", field.field, field.operand);
      }
      text_ += fmt::format(" late({})", late);
    }
    if (options_.sources && !node.sources.empty()) text_ += fmt::format(" from({})", quoted_list(node.sources));
    text_ += " : " + types + "\n";
    for (const auto& region : node.regions) text_ += Printer(*region, options_, indent_ + "    ").print("region");
  }

  /// The fields that differ from the operator's defaults.
  static std::string attrs_text(const Node& node) {
    const auto fields = node.attrs.fields();
    const auto defaults = node.op->make_attrs().fields();
    STROP_CHECK(fields.size() == defaults.size(), "{} has another operator's attributes", node.op->name);
    std::string text;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (ops::equal(fields[i].value, defaults[i].value)) continue;
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", fields[i].name, ops::to_string(fields[i].value));
    }
    return text.empty() ? "" : " {" + text + "}";
  }

  const Graph& graph_;
  const TextOptions& options_;
  std::string indent_;
  std::vector<std::string> labels_;
  std::set<std::string> taken_;
  std::set<ValueId> printed_;
  int64_t next_number_ = 0;
  std::string text_;
};

void add_constants(const Graph& graph, ConstantTable& table) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Tensor* tensor = graph.constant_tensor(static_cast<ValueId>(i));
    if (tensor) table.emplace(constant_digest(*tensor), *tensor);
  }
  for (const NodeId id : graph.order()) {
    for (const auto& region : graph.node(id).regions) add_constants(*region, table);
  }
}

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  return Printer(graph, options, "").print("graph");
}

ConstantTable constant_table(const Graph& graph) {
  ConstantTable table;
  add_constants(graph, table);
  return table;
}

}  // namespace strop::ir
