// The semantic check of a plan: after it, running needs no bounds checks of its own on indices.
#include "plan/plan.h"

namespace strop::plan {
namespace {

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan) {}

  Result<void> run() {
    if (plan_.blocks.empty()) return fail("the plan has no block");
    if (plan_.devices.empty()) return fail("the plan names no device");
    std::vector<bool> used(plan_.blocks.size(), false);
    for (size_t i = 0; i < plan_.blocks.size(); ++i) {
      block_ = &plan_.blocks[i];
      where_ = "block " + std::to_string(i);
      STROP_TRY(check_block(i, used));
    }
    for (const WeightDesc& weight : plan_.weights) {
      where_ = "weight '" + weight.name + "'";
      int64_t count = 1;
      for (const int64_t dim : weight.dims) {
        if (dim < 0 || __builtin_mul_overflow(count, dim, &count) || count > (int64_t{1} << 48))
          return fail("bad dimensions");
      }
      if (weight.dtype == DType::Undefined || static_cast<int>(weight.dtype) >= kDTypeCount)
        return fail("bad element type");
    }
    return {};
  }

 private:
  Error fail(std::string_view what) const { return error(ErrorCode::InvalidEngine, "plan, {}: {}", where_, what); }

  bool reg_ok(Reg reg) const { return reg >= 0 && static_cast<size_t>(reg) < block_->shapes.instrs.size(); }
  bool optional_reg_ok(Reg reg) const { return reg == kNone || reg_ok(reg); }
  bool value_ok(int32_t value) const { return value >= 0 && static_cast<size_t>(value) < block_->values.size(); }
  bool optional_value_ok(int32_t value) const { return value == kNone || value_ok(value); }

  Result<void> check_block(size_t index, std::vector<bool>& used) {
    STROP_TRY(check_shapes());
    STROP_TRY(check_values());
    STROP_TRY(check_ports());
    std::vector<bool> defined(block_->values.size(), false);
    for (size_t i = 0; i < block_->values.size(); ++i) {
      const Storage storage = block_->values[i].storage;
      defined[i] = storage == Storage::Input || storage == Storage::Weight || storage == Storage::View;
    }
    const std::string block_name = where_;
    for (size_t i = 0; i < block_->steps.size(); ++i) {
      where_ = block_name + fmt::format(", step {}", i);
      STROP_TRY(check_step(block_->steps[i], index, used, defined));
    }
    where_ = block_name;
    for (const PortDesc& port : block_->outputs) {
      if (!defined[static_cast<size_t>(port.value)]) return fail("output '" + port.name + "' is never written");
    }
    return {};
  }

  Result<void> check_shapes() {
    const ShapeProgram& shapes = block_->shapes;
    for (size_t i = 0; i < shapes.instrs.size(); ++i) {
      const ShapeInstr& instr = shapes.instrs[i];
      if (static_cast<uint8_t>(instr.op) > static_cast<uint8_t>(ShapeOp::Max)) return fail("unknown shape operation");
      if (instr.op == ShapeOp::Constant) continue;
      if (instr.op == ShapeOp::Symbol) {
        if (instr.value < 0 || static_cast<size_t>(instr.value) >= shapes.symbols.size())
          return fail("shape symbol out of range");
        continue;
      }
      const auto earlier = [&](Reg reg) { return reg >= 0 && static_cast<size_t>(reg) < i; };
      if (!earlier(instr.a) || !earlier(instr.b)) return fail("shape register out of range");
    }
    for (const std::string& symbol : shapes.symbols) {
      if (symbol.empty()) return fail("a shape symbol has no name");
    }
    if (block_->inherited.size() != shapes.symbols.size() || block_->ranges.size() != shapes.symbols.size())
      return fail("symbol tables differ in size");
    for (const SymbolBinding& binding : block_->bindings) {
      if (binding.symbol < 0 || static_cast<size_t>(binding.symbol) >= shapes.symbols.size() || binding.input < 0 ||
          static_cast<size_t>(binding.input) >= block_->inputs.size() || binding.axis < 0) {
        return fail("symbol binding out of range");
      }
    }
    for (const ShapeCheck& check : block_->checks) {
      if (!reg_ok(check.a) || !reg_ok(check.b)) return fail("shape check out of range");
    }
    return {};
  }

  Result<void> check_type(const TypeDesc& type) const {
    if (static_cast<uint8_t>(type.kind) > static_cast<uint8_t>(TypeKind::Optional)) return fail("unknown kind of type");
    if (type.kind != TypeKind::Tensor) return {};
    if (type.dtype == DType::Undefined || static_cast<int>(type.dtype) >= kDTypeCount) return fail("bad element type");
    if (!type.dims) return {};
    for (const Reg reg : *type.dims) {
      if (!reg_ok(reg)) return fail("dimension register out of range");
    }
    const auto rank = static_cast<int32_t>(type.dims->size());
    if (type.layout.blocked_axis < -1 || type.layout.blocked_axis >= rank || type.layout.block < 1)
      return fail("bad layout");
    return {};
  }

  Result<void> check_values() {
    for (size_t i = 0; i < block_->values.size(); ++i) {
      const ValueDesc& value = block_->values[i];
      if (value.storage == Storage::None && value.type.dtype == DType::Undefined) continue;  // numbered but not used
      STROP_TRY(check_type(value.type));
      if (!optional_reg_ok(value.offset_elements) || !optional_reg_ok(value.pitch))
        return fail(fmt::format("value {}: register out of range", i));
      if (value.device < 0 || static_cast<size_t>(value.device) >= plan_.devices.size())
        return fail(fmt::format("value {}: unknown device", i));
      const auto within = [&](size_t size) { return value.index >= 0 && static_cast<size_t>(value.index) < size; };
      bool ok = value.storage == Storage::View || value.base == kNone;
      switch (value.storage) {
        case Storage::Input: ok = ok && within(block_->inputs.size()); break;
        case Storage::Output: ok = ok && within(block_->outputs.size()) && value.type.dims; break;
        case Storage::Weight: ok = ok && within(plan_.weights.size()) && weight_matches(value); break;
        case Storage::Arena:
          ok = ok && value.type.kind == TypeKind::Tensor && value.type.dims && bit_width(value.type.dtype) > 0;
          break;
        case Storage::View: ok = view_ok(static_cast<int32_t>(i)); break;
        case Storage::Host:
        case Storage::None: break;
        default: ok = false;
      }
      if (!ok) return fail(fmt::format("value {}: bad storage", i));
    }
    return {};
  }

  bool weight_matches(const ValueDesc& value) const {
    const WeightDesc& weight = plan_.weights[static_cast<size_t>(value.index)];
    if (value.type.kind != TypeKind::Tensor || weight.dtype != value.type.dtype || !value.type.dims ||
        value.type.dims->size() != weight.dims.size())
      return false;
    for (size_t axis = 0; axis < weight.dims.size(); ++axis) {
      const ShapeInstr& instr = block_->shapes.instrs[static_cast<size_t>((*value.type.dims)[axis])];
      if (instr.op != ShapeOp::Constant || instr.value != weight.dims[axis]) return false;
    }
    return true;
  }

  // Views end, within as many hops as there are values, in something that is not a view.
  bool view_ok(int32_t id) const {
    for (size_t hops = 0; hops <= block_->values.size(); ++hops) {
      const ValueDesc& value = block_->values[static_cast<size_t>(id)];
      if (value.storage != Storage::View && value.base != kNone) return false;
      if (value.storage != Storage::View) return value.storage != Storage::None && value.storage != Storage::Host;
      if (value.type.kind != TypeKind::Tensor || !value.type.dims || bit_width(value.type.dtype) < 8 ||
          !value_ok(value.base))
        return false;
      id = value.base;
    }
    return false;
  }

  Result<void> check_ports() {
    for (const auto* ports : {&block_->inputs, &block_->outputs}) {
      for (const PortDesc& port : *ports) {
        if (!value_ok(port.value)) return fail("port '" + port.name + "' out of range");
        STROP_TRY(check_type(port.type));
      }
    }
    for (size_t i = 0; i < block_->inputs.size(); ++i) {
      const ValueDesc& value = block_->values[static_cast<size_t>(block_->inputs[i].value)];
      if (value.storage != Storage::Input || value.index != static_cast<int32_t>(i))
        return fail("an input port names another value");
    }
    return {};
  }

  Result<void> check_step(const Step& step, size_t index, std::vector<bool>& used, std::vector<bool>& defined) {
    if (static_cast<uint8_t>(step.kind) > static_cast<uint8_t>(StepKind::Wait)) return fail("unknown kind of step");
    if (step.device < 0 || static_cast<size_t>(step.device) >= plan_.devices.size()) return fail("unknown device");
    for (const int32_t value : step.inputs) {
      if (!optional_value_ok(value)) return fail("operand out of range");
      if (value != kNone && !defined[static_cast<size_t>(value)] &&
          block_->values[static_cast<size_t>(value)].storage != Storage::None)
        return fail("an operand is read before it is written");
    }
    for (const int32_t value : step.outputs) {
      if (!value_ok(value)) return fail("result out of range");
      // Writing a part writes what it is part of: a concatenation has no step of its own.
      for (int32_t at = value; at != kNone; at = block_->values[static_cast<size_t>(at)].base)
        defined[static_cast<size_t>(at)] = true;
    }
    if (step.attrs != kNone && (step.attrs < 0 || static_cast<size_t>(step.attrs) >= plan_.attrs.size()))
      return fail("attributes out of range");
    for (const LateDesc& late : step.late) {
      if (late.operand < 0 || static_cast<size_t>(late.operand) >= step.inputs.size())
        return fail("late operand out of range");
    }
    for (const int32_t block : step.blocks) {
      const bool ok = block > static_cast<int32_t>(index) && static_cast<size_t>(block) < plan_.blocks.size() &&
                      !used[static_cast<size_t>(block)];
      if (!ok) return fail("a region is out of range or used twice");
      used[static_cast<size_t>(block)] = true;
      STROP_TRY(check_inheritance(plan_.blocks[static_cast<size_t>(block)]));
    }
    if (step.kind == StepKind::Copy && (step.inputs.size() != 1 || step.outputs.size() != 1 || step.inputs[0] == kNone))
      return fail("a copy has one operand and one result");
    if (step.kind == StepKind::Launch && step.variants.empty()) return fail("a launch has no variant");
    for (size_t i = 0; i < step.variants.size(); ++i)
      STROP_TRY(check_variant(step, step.variants[i], i + 1 == step.variants.size()));
    return {};
  }

  Result<void> check_inheritance(const Block& inner) const {
    for (const int32_t symbol : inner.inherited) {
      if (symbol != kNone && (symbol < 0 || static_cast<size_t>(symbol) >= block_->shapes.symbols.size()))
        return fail("an inherited symbol is out of range");
    }
    return {};
  }

  Result<void> check_variant(const Step& step, const Variant& variant, bool last) const {
    if (last && !variant.when.empty()) return fail("the last variant has a condition");
    for (const ShapeCheck& check : variant.when) {
      if (!reg_ok(check.a) || !reg_ok(check.b)) return fail("a variant's condition is out of range");
    }
    if (variant.packed.size() != step.inputs.size()) return fail("packed weights do not match the operands");
    for (size_t i = 0; i < variant.packed.size(); ++i) {
      const int32_t weight = variant.packed[i];
      if (weight != kNone && (weight < 0 || static_cast<size_t>(weight) >= plan_.weights.size()))
        return fail("packed weight out of range");
      const int32_t value = step.inputs[i];
      if (weight == kNone && value != kNone && block_->values[static_cast<size_t>(value)].storage == Storage::None)
        return fail("an operand has no storage");
    }
    return {};
  }

  const Plan& plan_;
  const Block* block_ = nullptr;
  std::string where_;
};

}  // namespace

Result<void> verify(const Plan& plan) { return Verifier(plan).run(); }

}  // namespace strop::plan
