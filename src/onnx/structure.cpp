#include "onnx/structure.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "onnx/names.h"

namespace strop::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

/// The names that exist in a body, and those around it.
struct Scope {
  Names names;
  const Scope* outer = nullptr;

  bool contains(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (scope->names.contains(name)) return true;
    }
    return false;
  }
};

/// A list of nodes and what surrounds it: a graph, a subgraph or a function's body.
struct Body {
  std::span<const NodeProto> nodes;
  std::string what;  ///< for messages: "the graph", "subgraph 'x'", "function 'f'"
  std::unordered_map<std::string_view, size_t> producer = {};  ///< name → index of the node that makes it
};

Error invalid_model(const std::string& message) { return Error{ErrorCode::InvalidModel, message}; }

std::string describe(const Body& body, size_t index) {
  const NodeProto& node = body.nodes[index];
  return describe_node(node_label(node, index), node.op_type);
}

template <class Visit>
void for_subgraphs(const NodeProto& node, Visit&& visit) {
  for (const AttributeProto& attr : node.attributes) {
    if (attr.graph) visit(*attr.graph);
  }
}

/// What the node reads: its operands, and what its subgraphs take from outside.
std::vector<std::string_view> names_read(const NodeProto& node) {
  std::vector<std::string_view> names;
  for (const std::string_view input : node.inputs) {
    if (!input.empty()) names.push_back(input);
  }
  for_subgraphs(node, [&](const GraphProto& graph) {
    const auto free = free_names(graph);
    names.insert(names.end(), free.begin(), free.end());
  });
  return names;
}

/// The nodes of a cycle, or nothing: Kahn's algorithm leaves those on cycles and behind them; walking from one of them
/// to a producer that is left as well must come round.
std::vector<size_t> find_cycle(const Body& body) {
  const size_t count = body.nodes.size();
  std::vector<std::vector<size_t>> producers(count);
  std::vector<std::vector<size_t>> users(count);
  std::vector<size_t> waiting(count);
  std::vector<size_t> ready;
  for (size_t i = 0; i < count; ++i) {
    for (const std::string_view name : names_read(body.nodes[i])) {
      const auto found = body.producer.find(name);
      if (found == body.producer.end()) continue;
      producers[i].push_back(found->second);
      users[found->second].push_back(i);
    }
    waiting[i] = producers[i].size();
    if (waiting[i] == 0) ready.push_back(i);
  }
  for (size_t k = 0; k < ready.size(); ++k) {
    for (const size_t user : users[ready[k]]) {
      if (--waiting[user] == 0) ready.push_back(user);
    }
  }
  const auto start = std::find_if(waiting.begin(), waiting.end(), [](size_t n) { return n != 0; });
  if (start == waiting.end()) return {};
  constexpr size_t kNotOnPath = SIZE_MAX;
  std::vector<size_t> position(count, kNotOnPath);
  std::vector<size_t> path;
  for (size_t at = static_cast<size_t>(start - waiting.begin()); position[at] == kNotOnPath;) {
    position[at] = path.size();
    path.push_back(at);
    const auto& from = producers[at];
    at = *std::find_if(from.begin(), from.end(), [&](size_t producer) { return waiting[producer] != 0; });
    if (position[at] != kNotOnPath) {
      path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(position[at]));
      break;
    }
  }
  return path;
}

Error cycle_error(const Body& body, const std::vector<size_t>& cycle) {
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(cycle.size(), 5); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", describe(body, cycle[i]));
  }
  if (cycle.size() > 5) names += fmt::format(" and {} more", cycle.size() - 5);
  return invalid_model(fmt::format("{} has a cycle: {}", body.what, names));
}

/// The error for a name that is not defined where node `index` uses it.
Error undefined_name(const Body& body, size_t index, std::string_view name) {
  const auto later = body.producer.find(name);
  if (later == body.producer.end()) {
    return invalid_model(fmt::format("{}: operand {} is not defined anywhere", describe(body, index), quote(name)));
  }
  if (const auto cycle = find_cycle(body); !cycle.empty()) return cycle_error(body, cycle);
  return invalid_model(
      fmt::format("{}: operand {} is used before {} makes it; ONNX wants nodes in the order of execution",
                  describe(body, index), quote(name), describe(body, later->second)));
}

/// Checks the nodes of bodies, inside out.
class NodeCheck {
 public:
  explicit NodeCheck(const Functions& functions) : functions_(functions) {}

  /// `scope`: the names that exist when the body begins; those that it makes are added.
  Result<void> check_nodes(Body& body, Scope& scope, const Opsets& opsets) {
    for (size_t i = 0; i < body.nodes.size(); ++i) {
      const NodeProto& node = body.nodes[i];
      if (node.op_type.empty())
        return invalid_model(fmt::format("node {} has no operator type", quote(node_label(node, i))));
      for (const std::string_view output : node.outputs) {
        if (output.empty()) continue;
        const auto [entry, is_new] = body.producer.emplace(output, i);
        if (!is_new) {
          return invalid_model(fmt::format("{}: its result {} is also made by {}", describe(body, i), quote(output),
                                           describe(body, entry->second)));
        }
        if (scope.names.contains(output)) {
          return invalid_model(fmt::format("{}: its result {} is also an input or initializer of {}", describe(body, i),
                                           quote(output), body.what));
        }
      }
    }
    for (size_t i = 0; i < body.nodes.size(); ++i) STROP_TRY(check_node(body, i, scope, opsets));
    return {};
  }

  /// `outer`: what surrounds a subgraph; null for the model's graph.
  Result<void> check_graph(const GraphProto& graph, const Scope* outer, const Opsets& opsets) {
    const bool is_main = outer == nullptr;
    Body body{graph.nodes, is_main ? "the graph" : fmt::format("subgraph {}", quote(graph.name))};
    Scope scope{{}, outer};
    for (const ValueInfoProto& input : graph.inputs) {
      if (input.name.empty()) return invalid_model(fmt::format("an input of {} has no name", body.what));
      if (!scope.names.insert(input.name).second) {
        return invalid_model(fmt::format("input {} of {} is declared twice", quote(input.name), body.what));
      }
    }
    Names initializers;
    const auto add_initializer = [&](std::string_view name) -> Result<void> {
      if (name.empty()) return invalid_model(fmt::format("an initializer of {} has no name", body.what));
      if (!initializers.insert(name).second) {
        return invalid_model(fmt::format("initializer {} of {} is given twice", quote(name), body.what));
      }
      scope.names.insert(name);
      return {};
    };
    for (const TensorProto& tensor : graph.initializers) STROP_TRY(add_initializer(tensor.name));
    for (const SparseTensorProto& sparse : graph.sparse_initializers) STROP_TRY(add_initializer(sparse.values.name));
    STROP_TRY(check_nodes(body, scope, opsets));
    Names outputs;
    for (const ValueInfoProto& output : graph.outputs) {
      if (!outputs.insert(output.name).second && is_main) {
        return invalid_model(fmt::format("output {} of {} is listed twice", quote(output.name), body.what));
      }
      if (!scope.contains(output.name)) {
        return invalid_model(fmt::format("output {} of {} is not made by any node", quote(output.name), body.what));
      }
    }
    if (graph.outputs.empty()) return invalid_model(fmt::format("{} has no outputs", body.what));
    return {};
  }

 private:
  Result<void> check_node(const Body& body, size_t index, Scope& scope, const Opsets& opsets) {
    const NodeProto& node = body.nodes[index];
    for (const std::string_view input : node.inputs) {
      if (!input.empty() && !scope.contains(input)) return undefined_name(body, index, input);
    }
    if (!opsets.contains(node.domain) && !functions_.contains(function_key(node))) {
      return invalid_model(fmt::format("{}: domain {} has no opset_import", describe(body, index), quote(node.domain)));
    }
    Names attributes;
    for (const AttributeProto& attr : node.attributes) {
      if (!attributes.insert(attr.name).second) {
        return invalid_model(fmt::format("{}: attribute {} is given twice", describe(body, index), quote(attr.name)));
      }
      if (!attr.graph) continue;
      for (const std::string_view name : free_names(*attr.graph)) {
        if (!scope.contains(name) && body.producer.contains(name)) return undefined_name(body, index, name);
      }
      STROP_TRY(check_graph(*attr.graph, &scope, opsets));
    }
    for (const std::string_view output : node.outputs) {
      if (!output.empty()) scope.names.insert(output);
    }
    return {};
  }

  const Functions& functions_;
};

Result<Opsets> read_opsets(const std::vector<OpsetImport>& imports, std::string_view where) {
  Opsets result;
  for (const OpsetImport& import : imports) {
    if (import.version < 1) {
      return invalid_model(
          fmt::format("{} imports opset {} of domain {}", where, import.version, quote(import.domain)));
    }
    const auto [entry, is_new] = result.emplace(import.domain, import.version);
    if (!is_new && entry->second != import.version) {
      return invalid_model(fmt::format("{} imports opsets {} and {} of domain {}", where, entry->second, import.version,
                                       quote(import.domain)));
    }
    if (import.domain.empty() && import.version > kNewestOpset) {
      return error(ErrorCode::Unsupported, "{} needs opset {}; the newest that is known here is {}", where,
                   import.version, kNewestOpset);
    }
  }
  return result;
}

Result<void> check_versions(const ModelProto& model, Structure& structure) {
  if (!model.ir_version) return invalid_model("the file is not an ONNX model: it has no IR version");
  if (*model.ir_version < 1) return invalid_model(fmt::format("the model's IR version is {}", *model.ir_version));
  if (*model.ir_version > kNewestIrVersion) {
    return error(ErrorCode::Unsupported, "the model's IR version is {}; the newest that is known here is {}",
                 *model.ir_version, kNewestIrVersion);
  }
  if (!model.has_graph) return invalid_model("the model has no graph");
  STROP_ASSIGN(structure.opsets, read_opsets(model.opsets, "the model"));
  // Before IR version 3 there was one operator set, and no way to say which.
  if (*model.ir_version < 3) structure.opsets.emplace("", 1);
  return {};
}

template <class Visit>
void for_nodes(std::span<const NodeProto> nodes, Visit&& visit) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    visit(nodes[i], i);
    for_subgraphs(nodes[i], [&](const GraphProto& graph) { for_nodes(graph.nodes, visit); });
  }
}

/// Depth-first through the calls; a function that is met while it is open calls itself.
class RecursionCheck {
 public:
  explicit RecursionCheck(const Functions& functions) : functions_(functions) {}

  Result<void> visit(const FunctionProto& function) {
    const auto [entry, is_new] = done_.emplace(&function, false);
    if (!is_new) {
      if (entry->second) return {};
      return invalid_model(fmt::format("function {} calls itself", quote(function.name)));
    }
    if (++depth_ > kMaxDepth) return error(ErrorCode::Unsupported, "functions call each other {} deep", depth_);
    Result<void> result;
    for_nodes(function.nodes, [&](const NodeProto& node, size_t) {
      const auto called = functions_.find(function_key(node));
      if (result.ok() && called != functions_.end()) result = visit(*called->second);
    });
    --depth_;
    done_[&function] = true;
    return result;
  }

 private:
  static constexpr int kMaxDepth = 64;
  const Functions& functions_;
  std::map<const FunctionProto*, bool> done_;
  int depth_ = 0;
};

Result<void> check_functions(const ModelProto& model, Structure& structure) {
  for (const FunctionProto& function : model.functions) {
    const std::string what = fmt::format("function {}", quote(function.name));
    if (function.name.empty()) return invalid_model("a function has no name");
    if (!structure.functions.emplace(FunctionKey{function.domain, function.name, function.overload}, &function)
             .second) {
      return invalid_model(fmt::format("{} is defined twice", what));
    }
    STROP_ASSIGN(Opsets opsets, read_opsets(function.opsets, what));
    opsets.insert(structure.opsets.begin(), structure.opsets.end());  // does not replace its own
    structure.function_opsets.emplace(&function, std::move(opsets));
  }
  RecursionCheck recursion(structure.functions);
  for (const FunctionProto& function : model.functions) STROP_TRY(recursion.visit(function));
  for (const FunctionProto& function : model.functions) {
    Body body{function.nodes, fmt::format("function {}", quote(function.name))};
    Scope scope;
    for (const std::string_view input : function.inputs) {
      if (!scope.names.insert(input).second)
        return invalid_model(fmt::format("input {} of {} is declared twice", quote(input), body.what));
    }
    NodeCheck check(structure.functions);
    const auto checked = check.check_nodes(body, scope, structure.function_opsets.at(&function));
    if (!checked.ok()) return in_context(checked.error(), body.what);
    for (const std::string_view output : function.outputs) {
      if (!scope.contains(output)) {
        return invalid_model(fmt::format("output {} of {} is not made by any node", quote(output), body.what));
      }
    }
  }
  return {};
}

void add_free_names(const GraphProto& graph, const Scope* outer, Names& seen, std::vector<std::string_view>& result) {
  Scope scope{{}, outer};
  for (const ValueInfoProto& input : graph.inputs) scope.names.insert(input.name);
  for (const TensorProto& tensor : graph.initializers) scope.names.insert(tensor.name);
  for (const SparseTensorProto& sparse : graph.sparse_initializers) scope.names.insert(sparse.values.name);
  for (const NodeProto& node : graph.nodes) scope.names.insert(node.outputs.begin(), node.outputs.end());
  const auto use = [&](std::string_view name) {
    if (!name.empty() && !scope.contains(name) && seen.insert(name).second) result.push_back(name);
  };
  for (const NodeProto& node : graph.nodes) {
    for (const std::string_view input : node.inputs) use(input);
    for_subgraphs(node, [&](const GraphProto& inner) { add_free_names(inner, &scope, seen, result); });
  }
  for (const ValueInfoProto& output : graph.outputs) use(output.name);
}

}  // namespace

std::vector<std::string_view> free_names(const GraphProto& graph) {
  Names seen;
  std::vector<std::string_view> result;
  add_free_names(graph, nullptr, seen, result);
  return result;
}

Result<Structure> check_structure(const ModelProto& model) {
  Structure structure;
  STROP_TRY(check_versions(model, structure));
  STROP_TRY(check_functions(model, structure));
  STROP_TRY(NodeCheck(structure.functions).check_graph(model.graph, nullptr, structure.opsets));
  return structure;
}

}  // namespace strop::onnx
