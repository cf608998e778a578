// Where values live: engine outputs, views into a concatenation, results that overwrite an operand.
#include <algorithm>

#include "compiler/block_lowering.h"

namespace strop::compiler {
namespace {

constexpr Knob<bool> kInPlace{
    {.name = "plan.in_place", .help = "let a step overwrite an operand that nobody reads again"}};
constexpr Knob<bool> kConcatViews{
    {.name = "plan.concat_views", .help = "let producers write straight into the concatenation that reads them"}};

}  // namespace

using plan::kNone;
using plan::Storage;

std::vector<const KnobInfo*> lower_knobs() { return {&kInPlace.info, &kConcatViews.info}; }

int32_t BlockLowering::root(int32_t value) const {
  while (block().values[static_cast<size_t>(value)].storage == Storage::View)
    value = block().values[static_cast<size_t>(value)].base;
  return value;
}

std::vector<int32_t> BlockLowering::last_uses() const {
  std::vector<int32_t> last(block().values.size(), kNone);
  for (size_t i = 0; i < block().steps.size(); ++i) {
    for (const auto& list : {block().steps[i].inputs, block().steps[i].outputs}) {
      for (const int32_t value : list) {
        if (value != kNone) last[static_cast<size_t>(root(value))] = static_cast<int32_t>(i);
      }
    }
  }
  for (const plan::PortDesc& port : block().outputs)
    last[static_cast<size_t>(root(port.value))] = static_cast<int32_t>(block().steps.size());
  return last;
}

// The producer of an output writes the caller's buffer directly, unless the value is an input, a constant, a view or
// already another output: those are copied.
void BlockLowering::place_outputs() {
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const ir::Port& port = graph_.outputs[i];
    int32_t value = operand(port.value, false);
    const Storage storage = block().values[static_cast<size_t>(value)].storage;
    const bool made_at_run_time = storage == Storage::Host;
    if (storage == Storage::Arena) {
      block().values[static_cast<size_t>(value)].storage = Storage::Output;
      block().values[static_cast<size_t>(value)].index = static_cast<int32_t>(i);
    } else if (!made_at_run_time) {
      plan::ValueDesc copy = block().values[static_cast<size_t>(value)];
      copy.storage = is_planned(graph_.value(port.value).type) ? Storage::Output : Storage::Host;
      copy.index = static_cast<int32_t>(i);
      copy.base = kNone;
      copy.offset_elements = kNone;
      copy.whole = false;
      block().values.push_back(copy);
      plan::Step step;
      step.kind = plan::StepKind::Copy;
      step.inputs = {value};
      value = static_cast<int32_t>(block().values.size() - 1);
      step.outputs = {value};
      step.why = "an output must be a buffer of its own";
      const ir::NodeId producer = graph_.value(port.value).producer;
      if (producer != ir::kNone) {
        step.onnx_nodes = graph_.node(producer).sources;
      } else if (owner_) {
        step.onnx_nodes = owner_->sources;
      } else {
        step.onnx_nodes = {port.name};  // an input or constant returned as it is: no node made it
      }
      block().steps.push_back(std::move(step));
      infos_.push_back({});
    }
    block().outputs.push_back({port.name, value, block().values[static_cast<size_t>(value)].type});
  }
}

bool BlockLowering::can_join_concat(int32_t value, size_t step) const {
  const plan::ValueDesc& desc = block().values[static_cast<size_t>(value)];
  const auto& inputs = block().steps[step].inputs;
  return desc.storage == Storage::Arena && std::count(inputs.begin(), inputs.end(), value) == 1;
}

// Operands of a concatenation along the outermost axis of more than one element lie one after the other in the result:
// they become views of it, and those that cannot are copied there.
bool BlockLowering::place_concat(size_t index) {
  plan::Step step = block().steps[index];
  const ir::Node& node = graph_.node(infos_[index].node);
  if (!node.op->concat_axis || step.kind != plan::StepKind::Launch) return false;
  const TensorType& type = graph_.value(node.outputs[0]).type.tensor;
  const auto axis = node.op->concat_axis(node.attrs, type.rank());
  if (!axis || bit_width(type.dtype) % 8 != 0) return false;
  Dim outer(1);
  for (int64_t i = 0; i < *axis; ++i) outer = outer * type.dim(i);
  if (!(outer == Dim(1))) return false;
  // Views have no step that would object to operands that do not fit each other.
  for (const ir::ValueId input : node.inputs) {
    const TensorType& part = graph_.value(input).type.tensor;
    for (int64_t i = 0; i < type.rank(); ++i) {
      if (i != *axis && !(part.dim(i) == type.dim(i))) return false;
    }
  }

  const int32_t target = step.outputs[0];
  Dim offset(0);
  std::vector<plan::Step> copies;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const Dim count = graph_.value(node.inputs[i]).type.tensor.count();
    int32_t part = step.inputs[i];
    if (!can_join_concat(part, index)) {
      plan::ValueDesc copy;
      copy.type = block().values[static_cast<size_t>(part)].type;
      block().values.push_back(copy);
      plan::Step move;
      move.kind = plan::StepKind::Copy;
      move.inputs = {part};
      part = static_cast<int32_t>(block().values.size() - 1);
      move.outputs = {part};
      move.onnx_nodes = step.onnx_nodes;
      move.why = "an operand of a concatenation that cannot be written there directly";
      copies.push_back(std::move(move));
    }
    plan::ValueDesc& view = block().values[static_cast<size_t>(part)];
    view.storage = Storage::View;
    view.base = target;
    view.offset_elements = offset == Dim(0) ? kNone : block().shapes.lower(offset);
    offset = offset + count;
  }
  const auto at = static_cast<std::ptrdiff_t>(index);
  block().steps.erase(block().steps.begin() + at);
  infos_.erase(infos_.begin() + at);
  block().steps.insert(block().steps.begin() + at, copies.begin(), copies.end());
  infos_.insert(infos_.begin() + at, copies.size(), StepInfo{});
  return true;
}

void BlockLowering::place_concats() {
  if (!builder_.ctx.route.get(kConcatViews)) return;
  // From the last to the first, so that a concatenation that feeds another finds its own result still movable.
  for (size_t i = block().steps.size(); i-- > 0;) {
    if (block().steps[i].kind == plan::StepKind::Launch) place_concat(i);
  }
}

void BlockLowering::place_in_place() {
  if (!builder_.ctx.route.get(kInPlace)) return;
  std::vector<int32_t> last = last_uses();
  for (size_t i = 0; i < block().steps.size(); ++i) {
    const plan::Step& step = block().steps[i];
    if (step.kind != plan::StepKind::Launch || !infos_[i].tactic || step.outputs.size() != 1) continue;
    const int32_t result = step.outputs[0];
    plan::ValueDesc& out = block().values[static_cast<size_t>(result)];
    if (out.storage != Storage::Arena) continue;
    for (size_t k = 0; k < step.inputs.size() && k < 32; ++k) {
      const int32_t from = step.inputs[k];
      if (from == kNone || !(infos_[i].tactic->in_place_inputs >> k & 1)) continue;
      const plan::ValueDesc& in = block().values[static_cast<size_t>(from)];
      const int32_t base = root(from);
      if (block().values[static_cast<size_t>(base)].storage != Storage::Arena || base == root(result)) continue;
      if (in.type.dtype != out.type.dtype || in.type.dims != out.type.dims) continue;
      if (last[static_cast<size_t>(base)] != static_cast<int32_t>(i)) continue;
      const bool read_twice = std::count_if(step.inputs.begin(), step.inputs.end(),
                                            [&](int32_t v) { return v != kNone && root(v) == base; }) > 1;
      const bool packed = !step.variants.empty() && step.variants[0].packed[k] != kNone;
      if (read_twice || packed) continue;
      const int32_t result_last = last[static_cast<size_t>(result)];
      out.storage = Storage::View;
      out.base = from;
      out.in_place = true;
      last[static_cast<size_t>(base)] = std::max(last[static_cast<size_t>(base)], result_last);
      break;
    }
  }
}

}  // namespace strop::compiler
