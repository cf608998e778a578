#include "onnx/node_import.h"

#include <algorithm>

#include "onnx/names.h"
#include "onnx/symbols.h"

namespace strop::onnx {
namespace {

std::string_view name_of(AttrKind kind) {
  switch (kind) {
    case AttrKind::Undefined: return "nothing";
    case AttrKind::Float: return "a number";
    case AttrKind::Int: return "an integer";
    case AttrKind::String: return "a string";
    case AttrKind::Tensor: return "a tensor";
    case AttrKind::Graph: return "a graph";
    case AttrKind::Floats: return "numbers";
    case AttrKind::Ints: return "integers";
    case AttrKind::Strings: return "strings";
    case AttrKind::Tensors: return "tensors";
    case AttrKind::Graphs: return "graphs";
    case AttrKind::SparseTensor: return "a sparse tensor";
    case AttrKind::SparseTensors: return "sparse tensors";
    case AttrKind::Type: return "a type";
    case AttrKind::Types: return "types";
  }
  return "of an unknown kind";
}

/// Counts the loops around what is being imported.
class LoopDepth {
 public:
  LoopDepth(ImportState& state, bool is_loop) : state_(state), added_(is_loop ? 1 : 0) { state_.loop_depth += added_; }
  ~LoopDepth() { state_.loop_depth -= added_; }
  LoopDepth(const LoopDepth&) = delete;
  LoopDepth& operator=(const LoopDepth&) = delete;

 private:
  ImportState& state_;
  int added_;
};

bool is_list(AttrKind kind) { return kind == AttrKind::Floats || kind == AttrKind::Ints || kind == AttrKind::Strings; }

}  // namespace

NodeImport::NodeImport(Scope& scope, const NodeProto& node, const std::string& label, int opset)
    : scope_(scope), node_(node), label_(label), opset_(opset), is_set_(node.outputs.size(), false) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) output_count_ = i + 1;
  }
}

ir::ValueId NodeImport::input(size_t index) const {
  return index < node_.inputs.size() ? scope_.find(node_.inputs[index]) : ir::kNone;
}

const AttributeProto* NodeImport::find(std::string_view name) const {
  for (const AttributeProto& attribute : node_.attributes) {
    if (attribute.name == name) return resolve(attribute, scope_);
  }
  return nullptr;
}

Result<const AttributeProto*> NodeImport::find(std::string_view name, AttrKind kind) const {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr || attribute->kind == kind) return attribute;
  // An empty list written without its type cannot be told from any other.
  if (attribute->kind == AttrKind::Undefined && is_list(kind)) return attribute;
  return invalid("attribute '{}' must be {}, but is {}", name, name_of(kind), name_of(attribute->kind));
}

Error NodeImport::missing(std::string_view name) const { return invalid("attribute '{}' is missing", name); }

Result<int64_t> NodeImport::attr_int(std::string_view name, std::optional<int64_t> fallback) const {
  STROP_ASSIGN(const AttributeProto* attribute, find(name, AttrKind::Int));
  if (attribute != nullptr) return attribute->i;
  if (fallback) return *fallback;
  return missing(name);
}

Result<double> NodeImport::attr_float(std::string_view name, std::optional<double> fallback) const {
  STROP_ASSIGN(const AttributeProto* attribute, find(name, AttrKind::Float));
  if (attribute != nullptr) return static_cast<double>(attribute->f);
  if (fallback) return *fallback;
  return missing(name);
}

Result<std::string> NodeImport::attr_string(std::string_view name, std::optional<std::string> fallback) const {
  STROP_ASSIGN(const AttributeProto* attribute, find(name, AttrKind::String));
  if (attribute != nullptr) return std::string(attribute->s);
  if (fallback) return *fallback;
  return missing(name);
}

Result<std::vector<int64_t>> NodeImport::attr_ints(std::string_view name,
                                                   std::optional<std::vector<int64_t>> fallback) const {
  STROP_ASSIGN(const AttributeProto* attribute, find(name, AttrKind::Ints));
  if (attribute != nullptr) return attribute->ints;
  if (fallback) return *fallback;
  return missing(name);
}

Result<std::vector<double>> NodeImport::attr_floats(std::string_view name,
                                                    std::optional<std::vector<double>> fallback) const {
  STROP_ASSIGN(const AttributeProto* attribute, find(name, AttrKind::Floats));
  if (attribute != nullptr) return std::vector<double>(attribute->floats.begin(), attribute->floats.end());
  if (fallback) return *fallback;
  return missing(name);
}

Result<std::vector<std::string>> NodeImport::attr_strings(std::string_view name,
                                                          std::optional<std::vector<std::string>> fallback) const {
  STROP_ASSIGN(const AttributeProto* attribute, find(name, AttrKind::Strings));
  if (attribute != nullptr) return std::vector<std::string>(attribute->strings.begin(), attribute->strings.end());
  if (fallback) return *fallback;
  return missing(name);
}

Result<Tensor> NodeImport::attr_tensor(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr) return missing(name);
  const bool sparse = attribute->kind == AttrKind::SparseTensor && attribute->sparse_tensor;
  if (!sparse && (attribute->kind != AttrKind::Tensor || !attribute->tensor)) {
    return invalid("attribute '{}' must be a tensor, but is {}", name, name_of(attribute->kind));
  }
  auto tensor = sparse ? to_tensor(*attribute->sparse_tensor, scope_.state.source)
                       : to_tensor(*attribute->tensor, scope_.state.source);
  if (tensor.ok()) return tensor;
  return node_error(tensor.error().code, fmt::format("attribute '{}' {}", name, tensor.error().message));
}

Result<Type> NodeImport::attr_type(std::string_view name) const {
  STROP_ASSIGN(const AttributeProto* attribute, find(name, AttrKind::Type));
  if (attribute == nullptr || !attribute->type) return missing(name);
  auto type = to_type(*attribute->type, [&] { return Dim::symbol(scope_.graph.next_unbacked()); });
  if (type.ok()) return type;
  return node_error(type.error().code, fmt::format("attribute '{}' {}", name, type.error().message));
}

Result<NodeContext::Regions> NodeImport::attr_graphs(const std::vector<RegionSpec>& specs) {
  std::vector<const GraphProto*> protos;
  for (const RegionSpec& spec : specs) {
    STROP_ASSIGN(const AttributeProto* attribute, find(spec.attribute, AttrKind::Graph));
    if (attribute == nullptr || !attribute->graph) return missing(spec.attribute);
    protos.push_back(attribute->graph.get());
  }
  // The names that any region takes from outside, and among them those that must be passed in.
  std::vector<std::string_view> outer_names;
  std::unordered_map<std::string_view, bool> seen;
  for (const GraphProto* proto : protos) {
    for (const std::string_view name : free_names(*proto)) {
      if (seen.emplace(name, true).second) outer_names.push_back(name);
    }
  }
  Regions result;
  for (const std::string_view name : outer_names) {
    const ir::ValueId id = scope_.find(name);
    if (id == ir::kNone || graph().is_constant(id)) continue;
    result.captures.push_back(id);
  }
  const bool is_loop =
      std::any_of(protos.begin(), protos.end(), [](const auto* proto) { return !proto->inputs.empty(); });
  const LoopDepth depth(scope_.state, is_loop);
  if (scope_.state.loop_depth > kMaxLoopDepth) return unsupported("loops are nested more than {} deep", kMaxLoopDepth);
  for (size_t i = 0; i < specs.size(); ++i) {
    const std::string region_scope = fmt::format("{}{}r", graph().next_node_prefix(), i);
    STROP_ASSIGN(auto region, import_region(*protos[i], specs[i], outer_names, region_scope));
    result.graphs.push_back(std::move(region));
  }
  return result;
}

Result<std::shared_ptr<ir::Graph>> NodeImport::import_region(const GraphProto& proto, const RegionSpec& spec,
                                                             const std::vector<std::string_view>& captured,
                                                             std::string scope) {
  auto region = std::make_shared<ir::Graph>();
  region->name = std::string(proto.name);
  region->set_unbacked_scope(std::move(scope));
  Scope inner{scope_.state, *region, scope_.opsets, scope_.attributes, fmt::format("{}/{}/", label_, spec.attribute)};
  const auto unknown = [&] { return Dim::symbol(region->next_unbacked()); };
  std::vector<Type> parameters = spec.parameters;
  if (parameters.empty()) {
    for (const ValueInfoProto& info : proto.inputs) {
      auto type = to_type(info.type, unknown);
      if (!type.ok()) return invalid("input {} of '{}' {}", quote(info.name), spec.attribute, type.error().message);
      parameters.push_back(std::move(type).value());
    }
  }
  if (parameters.size() != proto.inputs.size()) {
    return invalid("'{}' takes {} values, but is given {}", spec.attribute, proto.inputs.size(), parameters.size());
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ValueInfoProto& info = proto.inputs[i];
    inner.declared[info.name] = &info.type;
    STROP_TRY(bind_name(inner, info.name, region->add_input(std::string(info.name), parameters[i])));
  }
  STROP_TRY(import_initializers(inner, proto));
  for (const std::string_view name : captured) {
    const ir::ValueId outer_id = scope_.find(name);
    if (outer_id == ir::kNone) continue;
    const ir::ValueInfo& outer = graph().value(outer_id);
    const bool shadowed = inner.values.contains(name);  // the name is free in another of the node's regions only
    ir::ValueId id = ir::kNone;
    if (outer.constant) {
      if (!shadowed) id = region->add_constant(*outer.constant, outer.name);
    } else {
      id = region->add_input(std::string(name), outer.type);
      region->value(id).known = outer.known;
    }
    if (!shadowed) inner.values[name] = id;
  }
  collect_declared(inner, proto);
  STROP_TRY(import_nodes(inner, proto.nodes));
  for (const ValueInfoProto& output : proto.outputs) {
    const ir::ValueId id = inner.find(output.name);
    if (id == ir::kNone) return invalid("output {} of '{}' is absent", quote(output.name), spec.attribute);
    region->outputs.push_back({std::string(output.name), id});
  }
  return region;
}

Result<std::vector<ir::ValueId>> NodeImport::inline_graph(std::string_view attribute) {
  STROP_ASSIGN(const AttributeProto* found, find(attribute, AttrKind::Graph));
  if (found == nullptr || !found->graph) return missing(attribute);
  const GraphProto& proto = *found->graph;
  if (!proto.inputs.empty()) return invalid("'{}' takes {} values, but is given 0", attribute, proto.inputs.size());
  Scope inner{scope_.state, scope_.graph, scope_.opsets, scope_.attributes, fmt::format("{}/{}/", label_, attribute)};
  inner.outer = &scope_;
  STROP_TRY(import_initializers(inner, proto));
  collect_declared(inner, proto);
  STROP_TRY(import_nodes(inner, proto.nodes));
  std::vector<ir::ValueId> results;
  for (size_t i = 0; i < proto.outputs.size(); ++i) {
    const std::string_view name = proto.outputs[i].name;
    const ir::ValueId id = inner.find(name);
    if (id == ir::kNone) return invalid("output {} of '{}' is absent", quote(name), attribute);
    if (wants_output(i)) STROP_TRY(bind_result(scope_, node_.outputs[i], id, inner));
    results.push_back(id);
  }
  return results;
}

bool NodeImport::wants_output(size_t index) const {
  return index < node_.outputs.size() && !node_.outputs[index].empty();
}

Result<void> NodeImport::set_output(size_t index, ir::ValueId value) {
  if (!wants_output(index)) return {};
  if (value == ir::kNone) return invalid("result {} passes on an operand that is absent", quote(node_.outputs[index]));
  is_set_[index] = true;
  return bind_name(scope_, node_.outputs[index], value);
}

Result<void> NodeImport::check_results() const {
  for (size_t i = 0; i < node_.outputs.size(); ++i) {
    if (!wants_output(i) || is_set_[i]) continue;
    return invalid("the operator has no result {}, which is named {}", i, quote(node_.outputs[i]));
  }
  return {};
}

}  // namespace strop::onnx
