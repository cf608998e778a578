// Pointwise work on the result of a convolution or matrix product is done where the result is made: bias, activation
// and residual become the operator's epilogue.
#include <algorithm>

#include "ops/conv/conv.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

enum class Reach : uint8_t { Simple, All };
constexpr std::string_view kReachNames[] = {"simple", "all"};
constexpr Knob<bool> kEnabled{
    {.name = "passes.fuse_epilogues",
     .help = "bias, activation and residual become part of the convolution or matmul before them"}};
constexpr Knob<Reach> kReach{
    {.name = "passes.fuse_epilogues.reach",
     .help = "which epilogues: additions with a clamp (done in registers), or any pointwise program",
     .default_value = "all",
     .values = kReachNames,
     .when_knob = "passes.fuse_epilogues",
     .when_value = "on"}};

// Where an operator keeps its epilogue.
struct Host {
  const ops::ScalarProgram* epilogue = nullptr;
  size_t first_operand = 0;  // among the node's inputs
};

std::optional<Host> host_of(const ir::Node& node) {
  if (node.op == &ops::kMatMul) return Host{&node.attrs.as<ops::MatMulAttrs>().epilogue, ops::kMatMulEpilogueInput};
  if (node.op == &ops::kConv) return Host{&node.attrs.as<ops::ConvAttrs>().epilogue, ops::kConvEpilogueInput};
  return std::nullopt;
}

ops::ScalarProgram identity(DType dtype) {
  ops::ScalarProgram program;
  program.outputs = {program.add_input(0, dtype)};
  return program;
}

// The result's sum, before the epilogue.
DType sum_dtype(const Graph& graph, const ir::Node& node) { return graph.value(node.inputs[0]).type.tensor.dtype; }

class Fuser {
 public:
  Fuser(Graph& graph, Reach reach) : graph_(graph), reach_(reach), uses_(graph.uses()) {}

  Result<bool> run() {
    bool changed = false;
    // Later producers first: a residual joins the one whose other operand is ready by then. Chains (bias, then
    // residual, then activation) continue with the node that was made.
    const std::vector<NodeId> order = graph_.order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      NodeId at = *it;
      while (at != ir::kNone) {
        STROP_ASSIGN(at, fuse(at));
        if (at == ir::kNone) break;
        changed = true;
        uses_ = graph_.uses();
      }
    }
    if (changed) graph_.sort();
    return changed;
  }

 private:
  // The node that does the work of both, or kNone.
  Result<NodeId> fuse(NodeId id) {
    if (!host_of(graph_.node(id))) return ir::kNone;
    const ir::Node node = graph_.node(id);  // a copy: adding nodes moves them
    if (!node.alive || !node.late.empty() || node.outputs.size() != 1) return ir::kNone;
    if (!is_float(sum_dtype(graph_, node))) return ir::kNone;  // kernels of integer products have no epilogue
    const auto host = host_of(node);
    if (!host) return ir::kNone;
    const ValueId result = node.outputs[0];
    const auto& users = uses_[static_cast<size_t>(result)];
    if (users.size() != 1 || users[0].node == ir::kNone) return ir::kNone;
    const NodeId user_id = users[0].node;
    const ir::Node user = graph_.node(user_id);
    if (user.op != &ops::kPointwise || user.outputs.size() != 1) return ir::kNone;
    const TensorType* before = ranked(graph_, result);
    const TensorType* after = ranked(graph_, user.outputs[0]);
    if (!before || !after || before->dims() != after->dims()) return ir::kNone;
    // With a single use, no other operand of the user can depend on the result: fusing makes no cycle.

    const ops::ScalarProgram first = host->epilogue->empty() ? identity(sum_dtype(graph_, node)) : *host->epilogue;
    const ops::ScalarProgram program =
        ops::simplify(ops::compose(first, user.attrs.as<ops::PointwiseAttrs>().program, users[0].operand));
    if (program.input_count > 8) return ir::kNone;
    if (reach_ == Reach::Simple && !ops::match_simple_epilogue(program)) return ir::kNone;
    if (!operands_fit(node, user, users[0].operand, before->dims())) return ir::kNone;

    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(std::max(inputs.size(), host->first_operand), ir::kNone);
    inputs.resize(host->first_operand + static_cast<size_t>(first.input_count) - 1, ir::kNone);
    for (size_t i = 0; i < user.inputs.size(); ++i) {
      if (static_cast<int32_t>(i) != users[0].operand) inputs.push_back(user.inputs[i]);
    }
    STROP_ASSIGN(ops::Attrs attrs, node.attrs.with("epilogue", program));
    const ir::Graph::NewNode fused{.op = node.op,
                                   .attrs = std::move(attrs),
                                   .inputs = std::move(inputs),
                                   .sources = merged_sources(node.sources, user.sources)};
    auto made = graph_.add_node(fused);
    if (!made.ok()) return ir::kNone;  // the epilogue does not fit this operator
    if (graph_.value(graph_.node(*made).outputs[0]).type != graph_.value(user.outputs[0]).type) {
      graph_.erase(*made);
      return ir::kNone;
    }
    const ValueId old = graph_.node(user_id).outputs[0];
    graph_.replace_uses(old, graph_.node(*made).outputs[0]);
    graph_.erase(user_id);
    graph_.erase(id);
    return *made;
  }

  // Kernels find operands beside the result's rows and channels; others are left to a step of their own. In a
  // channels-first convolution only what is one value per element or channel can be reached.
  bool operands_fit(const ir::Node& node, const ir::Node& user, int32_t fused_operand, const Dims& result) const {
    const bool first = node.op == &ops::kConv && !node.attrs.as<ops::ConvAttrs>().output_channels_last;
    for (size_t i = 0; i < user.inputs.size(); ++i) {
      if (static_cast<int32_t>(i) == fused_operand) continue;
      const TensorType* type = ranked(graph_, user.inputs[i]);
      if (!type || type->dtype != DType::F32) return false;
      if (!ops::classify_epilogue_operand(type->dims(), result, first ? 1 : result.size() - 1)) return false;
    }
    return !first || ops::match_simple_epilogue(user.attrs.as<ops::PointwiseAttrs>().program).has_value();
  }

  Graph& graph_;
  Reach reach_;
  std::vector<std::vector<Graph::Use>> uses_;  // as of the latest change
};

Result<bool> run(Graph& graph, const PassContext& ctx) { return Fuser(graph, ctx.route.get(kReach)).run(); }

constexpr const KnobInfo* kKnobs[] = {&kReach.info};

}  // namespace

extern const Pass kFuseEpilogues;
const Pass kFuseEpilogues{.name = "fuse_epilogues",
                          .summary = "bias, activation and residual become epilogues of convolution and matmul",
                          .run = run,
                          .enabled = &kEnabled,
                          .knobs = kKnobs};

}  // namespace strop::passes
