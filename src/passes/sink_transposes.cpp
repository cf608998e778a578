/// Transposes move below pointwise operators: they meet other transposes there and cancel, and leave the operators
/// together. A node's transposed operands must agree; constants are transposed the other way, which folds.
#include <algorithm>
#include <numeric>

#include "ops/pointwise/pointwise.h"
#include "ops/transpose/transpose.h"
#include "ops/view/view.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{{.name = "passes.sink_transposes", .help = "move transposes below pointwise operators"}};

using Perm = std::vector<int64_t>;

class Sinker {
 public:
  explicit Sinker(ir::Graph& graph) : graph_(graph) {}

  Result<bool> run() {
    bool changed = false;
    const std::vector<ir::NodeId> order = graph_.order();
    for (const ir::NodeId id : order) {
      const auto perm = common_permutation(id);
      if (!perm) continue;
      STROP_TRY(sink(id, *perm));
      changed = true;
    }
    if (changed) graph_.sort();
    return changed;
  }

 private:
  std::optional<Perm> transposed_by(ir::ValueId value, int64_t rank) const {
    const ir::NodeId id = producer(graph_, value, ops::kTranspose);
    if (id == ir::kNone) return std::nullopt;
    auto perm = ops::full_permutation(graph_.node(id).attrs.as<ops::TransposeAttrs>().perm, rank);
    return perm.ok() ? std::optional(*perm) : std::nullopt;
  }

  static bool is_single_element(const TensorType& type) {
    return std::all_of(type.dims().begin(), type.dims().end(), [](const Dim& dim) { return dim == Dim(1); });
  }

  /// The permutation of all transposed operands, if the node can be computed before them.
  std::optional<Perm> common_permutation(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (!node.alive || node.op != &ops::kPointwise || node.outputs.size() != 1) return std::nullopt;
    const TensorType* result = ranked(graph_, node.outputs[0]);
    if (!result) return std::nullopt;
    std::optional<Perm> common;
    for (const ir::ValueId operand : node.inputs) {
      const TensorType* type = ranked(graph_, operand);
      if (!type) return std::nullopt;
      if (graph_.is_constant(operand) || is_single_element(*type)) continue;
      if (type->rank() != result->rank()) return std::nullopt;
      const auto perm = transposed_by(operand, type->rank());
      if (!perm || (common && *common != *perm) || !used_only_by(operand, id)) return std::nullopt;
      common = perm;
    }
    return common;
  }

  bool used_only_by(ir::ValueId value, ir::NodeId user) const {
    for (const ir::Port& port : graph_.outputs) {
      if (port.value == value) return false;
    }
    for (const ir::NodeId id : graph_.order()) {
      const auto& inputs = graph_.node(id).inputs;
      if (id != user && std::find(inputs.begin(), inputs.end(), value) != inputs.end()) return false;
    }
    return true;
  }

  Result<void> sink(ir::NodeId id, const Perm& perm) {
    ir::Graph::NewNode inner;
    inner.op = &ops::kPointwise;
    inner.attrs = graph_.node(id).attrs;
    inner.sources = graph_.node(id).sources;
    const std::vector<ir::ValueId> operands = graph_.node(id).inputs;
    std::vector<std::string> sources;
    for (const ir::ValueId operand : operands) {
      const TensorType type = graph_.value(operand).type.tensor;
      if (const ir::NodeId before = producer(graph_, operand, ops::kTranspose);
          before != ir::kNone && !is_single_element(type)) {
        inner.inputs.push_back(graph_.node(before).inputs[0]);
        sources = merged_sources(sources, graph_.node(before).sources);
      } else if (is_single_element(type)) {
        inner.inputs.push_back(operand);
      } else {
        STROP_ASSIGN(const ir::ValueId moved, transposed_back(operand, type, perm, inner.sources));
        inner.inputs.push_back(moved);
      }
    }
    STROP_ASSIGN(const ir::ValueId value, graph_.add(std::move(inner)));
    ir::Graph::NewNode outer;
    outer.op = &ops::kTranspose;
    outer.attrs = ops::TransposeAttrs{perm};
    outer.inputs = {value};
    outer.sources = std::move(sources);
    STROP_ASSIGN(const ir::ValueId result, graph_.add(std::move(outer)));
    const ir::ValueId old = graph_.node(id).outputs[0];
    graph_.replace_uses(old, result);
    graph_.erase(id);
    return {};
  }

  /// A constant as it must be before the transpose: with all axes, in the operands' order.
  Result<ir::ValueId> transposed_back(ir::ValueId value, const TensorType& type, const Perm& perm,
                                      const std::vector<std::string>& sources) {
    Dims full(perm.size() - type.dims().size(), Dim(1));
    full.insert(full.end(), type.dims().begin(), type.dims().end());
    ir::ValueId source = value;
    if (full.size() != type.dims().size()) {
      ir::Graph::NewNode reshape;
      reshape.op = &ops::kReshape;
      reshape.attrs = ops::ReshapeAttrs{full};
      reshape.inputs = {value};
      reshape.sources = sources;
      STROP_ASSIGN(source, graph_.add(std::move(reshape)));
    }
    ir::Graph::NewNode transpose;
    transpose.op = &ops::kTranspose;
    transpose.attrs = ops::TransposeAttrs{inverse_permutation(perm)};
    transpose.inputs = {source};
    transpose.sources = sources;
    return graph_.add(std::move(transpose));
  }

  ir::Graph& graph_;
};

Result<bool> run(ir::Graph& graph, const PassContext&) { return Sinker(graph).run(); }

}  // namespace

extern const Pass kSinkTransposes;
const Pass kSinkTransposes = {"sink_transposes", "moves transposes below pointwise operators", run, &kEnabled};

}  // namespace strop::passes
