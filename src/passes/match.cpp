#include "passes/match.h"

#include <algorithm>

#include "ops/pointwise/pointwise.h"
#include "tensor/convert.h"

namespace strop::passes {

UseCounts::UseCounts(const ir::Graph& graph) : counts_(graph.value_count(), 0) {
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId input : graph.node(id).inputs) {
      if (input != ir::kNone) ++counts_[static_cast<size_t>(input)];
    }
  }
  for (const ir::Port& port : graph.outputs) ++counts_[static_cast<size_t>(port.value)];
}

ir::NodeId producer(const ir::Graph& graph, ir::ValueId value) {
  return value == ir::kNone || graph.is_constant(value) ? ir::kNone : graph.value(value).producer;
}

ir::NodeId producer(const ir::Graph& graph, ir::ValueId value, const ops::Operator& op) {
  const ir::NodeId id = producer(graph, value);
  return id != ir::kNone && graph.node(id).op == &op ? id : ir::kNone;
}

std::optional<double> constant_scalar(const ir::Graph& graph, ir::ValueId value) {
  const Tensor* tensor = graph.constant_tensor(value);
  if (!tensor || tensor->count() != 1 || tensor->dtype() == DType::String || is_complex(tensor->dtype())) {
    return std::nullopt;
  }
  return load_f64(*tensor)[0];
}

bool is_constant_scalar(const ir::Graph& graph, ir::ValueId value, double number) {
  const auto constant = constant_scalar(graph, value);
  if (!constant) return false;
  const DType dtype = graph.constant_tensor(value)->dtype();
  return *constant == (is_float(dtype) ? round_to(dtype, number) : number);
}

std::optional<Application> application(const ir::Graph& graph, ir::ValueId value) {
  const ir::NodeId id = producer(graph, value, ops::kPointwise);
  if (id == ir::kNone) return std::nullopt;
  const ir::Node& node = graph.node(id);
  const ops::ScalarProgram& program = node.attrs.as<ops::PointwiseAttrs>().program;
  if (program.outputs.size() != 1) return std::nullopt;
  const ops::ScalarInstr& last = program.instrs[static_cast<size_t>(program.outputs[0])];
  Application result{.node = id, .fn = last.fn, .dtype = last.dtype};
  for (size_t i = 0; i < static_cast<size_t>(ops::arity(last.fn)); ++i) {
    const ops::ScalarInstr& arg = program.instrs[static_cast<size_t>(last.args[i])];
    if (arg.fn == ops::Fn::Constant && is_float(arg.dtype)) {
      result.operands.push_back({ir::kNone, arg.number});
    } else if (arg.fn == ops::Fn::Input) {
      const ir::ValueId operand = node.inputs[static_cast<size_t>(arg.input)];
      result.operands.push_back({operand, constant_scalar(graph, operand)});
    } else {
      return std::nullopt;
    }
  }
  return result;
}

std::optional<std::set<ir::NodeId>> nodes_between(const ir::Graph& graph, const std::vector<ir::ValueId>& leaves,
                                                  ir::ValueId value, size_t limit) {
  std::set<ir::NodeId> nodes;
  std::vector<ir::ValueId> waiting = {value};
  while (!waiting.empty()) {
    const ir::ValueId at = waiting.back();
    waiting.pop_back();
    if (at == ir::kNone || graph.is_constant(at)) continue;
    if (std::find(leaves.begin(), leaves.end(), at) != leaves.end()) continue;
    const ir::NodeId id = graph.value(at).producer;
    if (id == ir::kNone) return std::nullopt;
    if (!nodes.insert(id).second) continue;
    if (nodes.size() > limit) return std::nullopt;
    waiting.insert(waiting.end(), graph.node(id).inputs.begin(), graph.node(id).inputs.end());
  }
  return nodes;
}

bool depends_on(const ir::Graph& graph, ir::ValueId value, const std::set<ir::ValueId>& sources) {
  std::set<ir::NodeId> seen;
  std::vector<ir::ValueId> waiting = {value};
  while (!waiting.empty()) {
    const ir::ValueId at = waiting.back();
    waiting.pop_back();
    if (at == ir::kNone) continue;
    if (sources.contains(at)) return true;
    const ir::NodeId id = producer(graph, at);
    if (id == ir::kNone || !seen.insert(id).second) continue;
    waiting.insert(waiting.end(), graph.node(id).inputs.begin(), graph.node(id).inputs.end());
  }
  return false;
}

const TensorType* ranked(const ir::Graph& graph, ir::ValueId value) {
  if (value == ir::kNone) return nullptr;
  const Type& type = graph.value(value).type;
  return type.is_tensor() && type.tensor.has_rank() ? &type.tensor : nullptr;
}

bool is_backed(const Dims& dims) {
  return std::none_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_unbacked(); });
}

bool has_backed_dims(const ir::Graph& graph, ir::ValueId value) {
  const TensorType* type = ranked(graph, value);
  return type && is_backed(type->dims());
}

std::vector<int64_t> inverse_permutation(const std::vector<int64_t>& perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return inverse;
}

std::vector<std::string> merged_sources(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::vector<std::string> merged = first;
  for (const std::string& name : second) {
    if (std::find(first.begin(), first.end(), name) == first.end()) merged.push_back(name);
  }
  return merged;
}

void replace_node(ir::Graph& graph, ir::NodeId id, const std::vector<ir::ValueId>& values) {
  const std::vector<ir::ValueId> outputs = graph.node(id).outputs;
  STROP_CHECK(values.size() == outputs.size(), "{} values for {} outputs", values.size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::NodeId now = producer(graph, values[i]);
    if (now != ir::kNone) graph.node(now).sources = merged_sources(graph.node(now).sources, graph.node(id).sources);
    graph.replace_uses(outputs[i], values[i]);
  }
  graph.erase(id);
}

}  // namespace strop::passes
