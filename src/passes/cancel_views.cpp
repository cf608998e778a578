/// Transposes and reshapes that undo each other, or do nothing, go; pairs become one. Each rule looks at one node and
/// the node before it, so that repeating the pass handles chains.
#include <algorithm>
#include <numeric>

#include "ops/transpose/transpose.h"
#include "ops/view/view.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{{.name = "passes.cancel_views", .help = "cancel and merge transposes and reshapes"}};

using Perm = std::vector<int64_t>;

bool is_reshape(const ir::Node& node) { return node.op == &ops::kReshape || node.op == &ops::kReshapeByRule; }

/// The shape as a Reshape's target: dimensions that are known only when the data are become -1, if there is but one.
std::optional<Dims> as_target(const TensorType& type) {
  Dims target = type.dims();
  int unbacked = 0;
  for (Dim& dim : target) {
    if (!dim.is_unbacked()) continue;
    dim = Dim(-1);
    ++unbacked;
  }
  if (unbacked > 1) return std::nullopt;
  // With a -1, a zero elsewhere would leave it undetermined.
  const bool has_zero = std::any_of(target.begin(), target.end(), [](const Dim& dim) { return dim == Dim(0); });
  if (unbacked == 1 && has_zero) return std::nullopt;
  return target;
}

class Canceller {
 public:
  explicit Canceller(ir::Graph& graph) : graph_(graph) {}

  Result<bool> run() {
    const std::vector<ir::NodeId> order = graph_.order();
    for (const ir::NodeId id : order) {
      const ir::Node& node = graph_.node(id);
      if (node.op == &ops::kTranspose) STROP_TRY(visit_transpose(id));
      if (node.alive && is_reshape(node)) STROP_TRY(visit_reshape(id));
    }
    return changed_;
  }

 private:
  const TensorType* type_of_operand(ir::NodeId id) const { return ranked(graph_, graph_.node(id).inputs[0]); }

  /// Same dtype and dimensions: the node gives its operand back.
  bool is_identity(ir::NodeId id) const {
    const TensorType* before = type_of_operand(id);
    const TensorType* after = ranked(graph_, graph_.node(id).outputs[0]);
    return before && after && *before == *after;
  }

  void remove(ir::NodeId id) {
    replace_node(graph_, id, {graph_.node(id).inputs[0]});
    changed_ = true;
  }

  /// Turns the node into one on `source`, with the same result.
  Result<void> rewrite(ir::NodeId id, const ops::Operator& op, ops::Attrs attrs, ir::ValueId source) {
    ir::Node& node = graph_.node(id);
    const ir::NodeId between = producer(graph_, node.inputs[0]);
    if (source != node.inputs[0] && between != ir::kNone) {
      node.sources = merged_sources(graph_.node(between).sources, node.sources);
    }
    node.op = &op;
    node.attrs = std::move(attrs);
    node.inputs = {source};
    node.late.clear();
    changed_ = true;
    STROP_TRY(graph_.reinfer(id));
    return {};
  }

  Result<void> visit_transpose(ir::NodeId id) {
    const TensorType* type = type_of_operand(id);
    if (!type) return {};
    STROP_ASSIGN(Perm perm, perm_of(id));
    const ir::NodeId before = producer(graph_, graph_.node(id).inputs[0], ops::kTranspose);
    if (before != ir::kNone) {
      STROP_ASSIGN(const Perm inner, perm_of(before));
      for (int64_t& axis : perm) axis = inner[static_cast<size_t>(axis)];
      STROP_TRY(rewrite(id, ops::kTranspose, ops::TransposeAttrs{perm}, graph_.node(before).inputs[0]));
      type = type_of_operand(id);
    }
    if (std::is_sorted(perm.begin(), perm.end())) {
      remove(id);
      return {};
    }
    if (!moves_only_ones(perm, type->dims())) return {};
    const TensorType* result = ranked(graph_, graph_.node(id).outputs[0]);
    const auto target = result ? as_target(*result) : std::nullopt;
    if (target) STROP_TRY(rewrite(id, ops::kReshape, ops::ReshapeAttrs{*target}, graph_.node(id).inputs[0]));
    return {};
  }

  Result<Perm> perm_of(ir::NodeId id) const {
    return ops::full_permutation(graph_.node(id).attrs.as<ops::TransposeAttrs>().perm, type_of_operand(id)->rank());
  }

  /// The axes that are not of size 1 keep their order.
  static bool moves_only_ones(const Perm& perm, const Dims& dims) {
    int64_t last = -1;
    for (const int64_t axis : perm) {
      if (dims[static_cast<size_t>(axis)] == Dim(1)) continue;
      if (axis < last) return false;
      last = axis;
    }
    return true;
  }

  Result<void> visit_reshape(ir::NodeId id) {
    if (is_identity(id)) {
      remove(id);
      return {};
    }
    const TensorType* result = ranked(graph_, graph_.node(id).outputs[0]);
    const auto target = result ? as_target(*result) : std::nullopt;
    if (!target) return {};
    ir::ValueId source = graph_.node(id).inputs[0];
    while (true) {  // the elements' order is the same all the way up
      const ir::NodeId before = producer(graph_, source);
      if (before == ir::kNone || !is_reshape(graph_.node(before))) break;
      source = graph_.node(before).inputs[0];
    }
    const ops::Attrs attrs = ops::ReshapeAttrs{*target};
    const ir::Node& node = graph_.node(id);
    const bool same = node.op == &ops::kReshape && node.attrs == attrs && node.late.empty() && node.inputs[0] == source;
    if (!same) STROP_TRY(rewrite(id, ops::kReshape, attrs, source));
    if (is_identity(id)) remove(id);
    return {};
  }

  ir::Graph& graph_;
  bool changed_ = false;
};

Result<bool> run(ir::Graph& graph, const PassContext&) { return Canceller(graph).run(); }

}  // namespace

extern const Pass kCancelViews;
const Pass kCancelViews = {"cancel_views", "cancels and merges transposes and reshapes", run, &kEnabled};

}  // namespace strop::passes
