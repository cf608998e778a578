#include "compiler/lower.h"

#include <algorithm>
#include <exception>

#include "base/memory.h"
#include "compiler/block_lowering.h"

namespace strop::compiler {

using plan::kNone;
using plan::Storage;

int32_t PlanBuilder::weight(const ir::Constant& constant, const std::string& name) {
  const auto [it, inserted] = weight_of.try_emplace(&constant, static_cast<int32_t>(result.weights.size()));
  if (inserted) {
    const Tensor& tensor = constant.tensor;
    result.plan.weights.push_back({name, tensor.dtype(), tensor.dims(), constant.origins, constant.recipe});
    result.weights.push_back(tensor);
  }
  return it->second;
}

BlockLowering::BlockLowering(PlanBuilder& builder, const ir::Graph& graph, size_t block, const BlockLowering* outer,
                             const ir::Node* owner)
    : builder_(builder), graph_(graph), index_(block), outer_(outer), owner_(owner) {}

plan::Block& BlockLowering::block() { return builder_.result.plan.blocks[index_]; }
const plan::Block& BlockLowering::block() const { return builder_.result.plan.blocks[index_]; }

Result<void> BlockLowering::run() {
  block().name = graph_.name;
  bind_symbols();
  lower_value_types();
  for (const ir::NodeId id : graph_.order()) {
    auto lowered = lower_node(id);
    if (!lowered.ok())
      return in_context(lowered.error(),
                        fmt::format("node '{}'", graph_.node(id).sources.empty() ? "" : graph_.node(id).sources[0]));
  }
  place_outputs();
  place_concats();
  place_in_place();
  inherit_symbols();
  for (const plan::ValueDesc& value : block().values) {
    builder_.result.stats.views += value.storage == Storage::View && !value.in_place;
    builder_.result.stats.in_place += value.in_place;
  }
  return {};
}

// A symbol is bound by the first input dimension that is just the symbol. Regions also see what their outside has
// bound.
void BlockLowering::bind_symbols() {
  plan::ShapeProgram& shapes = block().shapes;
  for (size_t input = 0; input < graph_.inputs.size(); ++input) {
    const Type& type = graph_.value(graph_.inputs[input].value).type;
    if (!type.is_tensor() || !type.tensor.has_rank()) continue;
    for (int64_t axis = 0; axis < type.tensor.rank(); ++axis) {
      const Dim& dim = type.tensor.dim(axis);
      if (!dim.is_symbol() || !bound_.insert(dim.to_string()).second) continue;
      shapes.lower(dim);
      block().bindings.push_back({symbol(dim.to_string()), static_cast<int32_t>(input), static_cast<int32_t>(axis)});
    }
  }
}

void BlockLowering::inherit_symbols() {
  const auto& symbols = block().shapes.symbols;
  block().inherited.assign(symbols.size(), kNone);
  block().ranges.assign(symbols.size(), {});
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (outer_ && !bound_.contains(symbols[i])) block().inherited[i] = outer_->symbol(symbols[i]);
    const auto range = builder_.ctx.ranges.find(symbols[i]);
    if (range != builder_.ctx.ranges.end()) block().ranges[i] = {range->second.min, range->second.max};
  }
}

int32_t BlockLowering::symbol(const std::string& name) const {
  const auto& symbols = block().shapes.symbols;
  const auto it = std::find(symbols.begin(), symbols.end(), name);
  return it == symbols.end() ? kNone : static_cast<int32_t>(it - symbols.begin());
}

bool BlockLowering::is_bound(const Dim& dim) const {
  for (const std::string& name : dim.symbols()) {
    if (!bound_.contains(name) && !(outer_ && outer_->is_bound(Dim::symbol(name)))) return false;
  }
  return true;
}

bool BlockLowering::is_planned(const Type& type) const {
  if (!type.is_tensor() || !type.tensor.has_rank() || bit_width(type.tensor.dtype) == 0) return false;
  const Dims& dims = type.tensor.dims();
  return std::all_of(dims.begin(), dims.end(), [&](const Dim& dim) { return is_bound(dim); });
}

plan::TypeDesc BlockLowering::lower_type(const Type& type) {
  plan::TypeDesc desc;
  desc.kind = type.kind;
  if (type.is_tensor()) {
    desc.dtype = type.tensor.dtype;
    desc.layout = type.tensor.layout;
    if (type.tensor.has_rank()) {
      desc.dims.emplace();
      for (const Dim& dim : type.tensor.dims()) desc.dims->push_back(block().shapes.lower(dim));
    }
  } else if (!type.is_none()) {
    desc.element = to_string(*type.element);
  }
  return desc;
}

// Plan values are numbered as the graph's; later stages append more.
void BlockLowering::lower_value_types() {
  used_unpacked_.assign(graph_.value_count(), false);
  for (size_t i = 0; i < graph_.value_count(); ++i) {
    const ir::ValueInfo& info = graph_.value(static_cast<ir::ValueId>(i));
    plan::ValueDesc value;
    value.name = info.name;
    const bool live = info.constant || info.producer == ir::kNone || graph_.node(info.producer).alive;
    if (live && !info.type.is_none()) {
      value.type = lower_type(info.type);
      if (!info.constant) value.storage = is_planned(info.type) ? Storage::Arena : Storage::Host;
    }
    block().values.push_back(std::move(value));
  }
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const ir::Port& port = graph_.inputs[i];
    plan::ValueDesc& value = block().values[static_cast<size_t>(port.value)];
    value.storage = Storage::Input;
    value.index = static_cast<int32_t>(i);
    block().inputs.push_back({port.name, port.value, value.type});
  }
}

int32_t BlockLowering::lower_attrs(const ops::Attrs& attrs) {
  std::vector<plan::AttrDesc> descs;
  for (const ops::NamedField& field : attrs.fields()) descs.push_back({field.name, ops::to_string(field.value)});
  if (descs.empty()) return kNone;
  for (const std::string& name : attrs.symbols()) block().shapes.lower(Dim::symbol(name));
  builder_.result.plan.attrs.push_back(std::move(descs));
  return static_cast<int32_t>(builder_.result.plan.attrs.size() - 1);
}

// The plan's operand for a graph value. A constant becomes a weight when first read unpacked.
int32_t BlockLowering::operand(ir::ValueId id, bool packed) {
  if (id == ir::kNone) return kNone;
  const ir::ValueInfo& info = graph_.value(id);
  if (info.constant && !packed) {
    plan::ValueDesc& value = block().values[static_cast<size_t>(id)];
    value.storage = Storage::Weight;
    value.index = builder_.weight(*info.constant, info.name);
  }
  return id;
}

tactics::Problem make_problem(const ir::Graph& graph, const ir::Node& node,
                              const std::map<std::string, tactics::Range>& ranges) {
  tactics::Problem problem;
  problem.op = node.op;
  problem.attrs = node.attrs;
  problem.ranges = ranges;
  for (const ir::ValueId id : node.inputs) {
    problem.inputs.push_back(id == ir::kNone ? Type() : graph.value(id).type);
    problem.constants.push_back(id == ir::kNone ? nullptr : graph.constant_tensor(id));
  }
  for (const ir::ValueId id : node.outputs) problem.outputs.push_back(graph.value(id).type);
  return problem;
}

Result<void> BlockLowering::pack_weights(const ir::Node& node, const tactics::Problem& problem,
                                         const select::Choice& choice, plan::Variant& variant) {
  for (const tactics::PackRequest& request : choice.tactic->packs(problem, choice.config)) {
    const auto operand = static_cast<size_t>(request.operand);
    const ir::ValueInfo& info = graph_.value(node.inputs[operand]);
    STROP_CHECK(info.constant, "{} packs an operand that is not constant", choice.tactic->name);
    const auto key = std::pair(info.constant.get(),
                               fmt::format("{}@{} {}", choice.tactic->name, choice.tactic->version, request.recipe));
    const auto [it, inserted] = builder_.packed.try_emplace(key, static_cast<int32_t>(builder_.result.weights.size()));
    if (inserted) {
      builder_.packing_bytes += request.bytes;
      STROP_TRY(check_memory(builder_.ctx.memory_limit_bytes, "packing its weights", builder_.packing_bytes));
      Tensor packed = Tensor::uninitialized(DType::U8, {request.bytes});
      const std::span<std::byte> bytes(packed.mutable_data<std::byte>(), static_cast<size_t>(request.bytes));
      builder_.packing.emplace_back(
          [=, tactic = choice.tactic, config = choice.config, source = info.constant->tensor] {
            tactic->pack(problem, config, request, source, bytes);
          });
      const std::string recipe = info.constant->recipe.empty() ? key.second : info.constant->recipe + "; " + key.second;
      builder_.result.plan.weights.push_back({info.name, DType::U8, {request.bytes}, info.constant->origins, recipe});
      builder_.result.weights.push_back(std::move(packed));
    }
    variant.packed[operand] = it->second;
  }
  return {};
}

Result<void> BlockLowering::choose_tactic(const ir::Node& node, const tactics::Problem& problem, plan::Step& step,
                                          StepInfo& info) {
  STROP_ASSIGN(select::Choice choice, builder_.ctx.selector.choose(problem));
  plan::Variant variant;
  variant.packed.assign(node.inputs.size(), kNone);
  if (choice.tactic) {
    variant.tactic = choice.tactic->name;
    variant.tactic_version = choice.tactic->version;
    variant.config = choice.config.to_string();
    STROP_TRY(pack_weights(node, problem, choice, variant));
  } else {
    variant.tactic = tactics::reference_tactic_name(node.op->name);
    ++builder_.result.stats.reference_steps;
  }
  info.tactic = choice.tactic;
  step.why = std::move(choice.why);
  step.candidates = std::move(choice.candidates);
  step.variants.push_back(std::move(variant));
  return {};
}

// A result that is a contiguous part of its operand needs no step.
Result<bool> BlockLowering::lower_view(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  if (node.inputs.empty() || node.inputs[0] == ir::kNone || !node.late.empty()) return false;
  const ir::ValueInfo& from = graph_.value(node.inputs[0]);
  const ir::ValueInfo& to = graph_.value(node.outputs[0]);
  const Storage base = block().values[static_cast<size_t>(node.inputs[0])].storage;
  const bool placed = from.constant || base == Storage::Arena || base == Storage::Input || base == Storage::View;
  if (!placed || !is_planned(from.type) || !is_planned(to.type) || bit_width(to.type.tensor.dtype) % 8 != 0)
    return false;
  std::optional<Dim> offset;
  if (node.op->view_offset) {
    offset = node.op->view_offset(node.attrs, from.type.tensor, to.type.tensor);
  } else if (node.op->is_view) {
    offset = Dim(0);
  }
  if (!offset) return false;
  operand(node.inputs[0], false);
  plan::ValueDesc& value = block().values[static_cast<size_t>(node.outputs[0])];
  value.storage = Storage::View;
  value.base = node.inputs[0];
  value.whole = !node.op->view_offset;
  if (!(*offset == Dim(0))) value.offset_elements = block().shapes.lower(*offset);
  return true;
}

Result<void> BlockLowering::lower_regions(ir::NodeId id, plan::Step& step) {
  for (const auto& region : graph_.node(id).regions) {
    const size_t index = builder_.result.plan.blocks.size();
    builder_.result.plan.blocks.emplace_back();
    step.blocks.push_back(static_cast<int32_t>(index));
    // Symbols that only the region uses but the outside binds must be registers outside, to be inherited.
    BlockLowering inner(builder_, *region, index, this, &graph_.node(id));
    STROP_TRY(inner.run());
    for (size_t i = 0; i < builder_.result.plan.blocks[index].shapes.symbols.size(); ++i) {
      const std::string name = builder_.result.plan.blocks[index].shapes.symbols[i];
      if (inner.bound_.contains(name) || !is_bound(Dim::symbol(name))) continue;
      block().shapes.lower(Dim::symbol(name));
      builder_.result.plan.blocks[index].inherited[i] = symbol(name);
    }
  }
  return {};
}

Result<void> BlockLowering::lower_node(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  STROP_ASSIGN(const bool view, lower_view(id));
  if (view) return {};
  plan::Step step;
  StepInfo info;
  info.node = id;
  step.op = node.op->name;
  step.attrs = lower_attrs(node.attrs);
  step.onnx_nodes = node.sources;
  for (const ops::LateField& late : node.late) step.late.push_back({late.field, late.operand});
  bool planned = !node.op->has_regions && node.late.empty();
  for (const ir::ValueId value : node.inputs)
    planned = planned && (value == ir::kNone || is_planned(graph_.value(value).type));
  for (const ir::ValueId value : node.outputs) planned = planned && is_planned(graph_.value(value).type);
  step.kind = planned ? plan::StepKind::Launch : plan::StepKind::Generic;
  tactics::Problem problem = make_problem(graph_, node, builder_.ctx.ranges);
  if (!planned) problem.constants.clear();  // prepared at run time: nothing can be packed ahead
  const auto ranked = [](const Type& type) { return type.is_none() || (type.is_tensor() && type.tensor.has_rank()); };
  const bool choosable = planned || (node.late.empty() && !node.op->has_regions &&
                                     std::all_of(problem.inputs.begin(), problem.inputs.end(), ranked) &&
                                     std::all_of(problem.outputs.begin(), problem.outputs.end(), ranked));
  if (builder_.ctx.on_node) builder_.ctx.on_node(node.sources.empty() ? node.op->name : node.sources[0]);
  if (choosable) STROP_TRY(choose_tactic(node, problem, step, info));
  if (!planned) {
    ++builder_.result.stats.generic_steps;
    for (const ir::ValueId value : node.outputs) block().values[static_cast<size_t>(value)].storage = Storage::Host;
  }
  STROP_TRY(lower_regions(id, step));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool packed = !step.variants.empty() && step.variants[0].packed[i] != kNone;
    step.inputs.push_back(operand(node.inputs[i], packed));
  }
  for (const ir::ValueId value : node.outputs) step.outputs.push_back(value);
  block().steps.push_back(std::move(step));
  infos_.push_back(info);
  return {};
}

namespace {

// Tasks must not throw: a bug in one is passed on from here.
void run_jobs(const std::vector<std::function<void()>>& jobs, Threads& threads) {
  std::vector<std::exception_ptr> failures(jobs.size());
  threads.run(static_cast<int64_t>(jobs.size()), [&](int64_t index, int) {
    const auto i = static_cast<size_t>(index);
    try {
      jobs[i]();
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace

Result<Lowered> lower(const ir::Graph& graph, const LowerContext& ctx) {
  PlanBuilder builder{ctx, {}, {}, {}};
  if (ctx.beside) builder.packing.push_back(ctx.beside);
  builder.result.plan.devices.push_back({});
  builder.result.plan.blocks.emplace_back();
  BlockLowering main(builder, graph, 0, nullptr, nullptr);
  STROP_TRY(main.run());
  run_jobs(builder.packing, ctx.threads);
  for (const plan::Block& block : builder.result.plan.blocks)
    builder.result.stats.steps += static_cast<int64_t>(block.steps.size());
  STROP_TRY(plan::verify(builder.result.plan));
  return std::move(builder.result);
}

}  // namespace strop::compiler
