// Batch normalisation that no convolution could take becomes a multiplication and an addition per channel, which fuse
// with what is around them. Scale and shift are computed in double and rounded once.
#include "ops/norm/norm.h"
#include "ops/pointwise/pointwise.h"
#include "passes/batch_norm.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

constexpr Knob<bool> kEnabled{
    {.name = "passes.lower_batch_norm",
     .help = "batch normalisation with constant parameters becomes a multiplication and an addition per channel",
     .effect = Effect::Numerics}};

Result<bool> lower(Graph& graph, NodeId id) {
  const ir::Node node = graph.node(id);
  if (node.op != &ops::kBatchNorm || node.outputs.size() != 1) return false;
  const TensorType* found = ranked(graph, node.inputs[0]);
  if (!found || found->rank() < 2 || !is_float(found->dtype)) return false;
  const DType dtype = found->dtype;
  const int64_t rank = found->rank();
  const auto affine = batch_norm_affine(graph, node);
  if (!affine) return false;
  // A constant [C, 1, …], which broadcasts along axis 1.
  const auto channel_constant = [&](const std::vector<double>& values, const char* recipe) {
    std::vector<int64_t> dims(static_cast<size_t>(rank) - 1, 1);
    dims[0] = static_cast<int64_t>(values.size());
    ir::Constant constant{store_f64(dtype, std::move(dims), values), {}, recipe};
    add_origins(constant, affine->sources);
    return graph.add_constant(std::move(constant));
  };
  const ValueId scales = channel_constant(affine->scale, "batch norm's scale");
  const ValueId shifts = channel_constant(affine->shift, "batch norm's shift");
  ops::ScalarProgram program;
  const int32_t x = program.add_input(0, dtype);
  const int32_t a = program.add_input(1, dtype);
  const int32_t b = program.add_input(2, dtype);
  program.outputs = {program.add(ops::Fn::Add, {program.add(ops::Fn::Mul, {x, a}), b})};
  STROP_ASSIGN(const ValueId result, graph.add({.op = &ops::kPointwise,
                                                .attrs = ops::PointwiseAttrs{std::move(program)},
                                                .inputs = {node.inputs[0], scales, shifts},
                                                .sources = node.sources}));
  graph.replace_uses(node.outputs[0], result);
  graph.erase(id);
  return true;
}

Result<bool> run(Graph& graph, const PassContext&) {
  bool changed = false;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    STROP_ASSIGN(const bool lowered, lower(graph, id));
    changed = changed || lowered;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace

extern const Pass kLowerBatchNorm;
const Pass kLowerBatchNorm{.name = "lower_batch_norm",
                           .summary = "batch normalisation becomes a multiplication and an addition per channel",
                           .run = run,
                           .enabled = &kEnabled};

}  // namespace strop::passes
