#include "passes/layout_choice.h"

#include <cmath>
#include <map>
#include <optional>

#include "ops/pointwise/pointwise.h"
#include "ops/transpose/transpose.h"
#include "ops/view/view.h"
#include "passes/match.h"
#include "passes/min_cut.h"

namespace strop::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

// A gain smaller than this part of the whole is not worth leaving the usual form for: races are known to about as much.
constexpr double kWorthwhile = 0.02;

int64_t nanoseconds(double us) { return std::llround(us * 1000); }

/// The network of Kolmogorov and Zabih, "What energy functions can be minimized via graph cuts?" (2004), with one node
/// more per value and direction: however many read a value in its other form, it is transposed once. The source's side
/// is channels-last, the sink's plain.
class Choice {
 public:
  Choice(const Trial& trial, StepCosts& costs)
      : graph_(trial.graph), nodes_(trial.nodes), first_new_(trial.first_new), costs_(costs) {}

  Result<std::set<NodeId>> run() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      vertex_.push_back(network_.add_node());
      for (const ValueId value : nodes_[i].outputs) made_by_[value] = i;
      by_plain_[nodes_[i].plain] = i;
    }
    STROP_TRY(add_nodes());
    STROP_TRY(add_values());
    std::set<NodeId> plain;
    if (!known_) return plain;
    const int64_t best = network_.solve();
    if (static_cast<double>(best) > (1 - kWorthwhile) * static_cast<double>(all_last_)) return plain;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!network_.on_source_side(vertex_[i])) plain.insert(nodes_[i].plain);
    }
    return plain;
  }

 private:
  // 0 and known_ = false if there is no time.
  Result<int64_t> time(NodeId id) {
    if (!known_) return 0;
    STROP_ASSIGN(const std::optional<double> us, costs_.time_us(graph_, id));
    if (!us) known_ = false;
    return us ? nanoseconds(*us) : 0;
  }

  Result<int64_t> transpose_time(ValueId value, const std::vector<int64_t>& perm) {
    STROP_ASSIGN(
        const NodeId made,
        graph_.add_node(
            {.op = &ops::kTranspose, .attrs = ops::TransposeAttrs{perm}, .inputs = {value}, .sources = {"layout"}}));
    return time(made);
  }

  Result<void> add_nodes() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const ops::Operator* op = graph_.node(nodes_[i].plain).op;
      // Element by element, or no work at all: the same in any layout.
      if (op == &ops::kPointwise || op == &ops::kReshape) continue;
      STROP_ASSIGN(const int64_t plain, time(nodes_[i].plain));
      STROP_ASSIGN(const int64_t last, time(nodes_[i].last));
      network_.add_edge(FlowNetwork::kSource, vertex_[i], plain);
      network_.add_edge(vertex_[i], FlowNetwork::kSink, last);
      all_last_ += last;
    }
    return {};
  }

  // Who reads a value: nodes with two forms by their number; `others` are plain.
  struct Readers {
    std::vector<size_t> nodes;
    bool others = false;
  };

  std::map<ValueId, Readers> readers() const {
    std::map<ValueId, Readers> result;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const ValueId value : nodes_[i].inputs) {
        if (value != ir::kNone && !graph_.is_constant(value)) result[value].nodes.push_back(i);
      }
    }
    const auto uses = graph_.uses();
    for (const auto& [value, node] : made_by_) {
      for (const Graph::Use& use : uses[static_cast<size_t>(value)]) {
        const bool is_new = use.node != ir::kNone && use.node >= first_new_;
        if (!is_new && !by_plain_.contains(use.node)) result[value].others = true;
      }
    }
    return result;
  }

  Result<void> add_values() {
    for (const auto& [value, its] : readers()) {
      const auto maker = made_by_.find(value);
      STROP_TRY(maker == made_by_.end() ? add_plain_value(value, its) : add_value(value, its, maker->second));
    }
    return {};
  }

  bool transposes(const TwoForms& node, ValueId value) const {
    const TensorType& type = graph_.value(value).type.tensor;
    return !node.reads_plain && type.has_rank() && type.rank() == static_cast<int64_t>(node.input_perm.size());
  }

  // A value that nothing makes channels-last: transposed if any of its readers is.
  Result<void> add_plain_value(ValueId value, const Readers& its) {
    int32_t shared = ir::kNone;
    for (const size_t reader : its.nodes) {
      const TwoForms& node = nodes_[reader];
      if (!transposes(node, value)) continue;
      if (shared == ir::kNone) {
        STROP_ASSIGN(const int64_t cost, transpose_time(value, node.input_perm));
        shared = network_.add_node();
        network_.add_edge(shared, FlowNetwork::kSink, cost);
        all_last_ += cost;
      }
      network_.add_edge(vertex_[reader], shared, FlowNetwork::kUncut);
    }
    return {};
  }

  Result<void> add_value(ValueId value, const Readers& its, size_t made_by) {
    const int32_t maker = vertex_[made_by];
    const std::vector<int64_t>& perm = nodes_[made_by].output_perm;
    STROP_ASSIGN(const int64_t to_last, transpose_time(value, perm));
    const int32_t wants_last = network_.add_node();
    network_.add_edge(wants_last, maker, to_last);
    for (const size_t reader : its.nodes) {
      if (transposes(nodes_[reader], value)) network_.add_edge(vertex_[reader], wants_last, FlowNetwork::kUncut);
    }
    STROP_ASSIGN(const int64_t to_plain, plain_time(value, perm));
    const int32_t wants_plain = network_.add_node();
    network_.add_edge(maker, wants_plain, to_plain);
    for (const size_t reader : its.nodes) network_.add_edge(wants_plain, vertex_[reader], FlowNetwork::kUncut);
    if (its.others) {
      network_.add_edge(wants_plain, FlowNetwork::kSink, FlowNetwork::kUncut);
      all_last_ += to_plain;
    }
    return {};
  }

  // From channels-last to plain: the inverse permutation of a tensor that lies channels-last.
  Result<int64_t> plain_time(ValueId value, const std::vector<int64_t>& perm) {
    STROP_ASSIGN(
        const ValueId last,
        graph_.add(
            {.op = &ops::kTranspose, .attrs = ops::TransposeAttrs{perm}, .inputs = {value}, .sources = {"layout"}}));
    return transpose_time(last, inverse_permutation(perm));
  }

  Graph& graph_;
  const std::vector<TwoForms>& nodes_;
  NodeId first_new_;
  StepCosts& costs_;
  FlowNetwork network_;
  std::vector<int32_t> vertex_;        // of each node
  std::map<ValueId, size_t> made_by_;  // plain result → node
  std::map<NodeId, size_t> by_plain_;
  int64_t all_last_ = 0;  // ns, with every node channels-last
  bool known_ = true;
};

}  // namespace

Result<std::set<NodeId>> choose_plain(const Trial& trial, StepCosts& costs) { return Choice(trial, costs).run(); }

}  // namespace strop::passes
