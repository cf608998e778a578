// Convolutions, pooling and what lies between them compute on channels-last tensors.
//
// Values get a second form, `last`: the same tensor with its channel axes moved behind the spatial ones. An operator
// that profits (a convolution) asks for the last form of its operand; operators that do not care (pointwise,
// concatenation, reductions, padding, slices) follow when an operand has one already. Where something needs the plain
// form again, a transpose is made, once. So whole networks are transposed at their ends only.
#include <algorithm>
#include <map>
#include <set>

#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/norm/norm.h"
#include "ops/pad/pad.h"
#include "ops/pointwise/pointwise.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"
#include "ops/view/view.h"
#include "passes/layout_choice.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

/// A value's channels-last form: axis i of `value` is axis perm[i] of the plain tensor.
struct LastForm {
  ValueId value = ir::kNone;
  std::vector<int64_t> perm;
};

// [0, 2 … r-1, 1] for one channel axis; with more channel axes (a channel dimension that was split) they all go last.
std::vector<int64_t> last_permutation(int64_t rank, int64_t channel_axes) {
  std::vector<int64_t> perm = {0};
  for (int64_t axis = 1 + channel_axes; axis < rank; ++axis) perm.push_back(axis);
  for (int64_t axis = 1; axis <= channel_axes; ++axis) perm.push_back(axis);
  return perm;
}

bool has_field(const ops::Attrs& attrs, std::string_view name) {
  const auto fields = attrs.fields();
  return std::any_of(fields.begin(), fields.end(), [&](const ops::NamedField& field) { return field.name == name; });
}

class Rewriter {
 public:
  /// `keep` stay plain.
  Rewriter(Graph& graph, std::set<NodeId> keep) : graph_(graph), keep_(std::move(keep)) {}

  bool is_worthwhile() const {
    return std::any_of(graph_.order().begin(), graph_.order().end(), [&](NodeId id) { return is_convolution(id); });
  }

  /// Gives nodes a channels-last form beside the one they have.
  Result<void> add_forms() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      if (!keep_.contains(id)) STROP_TRY(visit(id));
    }
    return {};
  }

  /// add_forms, and then the graph uses them.
  Result<bool> run() {
    STROP_TRY(add_forms());
    if (!changed_) return false;
    STROP_TRY(finish());
    graph_.sort();
    return true;
  }

  std::vector<TwoForms> take_forms() { return std::move(forms_); }

 private:
  bool is_convolution(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (node.op != &ops::kConv || !node.late.empty() || !graph_.is_constant(node.inputs[1])) return false;
    const auto& attrs = node.attrs.as<ops::ConvAttrs>();
    const TensorType* type = ranked(graph_, node.inputs[0]);
    return type && type->dtype == DType::F32 && !attrs.input_channels_last && !attrs.output_channels_last &&
           attrs.epilogue.empty();
  }

  Result<void> visit(NodeId id) {
    sources_ = graph_.node(id).sources;
    const ir::Node& node = graph_.node(id);
    if (is_convolution(id)) return visit_conv(id);
    if (!node.late.empty() || !node.regions.empty() || node.inputs.empty()) return {};
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId v) { return v != ir::kNone && last_.contains(v); });
    if (!any) return {};
    if (node.op == &ops::kPointwise) return visit_pointwise(id);
    if (node.op == &ops::kConcat) return visit_concat(id);
    if (node.op == &ops::kReshape) return visit_reshape(id);
    if (node.op == &ops::kTranspose) return visit_transpose(id);
    if (node.op == &ops::kPad || node.op == &ops::kSlice || node.op->name == "Reduce") return visit_axes(id);
    if (has_field(node.attrs, "channels_last")) return visit_flagged(id);
    return {};
  }

  Result<ValueId> emit(const ops::Operator& op, ops::Attrs attrs, std::vector<ValueId> inputs) {
    return graph_.add({.op = &op, .attrs = std::move(attrs), .inputs = std::move(inputs), .sources = sources_});
  }

  // The value with axis perm[i] as its axis i, made if need be. A value of lower rank gets leading axes of size 1
  // first.
  Result<ValueId> permuted(ValueId value, const std::vector<int64_t>& perm) {
    const auto form = last_.find(value);
    if (form != last_.end() && form->second.perm == perm) return form->second.value;
    const auto found = others_.find({value, perm});
    if (found != others_.end()) return found->second;
    const Dims own = graph_.value(value).type.tensor.dims();
    ValueId from = value;
    if (own.size() < perm.size()) {
      Dims dims(perm.size() - own.size(), Dim(1));
      dims.insert(dims.end(), own.begin(), own.end());
      STROP_ASSIGN(from, emit(ops::kReshape, ops::ReshapeAttrs{std::move(dims), false}, {value}));
    }
    STROP_ASSIGN(const ValueId made, emit(ops::kTranspose, ops::TransposeAttrs{perm}, {from}));
    // A form is what others follow, and for computed values where the plain one comes from: never another one's copy.
    if (form == last_.end() && own.size() == perm.size()) {
      last_[value] = {made, perm};
    } else {
      others_[{value, perm}] = made;
    }
    return made;
  }

  // One element broadcasts in any layout.
  bool is_one_element(ValueId value) const {
    const Dims& dims = graph_.value(value).type.tensor.dims();
    return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim == Dim(1); });
  }

  // `made` is the channels-last form of node `id`, whose operands are channels-last as input_perm says.
  void note(NodeId id, NodeId made, const std::vector<int64_t>& input_perm, const std::vector<int64_t>& output_perm) {
    const ir::Node& node = graph_.node(id);
    forms_.push_back({id, made, node.inputs, node.outputs, input_perm, output_perm, false});
  }

  void set_last(ValueId value, ValueId form, std::vector<int64_t> perm) {
    last_[value] = {form, std::move(perm)};
    made_.push_back(value);
    changed_ = true;
  }

  Result<void> visit_conv(NodeId id) {
    ir::Node node = graph_.node(id);
    auto attrs = node.attrs.as<ops::ConvAttrs>();
    const int64_t rank = graph_.value(node.inputs[0]).type.tensor.rank();
    const auto perm = last_permutation(rank, 1);
    const Dim channels = graph_.value(node.inputs[0]).type.tensor.dim(1);
    // Few channels: the kernel reads the plain layout as well as the other.
    const bool few = channels.is_constant() && channels.constant() <= 4 && attrs.group == 1 && !attrs.transposed &&
                     !last_.contains(node.inputs[0]);
    attrs.output_channels_last = true;
    if (!few) {
      attrs.input_channels_last = true;
      STROP_ASSIGN(node.inputs[0], permuted(node.inputs[0], perm));
    }
    STROP_ASSIGN(const ValueId result, emit(ops::kConv, std::move(attrs), node.inputs));
    note(id, producer(graph_, result), perm, perm);
    forms_.back().reads_plain = few;
    set_last(node.outputs[0], result, perm);
    return {};
  }

  // The form that the operands agree on: the first one found among those of the result's rank.
  const std::vector<int64_t>* common_permutation(const ir::Node& node, int64_t rank) const {
    for (const ValueId input : node.inputs) {
      const auto found = input == ir::kNone ? last_.end() : last_.find(input);
      if (found != last_.end() && static_cast<int64_t>(found->second.perm.size()) == rank) return &found->second.perm;
    }
    return nullptr;
  }

  Result<void> visit_pointwise(NodeId id) {
    ir::Node node = graph_.node(id);
    const TensorType* type = ranked(graph_, node.outputs[0]);
    if (!type) return {};
    const std::vector<int64_t>* found = common_permutation(node, type->rank());
    if (!found) return {};
    const std::vector<int64_t> perm = *found;
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return ranked(graph_, v); })) return {};
    for (ValueId& input : node.inputs) {
      if (is_one_element(input) && !last_.contains(input)) continue;
      STROP_ASSIGN(input, permuted(input, perm));
    }
    STROP_ASSIGN(const NodeId made, graph_.add_node({.op = node.op,
                                                     .attrs = node.attrs,
                                                     .inputs = node.inputs,
                                                     .output_count = node.outputs.size(),
                                                     .sources = sources_}));
    note(id, made, perm, perm);
    for (size_t i = 0; i < node.outputs.size(); ++i) set_last(node.outputs[i], graph_.node(made).outputs[i], perm);
    return {};
  }

  Result<void> visit_concat(NodeId id) {
    ir::Node node = graph_.node(id);
    const TensorType* type = ranked(graph_, node.outputs[0]);
    if (!type) return {};
    const std::vector<int64_t>* found = common_permutation(node, type->rank());
    const auto with_form =
        std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return last_.contains(v); });
    if (!found || 2 * with_form < static_cast<std::ptrdiff_t>(node.inputs.size())) return {};
    const std::vector<int64_t> perm = *found;
    const int64_t rank = type->rank();
    int64_t axis = node.attrs.as<ops::ConcatAttrs>().axis;
    if (axis < 0) axis += rank;
    for (ValueId& input : node.inputs) {
      STROP_ASSIGN(input, permuted(input, perm));
    }
    STROP_ASSIGN(
        const ValueId result,
        emit(ops::kConcat, ops::ConcatAttrs{inverse_permutation(perm)[static_cast<size_t>(axis)]}, node.inputs));
    note(id, producer(graph_, result), perm, perm);
    set_last(node.outputs[0], result, perm);
    return {};
  }

  // Operators that name axes (Pad, Slice, Reduce): the same axes under their new numbers.
  Result<void> visit_axes(NodeId id) {
    const ir::Node node = graph_.node(id);
    const auto form = last_.find(node.inputs[0]);
    if (form == last_.end()) return {};
    // Pad's second operand is its value; Reduce's belong to its programs and lie like the operand.
    if (node.inputs.size() > (node.op == &ops::kPad ? 2U : 1U)) return {};
    const LastForm from = form->second;
    const auto rank = static_cast<int64_t>(from.perm.size());
    Dims axes;
    bool keeps_rank = true;
    for (const ops::NamedField& field : node.attrs.fields()) {
      if (field.name == "axes") axes = std::get<Dims>(field.value);
      if (field.name == "keep_dims") keeps_rank = std::get<bool>(field.value);
    }
    // Spelled out, the axes can be renumbered.
    if (axes.empty()) return {};
    const auto numbers = as_constants(axes);
    if (!numbers) return {};
    const auto renumber = inverse_permutation(from.perm);
    std::vector<bool> named(static_cast<size_t>(rank), false);
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = (*numbers)[i] < 0 ? (*numbers)[i] + rank : (*numbers)[i];
      named[static_cast<size_t>(axis)] = true;
      axes[i] = Dim(renumber[static_cast<size_t>(axis)]);
    }
    STROP_ASSIGN(ops::Attrs attrs, node.attrs.with("axes", axes));
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = from.value;
    STROP_ASSIGN(
        const ValueId result,
        graph_.add({.op = node.op, .attrs = std::move(attrs), .inputs = std::move(inputs), .sources = sources_}));
    if (keeps_rank) {
      note(id, producer(graph_, result), from.perm, from.perm);
      set_last(node.outputs[0], result, from.perm);
      return {};
    }
    // The axes that remain must still be in order: then the result is the plain one.
    std::vector<int64_t> remaining;
    for (const int64_t axis : from.perm) {
      if (!named[static_cast<size_t>(axis)]) remaining.push_back(axis);
    }
    if (!std::is_sorted(remaining.begin(), remaining.end())) return {};
    note(id, producer(graph_, result), from.perm, {});
    forms_.back().outputs.clear();
    graph_.replace_uses(node.outputs[0], result);
    changed_ = true;
    return {};
  }

  Result<void> visit_flagged(NodeId id) {
    ir::Node node = graph_.node(id);
    const auto form = last_.find(node.inputs[0]);
    if (form == last_.end() || form->second.perm != last_permutation(static_cast<int64_t>(form->second.perm.size()), 1))
      return {};
    if (node.op == &ops::kGroupNorm && node.inputs.size() > ops::kNormBiasInput + 1)
      return {};  // its programs' operands
    const std::vector<int64_t> perm = form->second.perm;
    node.inputs[0] = form->second.value;
    STROP_ASSIGN(ops::Attrs attrs, node.attrs.with("channels_last", true));
    STROP_ASSIGN(const NodeId made, graph_.add_node({.op = node.op,
                                                     .attrs = std::move(attrs),
                                                     .inputs = node.inputs,
                                                     .output_count = node.outputs.size(),
                                                     .sources = sources_}));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorType* type = ranked(graph_, node.outputs[i]);
      if (!type || type->rank() != static_cast<int64_t>(perm.size())) return {};
    }
    note(id, made, perm, perm);
    for (size_t i = 0; i < node.outputs.size(); ++i) set_last(node.outputs[i], graph_.node(made).outputs[i], perm);
    return {};
  }

  // [N, C, spatial…] → [N, a, b, spatial…] and back: channels are split or merged where they lie.
  Result<void> visit_reshape(NodeId id) {
    const ir::Node node = graph_.node(id);
    const auto form = last_.find(node.inputs[0]);
    const TensorType* from = ranked(graph_, node.inputs[0]);
    const TensorType* to = ranked(graph_, node.outputs[0]);
    if (form == last_.end() || !from || !to || from->rank() < 3 || to->rank() < 3) return {};
    const int64_t change = to->rank() - from->rank();
    const int64_t channels_before = change >= 0 ? 1 : 1 - change;
    const int64_t channels_after = channels_before + change;
    if (form->second.perm != last_permutation(from->rank(), channels_before) || channels_after < 1) return {};
    const Dims spatial_before(from->dims().begin() + 1 + channels_before, from->dims().end());
    const Dims spatial_after(to->dims().begin() + 1 + channels_after, to->dims().end());
    if (!(from->dim(0) == to->dim(0)) || spatial_before != spatial_after) return {};
    Dims shape = {to->dim(0)};
    shape.insert(shape.end(), spatial_after.begin(), spatial_after.end());
    shape.insert(shape.end(), to->dims().begin() + 1, to->dims().begin() + 1 + channels_after);
    const int64_t rank = to->rank();
    STROP_ASSIGN(const ValueId result,
                 emit(ops::kReshape, ops::ReshapeAttrs{std::move(shape), false}, {form->second.value}));
    note(id, producer(graph_, result), form->second.perm, last_permutation(rank, channels_after));
    set_last(node.outputs[0], result, last_permutation(rank, channels_after));
    return {};
  }

  // A permutation among channel axes only (a channel shuffle) stays among them. Others start from the last form.
  Result<void> visit_transpose(NodeId id) {
    const ir::Node node = graph_.node(id);
    const auto form = last_.find(node.inputs[0]);
    if (form == last_.end()) return {};
    const LastForm from = form->second;
    const auto rank = static_cast<int64_t>(from.perm.size());
    STROP_ASSIGN(const std::vector<int64_t> perm,
                 ops::full_permutation(node.attrs.as<ops::TransposeAttrs>().perm, rank));
    const auto renumber = inverse_permutation(from.perm);
    int64_t moved_to = 0;
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (perm[static_cast<size_t>(axis)] != axis) moved_to = axis;
    }
    const auto in_last = last_permutation(rank, moved_to);
    if (moved_to >= 2 && moved_to < rank - 1 && perm[0] == 0 && from.perm == in_last) {
      std::vector<int64_t> inner;
      for (const int64_t axis : in_last)
        inner.push_back(renumber[static_cast<size_t>(perm[static_cast<size_t>(axis)])]);
      STROP_ASSIGN(const ValueId result, emit(ops::kTranspose, ops::TransposeAttrs{std::move(inner)}, {from.value}));
      note(id, producer(graph_, result), from.perm, in_last);
      set_last(node.outputs[0], result, in_last);
      return {};
    }
    std::vector<int64_t> direct;
    for (const int64_t axis : perm) direct.push_back(renumber[static_cast<size_t>(axis)]);
    STROP_ASSIGN(const ValueId result, emit(ops::kTranspose, ops::TransposeAttrs{std::move(direct)}, {from.value}));
    note(id, producer(graph_, result), from.perm, {});
    forms_.back().outputs.clear();
    graph_.replace_uses(node.outputs[0], result);
    changed_ = true;
    return {};
  }

  // Plain forms that are still wanted come from the last ones. Everything else is dead and left to dead_code.
  Result<void> finish() {
    for (const ValueId value : made_) {
      const LastForm& form = last_[value];
      const NodeId old = graph_.value(value).producer;
      sources_ = graph_.node(old).sources;
      STROP_ASSIGN(const ValueId plain,
                   emit(ops::kTranspose, ops::TransposeAttrs{inverse_permutation(form.perm)}, {form.value}));
      graph_.replace_uses(value, plain);
    }
    return {};
  }

  Graph& graph_;
  std::map<ValueId, LastForm> last_;
  std::map<std::pair<ValueId, std::vector<int64_t>>, ValueId> others_;  // further permutations of a value
  std::vector<ValueId> made_;                                           // values whose node now exists in the last form
  std::vector<TwoForms> forms_;
  std::set<NodeId> keep_;
  std::vector<std::string> sources_;
  bool changed_ = false;
};

constexpr Knob<bool> kEnabled{{.name = "passes.channels_last",
                               .help = "compute convolutions and what lies between them on channels-last tensors"}};

enum class Decision : uint8_t { Measured, Always };
constexpr std::string_view kDecisionNames[] = {"measured", "always"};
constexpr Knob<Decision> kDecision{{.name = "passes.channels_last.where",
                                    .help = "wherever it is possible, or where measured times make the whole faster",
                                    .default_value = "measured",
                                    .values = kDecisionNames,
                                    .when_knob = "passes.channels_last",
                                    .when_value = "on"}};
constexpr const KnobInfo* kKnobs[] = {&kDecision.info};

Result<bool> run(Graph& graph, const PassContext& ctx) {
  if (!Rewriter(graph, {}).is_worthwhile()) return false;
  std::set<NodeId> keep;
  if (ctx.costs && ctx.route.get(kDecision) == Decision::Measured) {
    const std::shared_ptr<Graph> copy = graph.clone();
    Rewriter trial(*copy, {});
    STROP_TRY(trial.add_forms());
    STROP_ASSIGN(keep, choose_plain({*copy, trial.take_forms(), static_cast<NodeId>(graph.node_count())}, *ctx.costs));
  }
  return Rewriter(graph, std::move(keep)).run();
}

}  // namespace

extern const Pass kChannelsLast;
const Pass kChannelsLast{.name = "channels_last",
                         .summary = "convolutions, pooling and what lies between them become channels-last",
                         .run = run,
                         .enabled = &kEnabled,
                         .knobs = kKnobs};

}  // namespace strop::passes
