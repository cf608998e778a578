// Attention as exporters write it, softmax(scale * q · kᵀ + masks) · v, becomes one operator that never stores the
// scores. The transposes that split and merge heads vanish in its layouts.
#include <algorithm>

#include "ops/attention/attention.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

constexpr Knob<bool> kEnabled{{.name = "passes.match_attention",
                               .help = "matmul, scale, mask, softmax, matmul become one attention step",
                               .effect = Effect::Numerics}};

/// What was found, from the result down.
struct Found {
  ops::AttentionAttrs attrs;
  ValueId q = ir::kNone, k = ir::kNone, v = ir::kNone;
  std::vector<ValueId> masks;
  std::vector<std::string> sources;
};

class Matcher {
 public:
  explicit Matcher(Graph& graph) : graph_(graph), uses_(graph) {}

  Result<bool> run() {
    bool changed = false;
    for (const NodeId id : std::vector<NodeId>(graph_.order())) {
      auto found = match(id);
      if (!found) continue;
      STROP_ASSIGN(const bool replaced, replace(id, std::move(*found)));
      changed = changed || replaced;
    }
    if (changed) graph_.sort();
    return changed;
  }

 private:
  // A matmul of two f32 matrices with nothing else to it.
  bool is_plain_matmul(NodeId id) const {
    if (id == ir::kNone || !graph_.node(id).alive || graph_.node(id).op != &ops::kMatMul) return false;
    const auto& attrs = graph_.node(id).attrs.as<ops::MatMulAttrs>();
    const TensorType* type = ranked(graph_, graph_.node(id).outputs[0]);
    return attrs.epilogue.empty() && !attrs.trans_a && !attrs.trans_b && type && type->rank() >= 3;
  }

  std::optional<Found> match(NodeId id) const {
    if (!is_plain_matmul(id)) return std::nullopt;
    const ir::Node& last = graph_.node(id);
    Found found;
    found.sources = last.sources;
    found.v = last.inputs[1];
    const NodeId softmax = producer(graph_, last.inputs[0], ops::kSoftmax);
    if (softmax == ir::kNone || !uses_.single(last.inputs[0])) return std::nullopt;
    const auto& attrs = graph_.node(softmax).attrs.as<ops::SoftmaxAttrs>();
    const TensorType* scores = ranked(graph_, last.inputs[0]);
    const bool last_axis = scores && (attrs.axis == -1 || attrs.axis == scores->rank() - 1);
    if (attrs.kind != ops::SoftmaxKind::Softmax || !last_axis || !attrs.prologue.empty() || !attrs.epilogue.empty())
      return std::nullopt;
    found.sources = merged_sources(graph_.node(softmax).sources, found.sources);
    if (!match_scores(graph_.node(softmax).inputs[0], found)) return std::nullopt;
    take_layouts(found);
    return found;
  }

  // From the softmax's operand down to the first matmul: masks are added last, scales come first.
  bool match_scores(ValueId value, Found& found) const {
    bool scaled = false;
    while (uses_.single(value)) {
      const NodeId id = producer(graph_, value);
      if (id == ir::kNone) return false;
      const ir::Node& node = graph_.node(id);
      found.sources = merged_sources(node.sources, found.sources);
      if (is_plain_matmul(id)) {
        found.q = node.inputs[0];
        found.k = node.inputs[1];
        found.attrs.k_transposed = true;
        return true;
      }
      if (node.op != &ops::kPointwise) return false;
      const ValueId next = take_scale(node, found);
      if (next != ir::kNone) {
        scaled = true;
        value = next;
        continue;
      }
      const ValueId unmasked = scaled ? ir::kNone : take_mask(node, found);
      if (unmasked == ir::kNone) return false;
      value = unmasked;
    }
    return false;
  }

  // Operand of a one-function program, or the constant that it is.
  struct Side {
    ValueId value = ir::kNone;
    std::optional<double> number;
  };
  Side side(const ir::Node& node, const ops::ScalarProgram& program, int32_t index) const {
    const ops::ScalarInstr& instr = program.instrs[static_cast<size_t>(index)];
    if (instr.fn == ops::Fn::Constant) return {ir::kNone, instr.number};
    if (instr.fn != ops::Fn::Input) return {};
    const ValueId value = node.inputs[static_cast<size_t>(instr.input)];
    return {value, constant_scalar(graph_, value)};
  }

  // x * c, c * x or x / c: the operand x, with the scale noted; kNone otherwise.
  ValueId take_scale(const ir::Node& node, Found& found) const {
    const ops::ScalarProgram& program = node.attrs.as<ops::PointwiseAttrs>().program;
    if (program.outputs.size() != 1) return ir::kNone;
    const ops::ScalarInstr& instr = program.instrs[static_cast<size_t>(program.outputs[0])];
    if (instr.dtype != DType::F32 || (instr.fn != ops::Fn::Mul && instr.fn != ops::Fn::Div)) return ir::kNone;
    const Side left = side(node, program, instr.args[0]);
    const Side right = side(node, program, instr.args[1]);
    if (right.number && left.value != ir::kNone && !left.number) {
      found.attrs.scale =
          instr.fn == ops::Fn::Mul ? found.attrs.scale * *right.number : found.attrs.scale / *right.number;
      return left.value;
    }
    if (instr.fn == ops::Fn::Mul && left.number && right.value != ir::kNone && !right.number) {
      found.attrs.scale *= *left.number;
      return right.value;
    }
    return ir::kNone;
  }

  // x + mask: x is the side that has the scores' shape by itself and leads to the matmul.
  ValueId take_mask(const ir::Node& node, Found& found) const {
    const ops::ScalarProgram& program = node.attrs.as<ops::PointwiseAttrs>().program;
    if (program.outputs.size() != 1 || node.inputs.size() != 2) return ir::kNone;
    const ops::ScalarInstr& instr = program.instrs[static_cast<size_t>(program.outputs[0])];
    if (instr.fn != ops::Fn::Add || instr.dtype != DType::F32) return ir::kNone;
    const Side left = side(node, program, instr.args[0]);
    const Side right = side(node, program, instr.args[1]);
    if (left.value == ir::kNone || right.value == ir::kNone || left.value == right.value) return ir::kNone;
    const TensorType* result = ranked(graph_, node.outputs[0]);
    for (const auto& [x, mask] : {std::pair(left.value, right.value), std::pair(right.value, left.value)}) {
      const TensorType* type = ranked(graph_, x);
      const NodeId from = producer(graph_, x);
      if (!type || !result || type->dims() != result->dims() || from == ir::kNone || !uses_.single(x)) continue;
      if (graph_.node(from).op != &ops::kMatMul && graph_.node(from).op != &ops::kPointwise) continue;
      found.masks.push_back(mask);
      return x;
    }
    return ir::kNone;
  }

  // The operand of a transpose by `perm`, or kNone.
  ValueId untransposed(ValueId value, const std::vector<int64_t>& perm) const {
    const NodeId id = producer(graph_, value, ops::kTranspose);
    if (id == ir::kNone) return ir::kNone;
    return graph_.node(id).attrs.as<ops::TransposeAttrs>().perm == perm ? graph_.node(id).inputs[0] : ir::kNone;
  }

  // Operands are read where they lie before heads were moved outward and keys transposed.
  void take_layouts(Found& found) const {
    const std::vector<int64_t> heads_out = {0, 2, 1, 3};
    if (const ValueId q = untransposed(found.q, heads_out); q != ir::kNone) {
      found.q = q;
      found.attrs.q_heads_inner = true;
    }
    if (const ValueId v = untransposed(found.v, heads_out); v != ir::kNone) {
      found.v = v;
      found.attrs.v_heads_inner = true;
    }
    for (const auto& perm : {std::vector<int64_t>{0, 1, 3, 2}, std::vector<int64_t>{0, 2, 1}}) {
      const ValueId k = untransposed(found.k, perm);
      if (k == ir::kNone) continue;
      found.k = k;
      found.attrs.k_transposed = false;
      if (const ValueId inner = untransposed(k, heads_out); inner != ir::kNone) {
        found.k = inner;
        found.attrs.k_heads_inner = true;
      }
      return;
    }
    if (const ValueId k = untransposed(found.k, {0, 2, 3, 1}); k != ir::kNone) {
      found.k = k;
      found.attrs.k_transposed = false;
      found.attrs.k_heads_inner = true;
    }
  }

  Result<bool> replace(NodeId id, Found found) {
    ValueId result = graph_.node(id).outputs[0];
    NodeId merged = ir::kNone;  // the transpose that brings heads back inside
    const auto uses = graph_.uses();
    const auto& users = uses[static_cast<size_t>(result)];
    if (users.size() == 1 && users[0].node != ir::kNone && graph_.node(users[0].node).op == &ops::kTranspose &&
        graph_.node(users[0].node).attrs.as<ops::TransposeAttrs>().perm == std::vector<int64_t>{0, 2, 1, 3}) {
      merged = users[0].node;
      found.attrs.out_heads_inner = true;
      found.sources = merged_sources(found.sources, graph_.node(merged).sources);
    }
    std::vector<ValueId> inputs = {found.q, found.k, found.v};
    inputs.insert(inputs.end(), found.masks.begin(), found.masks.end());
    auto made = graph_.add_node(
        {.op = &ops::kAttention, .attrs = found.attrs, .inputs = std::move(inputs), .sources = found.sources});
    if (!made.ok()) return false;  // broadcasting that the operator does not have
    const ValueId old = merged == ir::kNone ? result : graph_.node(merged).outputs[0];
    if (graph_.value(graph_.node(*made).outputs[0]).type != graph_.value(old).type) {
      graph_.erase(*made);
      return false;
    }
    graph_.replace_uses(old, graph_.node(*made).outputs[0]);
    if (merged != ir::kNone) graph_.erase(merged);
    graph_.erase(id);
    return true;
  }

  Graph& graph_;
  UseCounts uses_;
};

Result<bool> run(Graph& graph, const PassContext&) { return Matcher(graph).run(); }

}  // namespace

extern const Pass kMatchAttention;
const Pass kMatchAttention{.name = "match_attention",
                           .summary = "matmul, scale, mask, softmax, matmul become one attention step",
                           .run = run,
                           .enabled = &kEnabled};

}  // namespace strop::passes
