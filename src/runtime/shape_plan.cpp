#include "runtime/shape_plan.h"

#include <algorithm>

#include "plan/extent.h"
#include "runtime/step_check.h"
#include "tensor/dim_overflow.h"

namespace strop::runtime {
namespace {

using plan::Block;
using plan::kNone;
using plan::kUnknown;
using plan::Storage;
using plan::ValueDesc;

bool holds(const plan::ShapeCheck& check, const std::vector<int64_t>& registers) {
  const int64_t a = registers[static_cast<size_t>(check.a)];
  const int64_t b = registers[static_cast<size_t>(check.b)];
  if (a == kUnknown || b == kUnknown) return false;
  switch (check.relation) {
    case plan::Relation::Equal: return a == b;
    case plan::Relation::LessEqual: return a <= b;
    case plan::Relation::Less: return a < b;
    case plan::Relation::Divides: return a != 0 && (a == -1 || b % a == 0);
  }
  return false;
}

class Builder {
 public:
  explicit Builder(const ShapePlanRequest& request)
      : request_(request),
        block_(request.program.plan->blocks[request.block]),
        loaded_(request.program.steps[request.block]),
        plan_(std::make_unique<ShapePlan>()) {}

  Result<std::unique_ptr<ShapePlan>> build() {
    STROP_TRY(bind(request_.inputs));
    STROP_TRY(size_values());
    for (size_t i = 0; i < block_.values.size(); ++i) plan_->places.push_back(place(static_cast<int32_t>(i)));
    for (size_t i = 0; i < block_.steps.size(); ++i) {
      auto prepared = prepare(i);
      if (!prepared.ok()) return in_context(prepared.error(), describe(block_.steps[i]));
      plan_->steps.push_back(std::move(*prepared));
    }
    STROP_TRY(pack());
    return std::move(plan_);
  }

 private:
  int64_t reg(plan::Reg r) const { return plan_->registers[static_cast<size_t>(r)]; }

  // Symbols from the input shapes, then registers, then the checks that make the shapes legal.
  Result<void> bind(const std::vector<Type>& inputs) {
    plan_->symbols.assign(block_.shapes.symbols.size(), kUnknown);
    plan_->registers.assign(block_.shapes.instrs.size(), kUnknown);
    for (size_t i = 0; i < block_.inherited.size(); ++i) {
      if (block_.inherited[i] != kNone)
        plan_->symbols[i] = request_.inherited[static_cast<size_t>(block_.inherited[i])];
    }
    for (const plan::SymbolBinding& binding : block_.bindings) {
      const Type& type = inputs[static_cast<size_t>(binding.input)];
      if (!type.is_tensor() || type.tensor.rank() <= binding.axis) continue;  // reported by check_port
      plan_->symbols[static_cast<size_t>(binding.symbol)] = type.tensor.dim(binding.axis).constant();
    }
    STROP_TRY(block_.shapes.evaluate(plan_->symbols, plan_->registers));
    for (size_t i = 0; i < inputs.size(); ++i) STROP_TRY(check_port(block_.inputs[i], inputs[i]));
    for (size_t i = 0; i < block_.ranges.size(); ++i) {
      const int64_t value = plan_->symbols[i];
      if (value != kUnknown && (value < block_.ranges[i].min || value > block_.ranges[i].max)) {
        return error(ErrorCode::InvalidArgument, "dimension '{}' is {}, outside the engine's profile {}..{}",
                     block_.shapes.symbols[i], value, block_.ranges[i].min, block_.ranges[i].max);
      }
    }
    for (const plan::ShapeCheck& check : block_.checks) {
      if (reg(check.a) != kUnknown && reg(check.b) != kUnknown && !holds(check, plan_->registers)) {
        return error(ErrorCode::InvalidArgument, "the engine was not built for these input shapes ({} and {})",
                     reg(check.a), reg(check.b));
      }
    }
    return {};
  }

  Result<void> check_port(const plan::PortDesc& port, const Type& type) const {
    if (port.type.kind != TypeKind::Tensor) {
      if (type.kind == port.type.kind || port.type.kind == TypeKind::Optional) return {};
      return error(ErrorCode::InvalidArgument, "input '{}' must be a {}", port.name,
                   port.type.kind == TypeKind::Sequence ? "sequence" : "tensor");
    }
    if (!type.is_tensor())
      return error(ErrorCode::InvalidArgument, "input '{}' must be a tensor of {}", port.name,
                   to_string(port.type.dtype));
    if (type.tensor.dtype != port.type.dtype) {
      return error(ErrorCode::InvalidArgument, "input '{}' has type {}, the engine takes {}", port.name,
                   to_string(type.tensor.dtype), to_string(port.type.dtype));
    }
    if (!port.type.dims) return {};
    bool fits = type.tensor.rank() == static_cast<int64_t>(port.type.dims->size());
    for (size_t axis = 0; fits && axis < port.type.dims->size(); ++axis) {
      const int64_t expected = reg((*port.type.dims)[axis]);
      fits = expected == kUnknown || expected == type.tensor.dim(static_cast<int64_t>(axis)).constant();
    }
    if (fits) return {};
    return error(ErrorCode::InvalidArgument, "input '{}' has shape {}, the engine takes {}", port.name,
                 to_string(type.tensor.dims()), expected_shape(port));
  }

  std::string expected_shape(const plan::PortDesc& port) const {
    std::string text = "[";
    for (const plan::Reg r : *port.type.dims) {
      const plan::ShapeInstr& instr = block_.shapes.instrs[static_cast<size_t>(r)];
      if (text.size() > 1) text += ", ";
      if (instr.op == plan::ShapeOp::Symbol) {
        text += block_.shapes.symbols[static_cast<size_t>(instr.value)];
        const int64_t bound = reg(r);
        if (bound != kUnknown) text += fmt::format(" (here {})", bound);
      } else {
        text += std::to_string(reg(r));
      }
    }
    return text + "]";
  }

  /// "'y'", or where the value has no name of its own, "the result of node 'conv1'".
  std::string described(size_t index) const {
    const std::string& name = block_.values[index].name;
    if (!name.empty()) return fmt::format("'{}'", name);
    for (const plan::Step& step : block_.steps) {
      if (std::ranges::find(step.outputs, static_cast<int32_t>(index)) == step.outputs.end()) continue;
      if (!step.onnx_nodes.empty()) return fmt::format("the result of node '{}'", step.onnx_nodes.front());
      return fmt::format("the result of a {}", step.op);
    }
    return fmt::format("value {}", index);
  }

  // Sizes, where they are known before the run; then whether views lie where they may.
  Result<void> size_values() {
    for (const ValueDesc& value : block_.values) {
      std::vector<int64_t> dims;
      bool known = value.type.kind == TypeKind::Tensor && value.type.dims.has_value();
      if (known) {
        for (const plan::Reg r : *value.type.dims) {
          dims.push_back(reg(r));
          known = known && dims.back() != kUnknown;
        }
      }
      if (!known) dims.clear();
      if (known && !plan::count_elements(value.type, plan_->registers)) {
        return error(ErrorCode::InvalidArgument, "at these input shapes {} would have shape {}",
                     described(plan_->known.size()), to_string(to_dims(dims)));
      }
      plan_->known.push_back(known);
      plan_->dims.push_back(std::move(dims));
    }
    for (size_t i = 0; i < block_.values.size(); ++i) {
      const ValueDesc& value = block_.values[i];
      if (value.storage != Storage::View) continue;
      // By now all must be known: while a register is open, view_fits says nothing against the view.
      const auto open = [&](plan::Reg r) { return r != kNone && reg(r) == kUnknown; };
      const bool settled = plan_->known[i] && plan_->known[static_cast<size_t>(value.base)] &&
                           !open(value.offset_elements) && !open(value.pitch);
      if (settled && plan::view_fits(block_, static_cast<int32_t>(i), plan_->registers)) continue;
      if (value.whole && settled) {
        return error(ErrorCode::InvalidArgument, "at these input shapes {} would have shape {}, made of {}",
                     described(i), to_string(to_dims(plan_->dims[i])),
                     to_string(to_dims(plan_->dims[static_cast<size_t>(value.base)])));
      }
      return error(ErrorCode::InvalidArgument, "at these input shapes {} does not lie within its buffer", described(i));
    }
    return {};
  }

  int64_t bytes_of(int32_t value) const {
    const auto i = static_cast<size_t>(value);
    return byte_size(block_.values[i].type.dtype, element_count(plan_->dims[i]));
  }

  // Follows views down to the value that owns the bytes. Arena offsets are added after packing.
  Place place(int32_t id) const {
    int64_t offset = 0;
    const ValueDesc* value = &block_.values[static_cast<size_t>(id)];
    while (value->storage == Storage::View) {
      if (value->offset_elements != kNone) offset += reg(value->offset_elements) * (bit_width(value->type.dtype) / 8);
      id = value->base;
      value = &block_.values[static_cast<size_t>(id)];
    }
    const bool by_value = value->storage == Storage::Arena || value->storage == Storage::Host;
    return {value->storage, by_value ? id : value->index, offset};
  }

  Type concrete_type(int32_t value) const {
    if (value == kNone) return {};
    const auto i = static_cast<size_t>(value);
    const plan::TypeDesc& type = block_.values[i].type;
    if (type.kind != TypeKind::Tensor || !plan_->known[i]) return Type::unranked(type.dtype);
    return TensorType{type.dtype, to_dims(plan_->dims[i]), type.layout};
  }

  int64_t pitch_of(int32_t value) const {
    if (value == kNone) return 0;
    const plan::Reg pitch = block_.values[static_cast<size_t>(value)].pitch;
    return pitch == kNone ? 0 : reg(pitch);
  }

  Result<PreparedStep> prepare(size_t index) {
    const plan::Step& step = block_.steps[index];
    const ProgramStep& loaded = loaded_[index];
    PreparedStep prepared;
    for (const int32_t value : step.inputs) {
      prepared.inputs.push_back(value == kNone ? Place{} : plan_->places[static_cast<size_t>(value)]);
      prepared.input_buffers.push_back({nullptr, pitch_of(value)});
    }
    for (const int32_t value : step.outputs) {
      prepared.outputs.push_back(plan_->places[static_cast<size_t>(value)]);
      prepared.output_buffers.push_back({nullptr, pitch_of(value)});
    }
    if (step.kind == plan::StepKind::Copy) {
      const bool known = plan_->known[static_cast<size_t>(step.inputs[0])];
      prepared.copy_bytes = known ? bytes_of(step.inputs[0]) : kUnknown;
    }
    if (step.kind == plan::StepKind::Launch) STROP_TRY(prepare_launch(step, loaded, prepared));
    return prepared;
  }

  Result<void> prepare_launch(const plan::Step& step, const ProgramStep& loaded, PreparedStep& prepared) {
    std::vector<Type> inputs;
    std::vector<Type> outputs;
    std::vector<int64_t> input_pitches;
    std::vector<int64_t> output_pitches;
    for (const int32_t value : step.inputs) {
      inputs.push_back(concrete_type(value));
      input_pitches.push_back(pitch_of(value));
    }
    for (const int32_t value : step.outputs) {
      outputs.push_back(concrete_type(value));
      output_pitches.push_back(pitch_of(value));
    }
    for (const auto* list : {&step.inputs, &step.outputs}) {
      for (const int32_t value : *list) {
        if (value != kNone && !plan_->known[static_cast<size_t>(value)])
          return error(ErrorCode::InvalidArgument, "the input shapes do not tell the size of {}",
                       described(static_cast<size_t>(value)));
      }
    }
    ops::Attrs attrs = loaded.symbolic_attrs ? bind_attrs(loaded.attrs, block_.shapes, plan_->symbols) : loaded.attrs;
    if (loaded.symbolic_attrs && !attrs.symbols().empty()) {
      return error(ErrorCode::InvalidArgument, "the input shapes do not tell dimension '{}' of its attributes",
                   attrs.symbols().front());
    }
    STROP_TRY(check_inference(loaded, attrs, inputs, outputs));
    const tactics::Problem problem = concrete_problem(loaded, std::move(attrs), std::move(inputs), std::move(outputs));
    size_t chosen = 0;
    STROP_ASSIGN(prepared.launch,
                 prepare_variant(step, loaded, plan_->registers,
                                 {problem, {}, request_.threads, 0, input_pitches, output_pitches}, &chosen));
    const plan::Variant& variant = step.variants[chosen];
    prepared.alone = tactics::runs_alone(loaded.variants[chosen].config);
    for (size_t i = 0; i < variant.packed.size(); ++i) {
      if (variant.packed[i] != kNone) prepared.inputs[i] = {Storage::Weight, variant.packed[i], 0};
    }
    plan_->workspace_bytes = std::max(plan_->workspace_bytes, prepared.launch->workspace_bytes());
    return {};
  }

  // Inference at the actual shapes finds what symbols could not tell, for example dimensions that do not broadcast. A
  // size that depends on the operands' contents stays open here: the launch finds it out before it writes.
  static Result<void> check_inference(const ProgramStep& loaded, const ops::Attrs& attrs,
                                      const std::vector<Type>& inputs, const std::vector<Type>& outputs) {
    if (loaded.op->has_regions) return {};
    ops::InferContext ctx(attrs, inputs, outputs.size(), "?");
    ctx.known_inputs.resize(inputs.size());
    STROP_TRY(ops::infer(*loaded.op, ctx));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Type& type = ctx.outputs[i];
      if (agree(type, outputs[i])) continue;
      return error(ErrorCode::InvalidArgument, "at these input shapes result {} is {}, not {} as planned", i,
                   to_string(type), to_string(outputs[i]));
    }
    return {};
  }

  void note_use(int32_t value, int32_t step, std::vector<plan::Lifetime>& lives, std::vector<int32_t>& item_of) {
    if (value == kNone) return;
    const Place& place = plan_->places[static_cast<size_t>(value)];
    if (place.root != Storage::Arena) return;
    int32_t& item = item_of[static_cast<size_t>(place.index)];
    if (item == kNone) {
      item = static_cast<int32_t>(lives.size());
      lives.push_back({bytes_of(place.index), step, step});
    }
    lives[static_cast<size_t>(item)].last = step;
  }

  // Arena roots and workspaces are packed together: a workspace lives for its step.
  Result<void> pack() {
    std::vector<plan::Lifetime> lives;
    std::vector<int32_t> item_of(block_.values.size(), kNone);
    std::vector<int32_t> workspace_of(block_.steps.size(), kNone);
    for (size_t i = 0; i < block_.steps.size(); ++i) {
      const auto step = static_cast<int32_t>(i);
      for (const int32_t value : block_.steps[i].outputs) note_use(value, step, lives, item_of);
      for (const int32_t value : block_.steps[i].inputs) note_use(value, step, lives, item_of);
      const auto& launch = plan_->steps[i].launch;
      if (launch && launch->workspace_bytes() > 0) {
        workspace_of[i] = static_cast<int32_t>(lives.size());
        lives.push_back({launch->workspace_bytes(), step, step});
      }
    }
    int64_t total = 0;
    for (const plan::Lifetime& life : lives) {
      if (__builtin_add_overflow(total, life.bytes + plan::kArenaAlignment, &total))
        return error(ErrorCode::OutOfMemory, "the intermediate results of '{}' need more than 2^63 bytes", block_.name);
    }
    plan_->arena = plan::pack_arena(lives);
    for (size_t i = 0; i < block_.values.size(); ++i) {
      const Storage storage = block_.values[i].storage;
      if (plan_->known[i] && (storage == Storage::Arena || storage == Storage::View || storage == Storage::Output))
        plan_->intermediate_bytes += bytes_of(static_cast<int32_t>(i));
    }
    const auto move = [&](Place& place) {
      if (place.root == Storage::Arena)
        place.offset_bytes += plan_->arena.offsets[static_cast<size_t>(item_of[static_cast<size_t>(place.index)])];
    };
    for (size_t i = 0; i < plan_->places.size(); ++i) {
      if (plan_->places[i].root == Storage::Arena && item_of[static_cast<size_t>(plan_->places[i].index)] == kNone)
        plan_->places[i] = {};
      move(plan_->places[i]);
    }
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      for (Place& place : plan_->steps[i].inputs) move(place);
      for (Place& place : plan_->steps[i].outputs) move(place);
      if (workspace_of[i] != kNone)
        plan_->steps[i].workspace_offset = plan_->arena.offsets[static_cast<size_t>(workspace_of[i])];
    }
    return {};
  }

  const ShapePlanRequest& request_;
  const Block& block_;
  const std::vector<ProgramStep>& loaded_;
  std::unique_ptr<ShapePlan> plan_;
};

}  // namespace

ops::Attrs bind_attrs(const ops::Attrs& attrs, const plan::ShapeProgram& shapes, const std::vector<int64_t>& symbols) {
  std::map<std::string, Dim> values;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] != kUnknown) values.emplace(shapes.symbols[i], Dim(symbols[i]));
  }
  return attrs.map_dims([&](const Dim& dim) { return dim.substitute(values); });
}

tactics::Problem concrete_problem(const ProgramStep& step, ops::Attrs attrs, std::vector<Type> inputs,
                                  std::vector<Type> outputs) {
  tactics::Problem problem;
  problem.op = step.op;
  problem.attrs = std::move(attrs);
  problem.inputs = std::move(inputs);
  problem.outputs = std::move(outputs);
  return problem;
}

Result<std::unique_ptr<tactics::Launch>> prepare_variant(const plan::Step& step, const ProgramStep& loaded,
                                                         const std::vector<int64_t>& registers,
                                                         const tactics::PrepareArgs& args, size_t* chosen) {
  for (size_t i = 0; i < step.variants.size(); ++i) {
    const auto& when = step.variants[i].when;
    if (!std::all_of(when.begin(), when.end(), [&](const plan::ShapeCheck& check) { return holds(check, registers); }))
      continue;
    if (chosen) *chosen = i;
    if (!loaded.variants[i].tactic) return tactics::make_reference_launch(args.problem);
    uint32_t packed = 0;
    for (size_t k = 0; k < step.variants[i].packed.size() && k < 32; ++k)
      packed |= step.variants[i].packed[k] != kNone ? uint32_t{1} << k : 0;
    return loaded.variants[i].tactic->prepare({args.problem, loaded.variants[i].config,
                                               tactics::runs_alone(loaded.variants[i].config) ? 1 : args.threads,
                                               packed, args.input_pitches, args.output_pitches});
  }
  STROP_UNREACHABLE("no variant of {} is unconditional", step.op);
}

std::string describe(const plan::Step& step) {
  const std::string what = step.op.empty() ? "copy" : step.op;
  return fmt::format("node '{}' ({})", step.onnx_nodes.empty() ? "" : step.onnx_nodes.front(), what);
}

Result<std::unique_ptr<ShapePlan>> make_shape_plan(const ShapePlanRequest& request) {
  try {
    return Builder(request).build();
  } catch (const DimOverflow&) {
    return error(ErrorCode::InvalidArgument, "the input shapes make sizes that leave 64 bits");
  }
}

}  // namespace strop::runtime
