// A scale and shift per channel after a convolution goes into its weights and bias: batch normalisation, and
// multiplications, divisions, additions and subtractions of constants. Computed in double, rounded once.
#include <algorithm>
#include <cmath>

#include "ops/conv/conv.h"
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
    {.name = "passes.fold_affine",
     .help = "batch normalisation and other constant scales and shifts per channel go into the convolution before them",
     .effect = Effect::Numerics}};

using Affine = ChannelAffine;

// The values of a constant that has one element per channel of an [N, C, spatial…] tensor, or one for all.
std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId value, int64_t channels, int64_t rank) {
  const Tensor* tensor = graph.constant_tensor(value);
  if (!tensor || !is_float(tensor->dtype())) return std::nullopt;
  std::vector<double> values = load_f64(*tensor);
  if (tensor->count() == 1 && tensor->rank() <= rank)
    return std::vector<double>(static_cast<size_t>(channels), values[0]);
  const int64_t channel_axis = tensor->rank() - (rank - 1);  // its axis that lines up with axis 1
  if (channel_axis < 0 || channel_axis >= tensor->rank() || tensor->dim(channel_axis) != channels ||
      tensor->count() != channels)
    return std::nullopt;
  return values;
}

std::optional<Affine> batch_norm(const Graph& graph, const ir::Node& node, int64_t channels) {
  auto affine = batch_norm_affine(graph, node);
  if (affine && static_cast<int64_t>(affine->scale.size()) != channels) return std::nullopt;
  return affine;
}

// One function of the convolution's result and a constant.
std::optional<Affine> pointwise(const Graph& graph, const ir::Node& node, int32_t operand, int64_t channels,
                                int64_t rank) {
  const ops::ScalarProgram& program = node.attrs.as<ops::PointwiseAttrs>().program;
  if (program.outputs.size() != 1 || node.inputs.size() > 2) return std::nullopt;
  const ops::ScalarInstr& instr = program.instrs[static_cast<size_t>(program.outputs[0])];
  if (ops::arity(instr.fn) != 2) return std::nullopt;
  const auto& left = program.instrs[static_cast<size_t>(instr.args[0])];
  const auto& right = program.instrs[static_cast<size_t>(instr.args[1])];
  const auto is_result = [&](const ops::ScalarInstr& side) {
    return side.fn == ops::Fn::Input && side.input == operand;
  };
  const bool first = is_result(left);
  if (first == is_result(right)) return std::nullopt;
  const ops::ScalarInstr& other = first ? right : left;
  Affine affine;
  std::optional<std::vector<double>> values;
  if (other.fn == ops::Fn::Constant) {
    values = std::vector<double>(static_cast<size_t>(channels), other.number);
  } else if (other.fn == ops::Fn::Input) {
    const ValueId constant = node.inputs[static_cast<size_t>(other.input)];
    values = per_channel(graph, constant, channels, rank);
    if (values) affine.sources.push_back(graph.value(constant).constant.get());
  }
  if (!values) return std::nullopt;
  for (const double v : *values) {
    double scale = 1;
    double shift = 0;
    switch (instr.fn) {
      case ops::Fn::Mul: scale = v; break;
      case ops::Fn::Div:
        if (!first) return std::nullopt;
        scale = 1 / v;
        break;
      case ops::Fn::Add: shift = v; break;
      case ops::Fn::Sub:
        scale = first ? 1 : -1;
        shift = first ? -v : v;
        break;
      default: return std::nullopt;
    }
    // 0 * inf is not 0, and what is not finite must show where it did.
    if (!std::isfinite(scale) || !std::isfinite(shift) || scale == 0) return std::nullopt;
    affine.scale.push_back(scale);
    affine.shift.push_back(shift);
  }
  return affine;
}

std::string with_step(const std::string& recipe, std::string_view step) {
  return recipe.empty() ? std::string(step) : fmt::format("{}; {}", recipe, step);
}

// Weights [M, C/group, …] (transposed: [C, M/group, …]) times scale[m].
Tensor scaled_weights(const Tensor& weights, const ops::ConvAttrs& attrs, const std::vector<double>& scale,
                      Threads& threads) {
  const int64_t rows = attrs.transposed ? weights.dim(0) * weights.dim(1) : weights.dim(0);
  const int64_t inner = weights.count() / rows;
  const int64_t per_group = attrs.transposed ? weights.dim(1) : weights.dim(0);
  const int64_t group_inputs = attrs.transposed ? weights.dim(0) / attrs.group : 1;
  const auto scale_of = [&](int64_t row) {
    const int64_t channel = attrs.transposed ? row / per_group / group_inputs * per_group + row % per_group : row;
    return scale[static_cast<size_t>(channel)];
  };
  if (weights.dtype() == DType::F32) {
    Tensor scaled = Tensor::uninitialized(DType::F32, weights.dims());
    const auto* from = weights.data<float>();
    auto* to = scaled.mutable_data<float>();
    parallel_for(threads, rows, std::max<int64_t>(1, (1 << 16) / inner), [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const double factor = scale_of(row);
        for (int64_t i = row * inner; i < (row + 1) * inner; ++i) to[i] = static_cast<float>(from[i] * factor);
      }
    });
    return scaled;
  }
  std::vector<double> values = load_f64(weights);
  for (int64_t i = 0; i < weights.count(); ++i) values[static_cast<size_t>(i)] *= scale_of(i / inner);
  return store_f64(weights.dtype(), weights.dims(), values);
}

Result<bool> fold(Graph& graph, NodeId id, const std::vector<std::vector<Graph::Use>>& uses, Threads& threads) {
  const ir::Node node = graph.node(id);
  const auto& attrs = node.attrs.as<ops::ConvAttrs>();
  const auto& users = uses[static_cast<size_t>(node.outputs[0])];
  const TensorType* type = ranked(graph, node.outputs[0]);
  const bool plain = attrs.epilogue.empty() && !attrs.output_channels_last && graph.is_constant(node.inputs[1]);
  if (!plain || !type || !is_float(type->dtype) || users.size() != 1 || users[0].node == ir::kNone ||
      !type->dim(1).is_constant())
    return false;
  const int64_t channels = type->dim(1).constant();
  const bool has_bias = node.inputs.size() > ops::kConvBiasInput && node.inputs[ops::kConvBiasInput] != ir::kNone;
  if (channels == 0 || (has_bias && !graph.is_constant(node.inputs[ops::kConvBiasInput]))) return false;

  const ir::Node user = graph.node(users[0].node);
  std::optional<Affine> affine;
  if (user.op == &ops::kBatchNorm && users[0].operand == 0 && user.outputs.size() == 1)
    affine = batch_norm(graph, user, channels);
  if (user.op == &ops::kPointwise && graph.value(user.outputs[0]).type == graph.value(node.outputs[0]).type) {
    affine = pointwise(graph, user, users[0].operand, channels, type->rank());
  }
  if (!affine) return false;

  ir::Constant weights = *graph.value(node.inputs[1]).constant;
  weights.tensor = scaled_weights(weights.tensor, attrs, affine->scale, threads);
  weights.recipe = with_step(weights.recipe, "scaled per channel");
  ir::Constant bias{Tensor(type->dtype, {channels}), {}, ""};
  if (has_bias) bias = *graph.value(node.inputs[ops::kConvBiasInput]).constant;
  std::vector<double> shifts = load_f64(bias.tensor);
  for (size_t c = 0; c < shifts.size(); ++c) shifts[c] = shifts[c] * affine->scale[c] + affine->shift[c];
  bias.tensor = store_f64(type->dtype, {channels}, shifts);
  bias.recipe = with_step(bias.recipe, "scaled and shifted per channel");
  add_origins(weights, affine->sources);
  add_origins(bias, affine->sources);

  ir::Graph::NewNode folded{
      .op = node.op, .attrs = node.attrs, .inputs = node.inputs, .sources = merged_sources(node.sources, user.sources)};
  folded.inputs.resize(ops::kConvEpilogueInput, ir::kNone);
  folded.inputs[1] = graph.add_constant(std::move(weights));
  folded.inputs[ops::kConvBiasInput] = graph.add_constant(std::move(bias));
  STROP_ASSIGN(const ValueId result, graph.add(std::move(folded)));
  graph.replace_uses(user.outputs[0], result);
  graph.erase(users[0].node);
  graph.erase(id);
  return true;
}

Result<bool> run(Graph& graph, const PassContext& ctx) {
  bool changed = false;
  for (bool again = true; again;) {
    again = false;
    const auto uses = graph.uses();
    for (const NodeId id : std::vector<NodeId>(graph.order())) {
      if (graph.node(id).op != &ops::kConv || !graph.node(id).alive) continue;
      // Folding replaces the convolution by a new node: its own uses are looked at in the next round.
      STROP_ASSIGN(const bool folded, fold(graph, id, uses, ctx.threads));
      again = again || folded;
    }
    if (again) graph.sort();
    changed = changed || again;
  }
  return changed;
}

}  // namespace

extern const Pass kFoldAffine;
const Pass kFoldAffine{.name = "fold_affine",
                       .summary = "constant scales and shifts per channel go into the convolution before them",
                       .run = run,
                       .enabled = &kEnabled};

}  // namespace strop::passes
