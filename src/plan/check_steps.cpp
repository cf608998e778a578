#include <algorithm>

#include "plan/block_check.h"

namespace strop::plan {

Result<void> BlockCheck::check_steps() {
  written_.assign(block_.values.size(), false);
  for (size_t i = 0; i < block_.values.size(); ++i) {
    const Storage storage = block_.values[i].storage;
    written_[i] = storage == Storage::Input || storage == Storage::Weight;
  }
  const std::string block_name = where_;
  for (size_t i = 0; i < block_.steps.size(); ++i) {
    where_ = fmt::format("{}, step {}", block_name, i);
    STROP_TRY(check_step(block_.steps[i]));
  }
  where_ = block_name;
  for (const PortDesc& port : block_.outputs) {
    if (!written_[static_cast<size_t>(port.value)]) return fail(fmt::format("output '{}' is never written", port.name));
  }
  return {};
}

Result<void> BlockCheck::check_step(const Step& step) {
  if (step.kind > StepKind::Wait) return fail(fmt::format("kind of step {} is not known", static_cast<int>(step.kind)));
  if (step.device < 0 || static_cast<size_t>(step.device) >= plan_.devices.size())
    return fail(fmt::format("device {} of {}", step.device, plan_.devices.size()));
  if (step.attrs != kNone && (step.attrs < 0 || static_cast<size_t>(step.attrs) >= plan_.attrs.size()))
    return fail(fmt::format("attributes {} of {}", step.attrs, plan_.attrs.size()));
  const bool computes = step.kind == StepKind::Launch || step.kind == StepKind::Generic;
  if (!computes && (!step.variants.empty() || !step.blocks.empty() || !step.late.empty()))
    return fail("only operators have variants, regions and late operands");
  if (computes && step.outputs.empty()) return fail("an operator without a result");
  for (const LateDesc& late : step.late) {
    if (step.kind != StepKind::Generic) return fail("late operands belong to generic steps");
    if (late.operand < 0 || static_cast<size_t>(late.operand) >= step.inputs.size())
      return fail(fmt::format("late operand {} of {}", late.operand, step.inputs.size()));
  }
  STROP_TRY(check_variants(step));
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const bool packed = !step.variants.empty() && std::all_of(step.variants.begin(), step.variants.end(),
                                                              [&](const Variant& v) { return v.packed[i] != kNone; });
    STROP_TRY(check_operand(step, step.inputs[i], packed));
  }
  for (const int32_t id : step.outputs) STROP_TRY(check_result(step, id));
  return step.kind == StepKind::Copy ? check_copy(step) : Result<void>();
}

Result<void> BlockCheck::check_operand(const Step& step, int32_t id, bool packed) const {
  if (id == kNone) return {};
  if (!value_ok(id)) return fail(fmt::format("operand {} of {} values", id, block_.values.size()));
  const ValueDesc& desc = value(id);
  if (desc.storage == Storage::None) {
    if (!packed) return fail(fmt::format("operand {} has no storage", id));
  } else if (!written_[static_cast<size_t>(root(id))]) {
    return fail(fmt::format("operand {} is read before it is written", id));
  }
  if (step.kind == StepKind::Launch && !is_sized(desc.type))
    return fail(fmt::format("operand {} of a launch: its size must be known before the run", id));
  if (step.kind != StepKind::Launch && desc.pitch != kNone)
    return fail(fmt::format("operand {} has a pitch, which only launches may have", id));
  return {};
}

Result<void> BlockCheck::check_result(const Step& step, int32_t id) {
  if (!value_ok(id)) return fail(fmt::format("result {} of {} values", id, block_.values.size()));
  const ValueDesc& desc = value(id);
  const bool stored = desc.storage != Storage::None;
  if (!stored && step.kind != StepKind::Generic) return fail(fmt::format("result {} has no storage", id));
  const Storage storage = value(root(id)).storage;
  if (storage == Storage::Input || storage == Storage::Weight)
    return fail(fmt::format("result {} would overwrite an input or a weight", id));
  if (step.kind == StepKind::Launch && (storage == Storage::Host || !is_sized(desc.type)))
    return fail(fmt::format("result {} of a launch has no buffer", id));
  if (step.kind != StepKind::Launch && desc.pitch != kNone)
    return fail(fmt::format("result {} has a pitch, which only launches may have", id));
  // Writing a part writes what it is part of: a concatenation has no step of its own.
  written_[static_cast<size_t>(root(id))] = true;
  return {};
}

Result<void> BlockCheck::check_copy(const Step& step) const {
  if (step.inputs.size() != 1 || step.outputs.size() != 1 || step.inputs[0] == kNone)
    return fail("a copy has one operand and one result");
  const TypeDesc& from = value(step.inputs[0]).type;
  const TypeDesc& to = value(step.outputs[0]).type;
  if (from.kind != to.kind || from.dtype != to.dtype || from.dims != to.dims || from.element != to.element)
    return fail("a copy to another type");
  return {};
}

Result<void> BlockCheck::check_variants(const Step& step) const {
  if (step.kind == StepKind::Launch && step.variants.empty()) return fail("a launch has no variant");
  for (size_t i = 0; i < step.variants.size(); ++i) {
    const Variant& variant = step.variants[i];
    if (i + 1 == step.variants.size() && !variant.when.empty()) return fail("the last variant has a condition");
    STROP_TRY(check_conditions(variant.when));
    if (variant.packed.size() != step.inputs.size())
      return fail(fmt::format("{} packed weights for {} operands", variant.packed.size(), step.inputs.size()));
    for (size_t k = 0; k < variant.packed.size(); ++k) {
      const int32_t weight = variant.packed[k];
      if (weight == kNone) continue;
      if (weight < 0 || static_cast<size_t>(weight) >= plan_.weights.size())
        return fail(fmt::format("packed weight {} of {}", weight, plan_.weights.size()));
      const WeightDesc& packed = plan_.weights[static_cast<size_t>(weight)];
      if (packed.dtype != DType::U8 || packed.dims.size() != 1 || step.inputs[k] == kNone)
        return fail(fmt::format("operand {} is replaced by weight '{}', which is not packed", k, packed.name));
    }
  }
  return {};
}

}  // namespace strop::plan
