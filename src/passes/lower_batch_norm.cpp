// Batch normalisation that no convolution could take becomes a multiplication and an addition per channel, which fuse
// with what is around them. Scale and shift are computed in double and rounded once.
#include <cmath>

#include "ops/norm/norm.h"
#include "ops/pointwise/pointwise.h"
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

// A constant [C, 1, …] that broadcasts along axis 1 of a tensor of `rank`.
ValueId channel_constant(Graph& graph, const ir::Node& node, const std::vector<double>& values, const TensorType& type,
                         std::string_view recipe) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max<int64_t>(type.rank() - 1, 1)), 1);
  dims[0] = static_cast<int64_t>(values.size());
  ir::Constant constant{store_f64(type.dtype, std::move(dims), values), {}, std::string(recipe)};
  for (size_t i = 1; i <= 4; ++i) {
    for (const std::string& origin : graph.value(node.inputs[i]).constant->origins) constant.origins.push_back(origin);
  }
  return graph.add_constant(std::move(constant));
}

Result<bool> lower(Graph& graph, NodeId id) {
  const ir::Node node = graph.node(id);
  if (node.op != &ops::kBatchNorm || node.outputs.size() != 1) return false;
  const TensorType* found = ranked(graph, node.inputs[0]);
  if (!found || found->rank() < 2 || !is_float(found->dtype)) return false;
  std::vector<std::vector<double>> parameters;
  for (size_t i = 1; i <= 4; ++i) {
    if (!graph.is_constant(node.inputs[i])) return false;
    parameters.push_back(load_f64(*graph.constant_tensor(node.inputs[i])));
  }
  const DType dtype = found->dtype;
  const double epsilon = node.attrs.as<ops::BatchNormAttrs>().epsilon;
  std::vector<double> scale;
  std::vector<double> shift;
  for (size_t c = 0; c < parameters[0].size(); ++c) {
    scale.push_back(parameters[0][c] / std::sqrt(parameters[3][c] + epsilon));
    shift.push_back(parameters[1][c] - parameters[2][c] * scale.back());
  }
  const TensorType type{dtype, found->shape, {}};
  const ValueId scales = channel_constant(graph, node, scale, type, "batch norm's scale");
  const ValueId shifts = channel_constant(graph, node, shift, type, "batch norm's shift");
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
