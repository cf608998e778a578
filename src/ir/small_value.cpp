#include "ir/small_value.h"

#include <algorithm>

namespace strop::ir {
namespace {

constexpr int64_t kMaxElements = 64;
constexpr int kMaxDepth = 24;
constexpr int kMaxNodes = 64;

class Evaluator {
 public:
  explicit Evaluator(const Graph& graph) : graph_(graph) {}

  std::optional<Tensor> value(ValueId id, int depth) {
    if (id == kNone) return std::nullopt;
    const ValueInfo& info = graph_.value(id);
    if (info.constant)
      return info.constant->tensor.count() <= kMaxElements ? std::optional(info.constant->tensor) : std::nullopt;
    if (info.known) {
      if (auto found = known_contents(info)) return found;
    }
    if (info.producer == kNone || depth == 0 || --nodes_left_ < 0) return std::nullopt;
    return evaluate(graph_.node(info.producer), id, depth);
  }

 private:
  static std::optional<Tensor> known_contents(const ValueInfo& info) {
    const auto values = as_constants(*info.known);
    if (!values || !info.type.is_tensor() || !info.type.tensor.has_rank() || info.type.tensor.rank() > 1)
      return std::nullopt;
    std::vector<int64_t> dims;
    if (info.type.tensor.rank() == 1) dims.push_back(static_cast<int64_t>(values->size()));
    return store_i64(info.type.tensor.dtype, std::move(dims), *values);
  }

  std::optional<Tensor> evaluate(const Node& node, ValueId wanted, int depth) {
    if (!node.op->is_deterministic || node.op->has_regions || !node.attrs.symbols().empty()) return std::nullopt;
    std::vector<Value> inputs;
    for (const ValueId input : node.inputs) {
      inputs.emplace_back();
      if (input == kNone) continue;
      auto operand = value(input, depth - 1);
      if (!operand) return std::nullopt;
      inputs.back() = std::move(*operand);
    }
    const auto results = ops::evaluate({*node.op, node.attrs, node.late, inputs, node.outputs.size(), thread_});
    if (!results.ok()) return std::nullopt;
    const auto index = std::find(node.outputs.begin(), node.outputs.end(), wanted) - node.outputs.begin();
    const Value& result = (*results)[static_cast<size_t>(index)];
    if (!result.is_tensor() || result.tensor().count() > kMaxElements) return std::nullopt;
    return result.tensor();
  }

  const Graph& graph_;
  SingleThread thread_;
  int nodes_left_ = kMaxNodes;
};

}  // namespace

std::optional<Tensor> small_value(const Graph& graph, ValueId value) {
  return Evaluator(graph).value(value, kMaxDepth);
}

}  // namespace strop::ir
