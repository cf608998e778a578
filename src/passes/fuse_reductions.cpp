/// Pointwise work beside reductions is done where their lines are read and written: what makes the operand becomes the
/// prologue, what is made of the result the epilogue of the reduction, softmax or normalisation. Where a residual sum
/// before a layer normalisation has other users, it becomes the operator's second result. Programs round where the
/// single operators rounded, so that the results stay the same bit by bit.
///
/// Only what kernels do as fast: f32 between program and operator, lines long enough that starting a program on each
/// does not matter, and enough lines to share out.
#include <algorithm>

#include "ops/norm/norm.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;
using ops::ScalarProgram;

constexpr Knob<bool> kEnabled{
    {.name = "passes.fuse_reductions",
     .help = "pointwise work becomes prologue and epilogue of reductions, softmax and normalisations"}};

/// Lines shorter than this are better done in one go by a step of their own.
constexpr int64_t kMinLine = 64;
/// Groups of channels that kernels share out among threads; with fewer, pointwise steps use more threads.
constexpr int64_t kMinGroups = 8;
constexpr int32_t kMaxOperands = 8;
constexpr size_t kMaxInstructions = 96;

/// A reduction as this pass sees it.
struct Host {
  ops::FusedPrograms programs;
  int64_t line_axes = 1;         ///< of the operand
  int64_t result_line_axes = 1;  ///< of the result
  bool takes_prologue = true;
  bool takes_epilogue = true;
};

bool is_f32(const TensorType* type) { return type && type->dtype == DType::F32 && type->layout == Layout(); }

/// Types that kernels read as fast as f32.
bool has_tiles(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::Bool ||
         (is_integer(dtype) && bit_width(dtype) >= 8);
}

std::optional<int64_t> line_length(const Dims& dims, int64_t axes) {
  const auto line = as_constants(Dims(dims.end() - axes, dims.end()));
  return line ? std::optional(element_count(*line)) : std::nullopt;
}

std::optional<Host> reduce_host(const ops::ReduceAttrs& attrs, const TensorType& x, const TensorType& result) {
  const auto lines = ops::reduce_lines(attrs, x.dims());
  if (!lines) return std::nullopt;
  Host host{attrs.programs(), lines->axes};
  // Several passes over the operand, or few tasks whose lines are columns: the prologue would run more than once, or in
  // fewer threads.
  host.takes_prologue = lines->rows && attrs.kind != ops::ReduceKind::LogSumExp;
  host.takes_epilogue = result.rank() > 0;
  return host;
}

std::optional<Host> softmax_host(const ops::SoftmaxAttrs& attrs, const TensorType& x) {
  const int64_t axes = ops::line_axes(attrs, x.rank());
  if (attrs.kind == ops::SoftmaxKind::Hardmax || !ops::groups_are_rows(attrs, x.rank())) return std::nullopt;
  return Host{attrs.programs(), axes, axes};
}

std::optional<Host> group_norm_host(const ops::GroupNormAttrs& attrs, const TensorType& x) {
  if (x.rank() < 3) return std::nullopt;
  const Dim& channels = x.dim(attrs.channels_last ? x.rank() - 1 : 1);
  const int64_t axes = ops::line_axes(attrs, x.rank());
  Host host{attrs.programs(), axes, axes};
  const int64_t tasks = attrs.groups == 0 ? channels.as_constant().value_or(1) : attrs.groups;
  host.takes_prologue = host.takes_epilogue = attrs.channels_last || tasks >= kMinGroups;
  return host;
}

std::optional<Host> host_of(const Graph& graph, const ir::Node& node) {
  if (!node.alive || !node.late.empty() || node.inputs.empty()) return std::nullopt;
  const TensorType* x = ranked(graph, node.inputs[0]);
  if (!x || x->rank() == 0) return std::nullopt;
  if (node.op == &ops::kReduce) {
    const TensorType* result = ranked(graph, node.outputs[0]);
    return result ? reduce_host(node.attrs.as<ops::ReduceAttrs>(), *x, *result) : std::nullopt;
  }
  if (node.op == &ops::kSoftmax) return softmax_host(node.attrs.as<ops::SoftmaxAttrs>(), *x);
  if (node.op == &ops::kGroupNorm) return group_norm_host(node.attrs.as<ops::GroupNormAttrs>(), *x);
  if (node.op == &ops::kLayerNorm) {
    const auto& attrs = node.attrs.as<ops::LayerNormAttrs>();
    const int64_t axes = ops::line_axes(attrs, x->rank());
    for (const size_t i : {ops::kNormScaleInput, ops::kNormBiasInput}) {
      if (i >= node.inputs.size() || node.inputs[i] == ir::kNone) continue;
      const TensorType* operand = ranked(graph, node.inputs[i]);
      if (!operand || !ops::is_row_vector(*operand, *x, axes)) return std::nullopt;
    }
    return Host{attrs.programs(), axes, axes};
  }
  return std::nullopt;
}

/// The program with operand `base` moved to the front.
ScalarProgram with_base(ScalarProgram program, int32_t base) {
  for (ops::ScalarInstr& instr : program.instrs) {
    if (instr.fn != ops::Fn::Input) continue;
    if (instr.input == base) {
      instr.input = 0;
    } else if (instr.input < base) {
      ++instr.input;
    }
  }
  return program;
}

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph), uses_(graph.uses()) {}

  Result<bool> run() {
    bool changed = false;
    for (const NodeId id : std::vector<NodeId>(graph_.order())) {
      // Results first: between two reductions the first one takes what lies there.
      for (NodeId at = id; at != ir::kNone;) {
        NodeId next = take_user(at);
        if (next == ir::kNone) next = take_producer(at);
        if (next != ir::kNone) {
          changed = true;
          uses_ = graph_.uses();
        }
        at = next;
      }
    }
    if (changed) graph_.sort();
    return changed;
  }

 private:
  const ScalarProgram& program_of(const ir::Node& node) const { return node.attrs.as<ops::PointwiseAttrs>().program; }

  bool is_pointwise(const ir::Node& node) const {
    return node.alive && node.op == &ops::kPointwise && node.outputs.size() == 1 && !program_of(node).empty();
  }

  // All operands but `base` lie along the lines of a tensor of `dims`.
  bool operands_fit(const ir::Node& pointwise, int32_t base, const Dims& dims, int64_t line_axes) const {
    for (size_t i = 0; i < pointwise.inputs.size(); ++i) {
      const TensorType* type = ranked(graph_, pointwise.inputs[i]);
      if (!type || !(type->layout == Layout()) || !has_tiles(type->dtype)) return false;
      if (static_cast<int32_t>(i) == base) continue;
      if (ops::along_line(type->dims(), dims, line_axes) == ops::AlongLine::Mixed) return false;
    }
    return true;
  }

  static bool is_short(const Dims& dims, int64_t line_axes) {
    const auto length = line_length(dims, line_axes);
    return length && *length < kMinLine;
  }

  // The only user of the result becomes the epilogue. The new node, or kNone.
  NodeId take_user(NodeId id) {
    const auto host = host_of(graph_, graph_.node(id));
    if (!host || !host->takes_epilogue) return ir::kNone;
    const ir::Node& node = graph_.node(id);
    const ValueId result = node.outputs[0];
    const auto& users = uses_[static_cast<size_t>(result)];
    if (users.size() != 1 || users[0].node == ir::kNone) return ir::kNone;
    const ir::Node& user = graph_.node(users[0].node);
    const TensorType* before = ranked(graph_, result);
    if (!is_pointwise(user) || !is_f32(before)) return ir::kNone;
    const TensorType* after = ranked(graph_, user.outputs[0]);
    if (!is_f32(after) || before->dims() != after->dims()) return ir::kNone;
    // A reduction's results are few, and done together however short their lines are.
    if (node.op != &ops::kReduce && is_short(before->dims(), host->result_line_axes)) return ir::kNone;
    if (!operands_fit(user, users[0].operand, before->dims(), host->result_line_axes)) return ir::kNone;
    const std::set<ValueId> other_results(node.outputs.begin() + 1, node.outputs.end());
    for (const ValueId input : user.inputs) {
      if (!other_results.empty() && input != result && depends_on(graph_, input, other_results)) return ir::kNone;
    }

    const ScalarProgram& own = host->programs.epilogue;
    const ScalarProgram program = own.empty() ? with_base(program_of(user), users[0].operand)
                                              : ops::simplify(ops::compose(own, program_of(user), users[0].operand));
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(host->programs.epilogue_first() + host->programs.epilogue_count(), ir::kNone);
    append_others(user, users[0].operand, inputs);
    return replace(id, users[0].node, {"epilogue", program}, std::move(inputs), node.outputs.size());
  }

  // What makes operand 0 becomes the prologue.
  NodeId take_producer(NodeId id) {
    const auto host = host_of(graph_, graph_.node(id));
    if (!host || !host->takes_prologue) return ir::kNone;
    const ir::Node& node = graph_.node(id);
    const ValueId value = node.inputs[0];
    const NodeId before = producer(graph_, value);
    if (before == ir::kNone || !is_pointwise(graph_.node(before)) || !is_f32(ranked(graph_, value))) return ir::kNone;
    const ir::Node& first = graph_.node(before);
    const Dims& dims = ranked(graph_, value)->dims();
    const auto base = base_operand(first, dims);
    if (!base || is_short(dims, host->line_axes) || !operands_fit(first, *base, dims, host->line_axes))
      return ir::kNone;
    const bool shared = uses_[static_cast<size_t>(value)].size() != 1;
    if (shared && !may_share(node, value)) return ir::kNone;

    const ScalarProgram& own = host->programs.prologue;
    const ScalarProgram made = with_base(program_of(first), *base);
    const ScalarProgram program = own.empty() ? made : ops::simplify(ops::compose(made, own, 0));
    std::vector<ValueId> inputs = {first.inputs[static_cast<size_t>(*base)]};
    inputs.insert(inputs.end(), node.inputs.begin() + 1, node.inputs.end());
    inputs.resize(std::max(inputs.size(), host->programs.own), ir::kNone);
    std::vector<ValueId> others;
    append_others(first, *base, others);
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(host->programs.own), others.begin(), others.end());
    const size_t outputs = std::max<size_t>(node.outputs.size(), shared ? ops::kNormSumOutput + 1 : 1);
    return replace(before, id, {"prologue", program}, std::move(inputs), outputs);
  }

  // A layer normalisation can give the sum to its other users, if what else it reads does not come from them.
  bool may_share(const ir::Node& node, ValueId sum) const {
    if (node.op != &ops::kLayerNorm || !node.attrs.as<ops::LayerNormAttrs>().prologue.empty()) return false;
    if (node.outputs.size() > ops::kNormSumOutput &&
        !uses_[static_cast<size_t>(node.outputs[ops::kNormSumOutput])].empty())
      return false;
    return std::none_of(node.inputs.begin() + 1, node.inputs.end(),
                        [&](ValueId input) { return depends_on(graph_, input, {sum}); });
  }

  // An operand as large as the result, f32 if there is one.
  std::optional<int32_t> base_operand(const ir::Node& pointwise, const Dims& dims) const {
    std::optional<int32_t> found;
    for (size_t i = 0; i < pointwise.inputs.size(); ++i) {
      const TensorType* type = ranked(graph_, pointwise.inputs[i]);
      if (!type || type->dims() != dims) continue;
      if (!found || (type->dtype == DType::F32 &&
                     ranked(graph_, pointwise.inputs[static_cast<size_t>(*found)])->dtype != DType::F32))
        found = static_cast<int32_t>(i);
    }
    return found;
  }

  static void append_others(const ir::Node& pointwise, int32_t base, std::vector<ValueId>& inputs) {
    for (size_t i = 0; i < pointwise.inputs.size(); ++i) {
      if (static_cast<int32_t>(i) != base) inputs.push_back(pointwise.inputs[i]);
    }
  }

  struct NewProgram {
    std::string_view field;
    const ScalarProgram& program;
  };

  // One node that does what `first` and then `last` did; one of the two is the reduction.
  NodeId replace(NodeId first, NodeId last, const NewProgram& with, std::vector<ValueId> inputs, size_t outputs) {
    if (with.program.input_count > kMaxOperands || with.program.instrs.size() > kMaxInstructions) return ir::kNone;
    const bool is_epilogue = with.field == "epilogue";
    const ir::Node reduction = graph_.node(is_epilogue ? first : last);  // a copy: adding nodes moves them
    auto attrs = reduction.attrs.with(with.field, with.program);
    STROP_CHECK(attrs.ok(), "{} has no {}", reduction.op->name, with.field);
    auto made = graph_.add_node({.op = reduction.op,
                                 .attrs = *std::move(attrs),
                                 .inputs = std::move(inputs),
                                 .output_count = outputs,
                                 .sources = merged_sources(graph_.node(first).sources, graph_.node(last).sources)});
    if (!made.ok()) return ir::kNone;  // the program does not fit this operator
    const ir::Node& fused = graph_.node(*made);
    if (graph_.value(fused.outputs[0]).type != graph_.value(graph_.node(last).outputs[0]).type) {
      graph_.erase(*made);
      return ir::kNone;
    }
    const std::vector<ValueId> now = fused.outputs;
    graph_.replace_uses(graph_.node(last).outputs[0], now[0]);
    for (size_t i = 1; i < reduction.outputs.size(); ++i) graph_.replace_uses(reduction.outputs[i], now[i]);
    const ValueId between = graph_.node(first).outputs[0];
    graph_.erase(last);
    if (!is_epilogue && now.size() > ops::kNormSumOutput) graph_.replace_uses(between, now[ops::kNormSumOutput]);
    graph_.erase(first);
    return *made;
  }

  Graph& graph_;
  std::vector<std::vector<Graph::Use>> uses_;  // as of the latest change
};

Result<bool> run(Graph& graph, const PassContext&) { return Fuser(graph).run(); }

}  // namespace

extern const Pass kFuseReductions;
const Pass kFuseReductions{.name = "fuse_reductions",
                           .summary = "pointwise work becomes part of the reductions beside it",
                           .run = run,
                           .enabled = &kEnabled};

}  // namespace strop::passes
