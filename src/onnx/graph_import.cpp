#include "onnx/graph_import.h"

#include "onnx/known_attributes.h"
#include "onnx/names.h"
#include "onnx/node_import.h"
#include "onnx/symbols.h"
#include "tensor/dim_overflow.h"

namespace strop::onnx {
namespace {

/// A function call, written out in place.
Result<void> inline_function(Scope& scope, const NodeProto& node, const std::string& label,
                             const FunctionProto& function) {
  const std::string where = describe_node(label, node.op_type);
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return error(ErrorCode::InvalidModel, "{}: has {} operands and {} results, but the function has {} and {}", where,
                 node.inputs.size(), node.outputs.size(), function.inputs.size(), function.outputs.size());
  }
  FunctionAttributes attributes;
  for (const AttributeProto& fallback : function.attribute_defaults) attributes[fallback.name] = &fallback;
  for (const AttributeProto& given : node.attributes) {
    if (const AttributeProto* resolved = resolve(given, scope)) attributes[given.name] = resolved;
  }
  Scope inner{scope.state, scope.graph, scope.state.structure.function_opsets.at(&function), &attributes, label + "/"};
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    inner.values[function.inputs[i]] = i < node.inputs.size() ? scope.find(node.inputs[i]) : ir::kNone;
  }
  STROP_TRY(import_nodes(inner, function.nodes));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const ir::ValueId value = inner.find(function.outputs[i]);
    if (value == ir::kNone) {
      return error(ErrorCode::InvalidModel, "{}: result {} passes on an operand that is absent", where,
                   quote(node.outputs[i]));
    }
    STROP_TRY(bind_result(scope, node.outputs[i], value, inner));
  }
  return {};
}

/// Importers name the node in their own messages; what they pass on from elsewhere does not.
Error with_node(const Error& cause, const std::string& where) {
  return cause.message.starts_with("node '") ? cause : in_context(cause, where);
}

/// Sizes that leave 64 bits are the model's fault here, and here only.
Result<void> run_importer(const Importer& importer, NodeImport& import) {
  try {
    return importer.import(import);
  } catch (const DimOverflow& overflow) {
    return import.invalid("the sizes are absurd: {}", overflow.what());
  }
}

/// Attributes that the standard does not give the operator. Those of other domains are the importers' business.
Result<void> check_attributes(const NodeProto& node, const std::string& label, int64_t opset) {
  if (!node.domain.empty()) return {};
  for (const AttributeProto& attribute : node.attributes) {
    const std::string why_not = why_not_attribute(node.op_type, attribute.name, opset);
    if (why_not.empty()) continue;
    return error(ErrorCode::InvalidModel, "{}: attribute {} {}", describe_node(label, node.op_type),
                 quote(attribute.name), why_not);
  }
  return {};
}

Result<void> import_node(Scope& scope, const NodeProto& node, const std::string& label) {
  const auto called = scope.state.structure.functions.find(function_key(node));
  if (called != scope.state.structure.functions.end()) return inline_function(scope, node, label, *called->second);
  const int64_t opset = scope.opsets.at(node.domain);
  const Importer* importer = scope.state.importers.find(node.domain, node.op_type, opset);
  STROP_CHECK(importer != nullptr, "{} has no importer", node.op_type);
  STROP_TRY(check_attributes(node, label, opset));
  NodeImport import(scope, node, label, static_cast<int>(opset));
  auto result = run_importer(*importer, import);
  if (result.ok()) result = import.check_results();
  if (!result.ok()) return with_node(result.error(), describe_node(label, node.op_type));
  return {};
}

}  // namespace

ir::ValueId Scope::find(std::string_view name) const {
  if (name.empty()) return ir::kNone;
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return found->second;
  }
  return ir::kNone;
}

const AttributeProto* resolve(const AttributeProto& attribute, const Scope& scope) {
  if (attribute.ref_attr_name.empty()) return &attribute;
  if (scope.attributes == nullptr) return nullptr;
  const auto found = scope.attributes->find(attribute.ref_attr_name);
  return found == scope.attributes->end() ? nullptr : found->second;
}

Result<void> import_initializers(Scope& scope, const GraphProto& graph) {
  const auto add = [&](std::string_view name, const auto& proto) -> Result<void> {
    auto tensor = to_tensor(proto, scope.state.source);
    if (!tensor.ok()) return error(tensor.error().code, "initializer {} {}", quote(name), tensor.error().message);
    ir::Constant constant{std::move(tensor).value(), {std::string(name)}, ""};
    return bind_name(scope, name, scope.graph.add_constant(std::move(constant)));
  };
  for (const TensorProto& proto : graph.initializers) {
    if (!scope.values.contains(proto.name)) STROP_TRY(add(proto.name, proto));
  }
  for (const SparseTensorProto& proto : graph.sparse_initializers) {
    if (!scope.values.contains(proto.values.name)) STROP_TRY(add(proto.values.name, proto));
  }
  return {};
}

Result<void> import_nodes(Scope& scope, const std::vector<NodeProto>& nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (++scope.state.nodes > scope.state.max_nodes) {
      return error(ErrorCode::Unsupported, "the model expands to more than {} nodes", scope.state.max_nodes);
    }
    STROP_TRY(import_node(scope, nodes[i], scope.path + node_label(nodes[i], i)));
  }
  return {};
}

void collect_declared(Scope& scope, const GraphProto& graph) {
  for (const ValueInfoProto& info : graph.value_infos) scope.declared[info.name] = &info.type;
  for (const ValueInfoProto& info : graph.outputs) scope.declared[info.name] = &info.type;
}

Result<void> bind_name(Scope& scope, std::string_view name, ir::ValueId value) {
  ir::ValueInfo& info = scope.graph.value(value);
  if (info.name.empty()) info.name = scope.path + std::string(name);
  scope.values[name] = value;
  const auto found = scope.declared.find(name);
  if (found == scope.declared.end()) return {};
  const TypeProto& declared = *found->second;
  // Within a branch ranks may contradict: exporters write both ways out where one can never run (fixed input shapes
  // show it).
  const bool within = !scope.path.empty();
  const auto checked = check_declared(declared, info.type, !within);
  if (!checked.ok()) return error(checked.error().code, "value {} {}", quote(name), checked.error().message);
  const bool gives_rank = info.type.is_tensor() && !info.type.tensor.has_rank() && declared.shape.has_value();
  if (gives_rank) {
    STROP_ASSIGN(info.type, to_type(declared, [&] { return Dim::symbol(scope.graph.next_unbacked()); }));
  }
  return {};
}

Result<void> bind_result(Scope& scope, std::string_view name, ir::ValueId value, const Scope& inner) {
  std::string& known_as = scope.graph.value(value).name;
  if (known_as.starts_with(inner.path)) known_as.clear();
  return bind_name(scope, name, value);
}

}  // namespace strop::onnx
