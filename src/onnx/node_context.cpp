// What every NodeContext shares: operands as types and constants, emitting, error messages.
#include <algorithm>
#include <set>

#include "ir/infer.h"
#include "onnx/importer.h"
#include "onnx/names.h"
#include "onnx/tensor_proto.h"

namespace strop::onnx {
namespace {

// Results of constants that are this small are computed at once, so that importers see through shape arithmetic on
// constants. Larger ones are the constant-folding pass's business.
constexpr int64_t kMaxFoldedElements = 1024;

/// The node's results if they are small and follow from constants, else nothing.
std::vector<Value> fold(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!node.op->is_deterministic || !node.regions.empty() || !node.attrs.symbols().empty()) return {};
  for (const ir::ValueId output : node.outputs) {
    const Type& type = graph.value(output).type;
    if (!type.is_tensor() || !type.tensor.is_static()) return {};
    if (type.tensor.count().constant() > kMaxFoldedElements) return {};
  }
  std::vector<Value> operands;
  for (const ir::ValueId input : node.inputs) {
    if (input == ir::kNone) {
      operands.emplace_back();
    } else if (const Tensor* constant = graph.constant_tensor(input)) {
      operands.emplace_back(*constant);
    } else {
      return {};
    }
  }
  SingleThread thread;
  // What cannot be computed stays a node, and is reported if it ever runs.
  auto results = ops::evaluate({*node.op, node.attrs, node.late, operands, node.outputs.size(), thread, nullptr});
  return results.ok() ? std::move(results).value() : std::vector<Value>();
}

/// Replaces the node by constants.
std::vector<ir::ValueId> replace_by_constants(ir::Graph& graph, ir::NodeId id, const std::vector<Value>& results) {
  ir::Constant constant;
  std::set<std::string> origins;
  for (const ir::ValueId input : graph.node(id).inputs) {
    if (input == ir::kNone) continue;
    const auto& from = graph.value(input).constant->origins;
    origins.insert(from.begin(), from.end());
  }
  constant.origins.assign(origins.begin(), origins.end());
  constant.recipe = fmt::format("fold({})", graph.node(id).op->name);
  graph.erase(id);
  std::vector<ir::ValueId> ids;
  for (const Value& result : results) {
    constant.tensor = result.tensor();
    ids.push_back(graph.add_constant(constant));
  }
  return ids;
}

/// No result is absurdly large.
Result<void> check_sizes(const ir::Graph& graph, ir::NodeId id) {
  for (const ir::ValueId output : graph.node(id).outputs) {
    const Type& type = graph.value(output).type;
    if (!type.is_tensor() || !type.tensor.is_static()) continue;
    const auto count = checked_count(*as_constants(type.tensor.dims()));
    if (!count.ok()) return error(count.error().code, "a result of type {} {}", to_string(type), count.error().message);
  }
  return {};
}

}  // namespace

const Type& NodeContext::type(size_t index) const {
  static const Type kAbsent;
  const ir::ValueId id = input(index);
  return id == ir::kNone ? kAbsent : graph().value(id).type;
}

Result<TensorType> NodeContext::tensor(size_t index) const {
  if (!has_input(index)) return invalid("operand {} is missing", index);
  const Type& operand = type(index);
  if (!operand.is_tensor()) return invalid("operand {} must be a tensor, but is {}", index, to_string(operand));
  return operand.tensor;
}

const Tensor* NodeContext::constant(size_t index) const { return graph().constant_tensor(input(index)); }

std::optional<Dims> NodeContext::known(size_t index) const {
  const ir::ValueId id = input(index);
  if (id == ir::kNone) return std::nullopt;
  return graph().value(id).known;
}

std::optional<std::vector<int64_t>> NodeContext::constant_ints(size_t index) const {
  if (const Tensor* tensor = constant(index); tensor != nullptr) {
    if (!is_integer(tensor->dtype()) && tensor->dtype() != DType::Bool) return std::nullopt;
    return load_i64(*tensor);
  }
  const auto contents = known(index);
  return contents ? as_constants(*contents) : std::nullopt;
}

Result<DType> NodeContext::attr_dtype(std::string_view name, DType fallback) const {
  if (!has_attr(name)) return fallback;
  STROP_ASSIGN(const int64_t code, attr_int(name));
  auto dtype = checked_dtype(code);
  if (!dtype.ok()) return invalid("attribute '{}' {}", name, dtype.error().message);
  return dtype;
}

Result<ir::ValueId> NodeContext::emit(const ops::Operator& op, ops::Attrs attrs, std::vector<ir::ValueId> inputs,
                                      EmitExtras more) {
  STROP_ASSIGN(const auto ids, emit_many(op, std::move(attrs), std::move(inputs), 1, std::move(more)));
  return ids[0];
}

Result<std::vector<ir::ValueId>> NodeContext::emit_many(const ops::Operator& op, ops::Attrs attrs,
                                                        std::vector<ir::ValueId> inputs, size_t output_count,
                                                        EmitExtras more) {
  for (const ops::LateField& late : more.late) {
    const auto operand = static_cast<size_t>(late.operand);
    if (operand < inputs.size() && inputs[operand] != ir::kNone) continue;
    return invalid("the operand that gives '{}' is missing", late.field);
  }
  auto added = graph().add_node({&op,
                                 std::move(attrs),
                                 std::move(inputs),
                                 output_count,
                                 std::move(more.late),
                                 std::move(more.regions),
                                 {std::string(node_name())}});
  if (!added.ok()) return node_error(added.error().code, added.error().message);
  if (const auto sized = check_sizes(graph(), *added); !sized.ok()) {
    return node_error(sized.error().code, sized.error().message);
  }
  if (auto results = fold(graph(), *added); !results.empty()) {
    return replace_by_constants(graph(), *added, results);
  }
  return graph().node(*added).outputs;
}

Result<void> NodeContext::set_outputs(const std::vector<ir::ValueId>& values) {
  for (size_t i = 0; i < values.size(); ++i) STROP_TRY(set_output(i, values[i]));
  return {};
}

Error NodeContext::node_error(ErrorCode code, const std::string& message) const {
  return error(code, "{}: {}", describe_node(node_name(), op_type()), message);
}

}  // namespace strop::onnx
