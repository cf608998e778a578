#include <algorithm>
#include <set>

#include "plan/block_check.h"
#include "plan/extent.h"

namespace strop::plan {
namespace {

bool is_symbol_name(std::string_view name) {
  const auto ok = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.:/").find(c) != std::string_view::npos;
  };
  if (name.starts_with('?')) name.remove_prefix(1);
  return !name.empty() && std::all_of(name.begin(), name.end(), ok);
}

bool same_type(const TypeDesc& a, const TypeDesc& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.dims == b.dims && a.layout == b.layout && a.element == b.element;
}

}  // namespace

BlockCheck::BlockCheck(const Plan& plan, size_t index, const BlockCheck* outer)
    : plan_(plan), block_(plan.blocks[index]), outer_(outer), where_(fmt::format("block {}", index)) {}

Error BlockCheck::fail(std::string_view what) const {
  return error(ErrorCode::InvalidEngine, "plan, {}: {}", where_, what);
}

int32_t BlockCheck::root(int32_t id) const {
  while (value(id).storage == Storage::View) id = value(id).base;
  return id;
}

Result<void> BlockCheck::check_declarations() {
  STROP_TRY(check_instructions());
  STROP_TRY(check_symbols());
  STROP_TRY(check_bindings());
  STROP_TRY(check_conditions(block_.checks));
  find_what_is_bound();
  const std::string block_name = where_;
  for (size_t i = 0; i < block_.values.size(); ++i) {
    where_ = fmt::format("{}, value {}", block_name, i);
    STROP_TRY(check_value(static_cast<int32_t>(i)));
  }
  for (size_t i = 0; i < block_.values.size(); ++i) {
    where_ = fmt::format("{}, value {}", block_name, i);
    if (block_.values[i].storage == Storage::View) STROP_TRY(check_view(static_cast<int32_t>(i)));
  }
  where_ = block_name;
  return check_ports();
}

Result<void> BlockCheck::check_instructions() {
  const auto& instrs = block_.shapes.instrs;
  for (size_t i = 0; i < instrs.size(); ++i) {
    const ShapeInstr& instr = instrs[i];
    if (instr.op > ShapeOp::Max)
      return fail(fmt::format("shape instruction {}: operation {} is not known", i, static_cast<int>(instr.op)));
    if (instr.op == ShapeOp::Constant) continue;
    if (instr.op == ShapeOp::Symbol) {
      if (instr.value < 0 || static_cast<size_t>(instr.value) >= block_.shapes.symbols.size())
        return fail(fmt::format("shape instruction {}: symbol {} of {}", i, instr.value, block_.shapes.symbols.size()));
      continue;
    }
    for (const Reg operand : {instr.a, instr.b}) {
      if (operand < 0 || static_cast<size_t>(operand) >= i)
        return fail(fmt::format("shape instruction {}: register {} is not an earlier one", i, operand));
    }
  }
  return {};
}

Result<void> BlockCheck::check_symbols() {
  const auto& symbols = block_.shapes.symbols;
  std::set<std::string_view> names;
  for (const std::string& name : symbols) {
    if (!is_symbol_name(name)) return fail(fmt::format("'{}' is not a name of a dimension", name));
    if (!names.insert(name).second) return fail(fmt::format("two dimensions are named '{}'", name));
  }
  if (block_.inherited.size() != symbols.size() || block_.ranges.size() != symbols.size())
    return fail(fmt::format("{} symbols with {} inherited and {} ranges", symbols.size(), block_.inherited.size(),
                            block_.ranges.size()));
  for (size_t i = 0; i < symbols.size(); ++i) {
    const int32_t from = block_.inherited[i];
    const auto outside = outer_ ? outer_->block_.shapes.symbols.size() : 0;
    if (from != kNone && (from < 0 || static_cast<size_t>(from) >= outside))
      return fail(fmt::format("'{}' inherits symbol {}, and there are {} outside", symbols[i], from, outside));
    if (block_.ranges[i].min < 0 || block_.ranges[i].min > block_.ranges[i].max)
      return fail(fmt::format("'{}' has the range {}..{}", symbols[i], block_.ranges[i].min, block_.ranges[i].max));
  }
  return {};
}

// A binding reads the dimension of an input that is just the symbol.
Result<void> BlockCheck::check_bindings() {
  std::vector<bool> bound(block_.shapes.symbols.size(), false);
  for (size_t i = 0; i < block_.bindings.size(); ++i) {
    const auto [symbol, input, axis] = block_.bindings[i];
    const auto bad = [&](std::string_view what) { return fail(fmt::format("binding {}: {}", i, what)); };
    if (symbol < 0 || static_cast<size_t>(symbol) >= bound.size()) return bad(fmt::format("symbol {}", symbol));
    if (input < 0 || static_cast<size_t>(input) >= block_.inputs.size()) return bad(fmt::format("input {}", input));
    const auto& dims = block_.inputs[static_cast<size_t>(input)].type.dims;
    if (!dims || axis < 0 || static_cast<size_t>(axis) >= dims->size()) return bad(fmt::format("axis {}", axis));
    const Reg reg = (*dims)[static_cast<size_t>(axis)];
    if (!reg_ok(reg)) return bad(fmt::format("register {}", reg));
    const ShapeInstr& instr = block_.shapes.instrs[static_cast<size_t>(reg)];
    if (instr.op != ShapeOp::Symbol || instr.value != symbol) return bad("the dimension is not the symbol");
    if (bound[static_cast<size_t>(symbol)]) return bad("the symbol is bound already");
    bound[static_cast<size_t>(symbol)] = true;
  }
  return {};
}

Result<void> BlockCheck::check_conditions(const std::vector<ShapeCheck>& checks) const {
  for (const ShapeCheck& check : checks) {
    if (!reg_ok(check.a) || !reg_ok(check.b))
      return fail(
          fmt::format("a condition on registers {} and {} of {}", check.a, check.b, block_.shapes.instrs.size()));
    if (check.relation > Relation::Divides)
      return fail(fmt::format("relation {} is not known", static_cast<int>(check.relation)));
  }
  return {};
}

// Inputs bind symbols, and so does the outside; the others are known only when the data are.
void BlockCheck::find_what_is_bound() {
  bound_.assign(block_.shapes.symbols.size(), false);
  for (const SymbolBinding& binding : block_.bindings) bound_[static_cast<size_t>(binding.symbol)] = true;
  for (size_t i = 0; i < bound_.size(); ++i) {
    const int32_t from = block_.inherited[i];
    if (from != kNone && outer_->bound_[static_cast<size_t>(from)]) bound_[i] = true;
  }
  for (const ShapeInstr& instr : block_.shapes.instrs) {
    bool known = true;
    if (instr.op == ShapeOp::Symbol) {
      known = bound_[static_cast<size_t>(instr.value)];
    } else if (instr.op != ShapeOp::Constant) {
      known = known_[static_cast<size_t>(instr.a)] && known_[static_cast<size_t>(instr.b)];
    }
    known_.push_back(known);
    constants_.push_back(instr.op == ShapeOp::Constant ? std::optional(instr.value) : std::nullopt);
  }
}

Result<void> BlockCheck::check_type(const TypeDesc& type) const {
  if (type.kind > TypeKind::Optional)
    return fail(fmt::format("kind of type {} is not known", static_cast<int>(type.kind)));
  if (type.kind == TypeKind::None) return fail("it has no type");
  if (type.kind != TypeKind::Tensor) {
    if (type.dims) return fail("dimensions of something that is not a tensor");
    auto element = parse_type(type.element);
    if (!element.ok()) return fail(element.error().message);
    return {};
  }
  if (type.dtype == DType::Undefined || static_cast<int>(type.dtype) >= kDTypeCount)
    return fail(fmt::format("element type {} is not known", static_cast<int>(type.dtype)));
  const auto rank = static_cast<int32_t>(type.dims ? type.dims->size() : 0);
  const auto [axis, block] = type.layout;
  if (axis < -1 || axis >= rank || block < 1) return fail(fmt::format("layout {}c{} at rank {}", axis, block, rank));
  return check_size(type);
}

Result<void> BlockCheck::check_size(const TypeDesc& type) const {
  if (!type.dims) return {};
  int64_t count = 1;
  for (const Reg reg : *type.dims) {
    if (!reg_ok(reg)) return fail(fmt::format("dimension in register {} of {}", reg, block_.shapes.instrs.size()));
    const auto dim = constant(reg);
    if (!dim) continue;
    if (*dim < 0) return fail(fmt::format("a dimension of {}", *dim));
    if (*dim > 0 && count > kMaxElements / *dim) return fail(fmt::format("more than {} elements", kMaxElements));
    count *= std::max<int64_t>(*dim, 1);
  }
  return {};
}

bool BlockCheck::is_sized(const TypeDesc& type) const {
  return type.kind == TypeKind::Tensor && bit_width(type.dtype) > 0 && type.dims &&
         std::all_of(type.dims->begin(), type.dims->end(), [&](Reg reg) { return known_[static_cast<size_t>(reg)]; });
}

Result<void> BlockCheck::check_value(int32_t id) const {
  const ValueDesc& desc = value(id);
  const bool numbered_only = desc.storage == Storage::None && desc.type.kind == TypeKind::Tensor &&
                             desc.type.dtype == DType::Undefined && !desc.type.dims;
  if (desc.storage > Storage::Host) return fail(fmt::format("storage {} is not known", static_cast<int>(desc.storage)));
  if (!numbered_only) STROP_TRY(check_type(desc.type));
  if (!optional_reg_ok(desc.offset_elements) || !optional_reg_ok(desc.pitch))
    return fail(fmt::format("offset in register {}, pitch in register {} of {}", desc.offset_elements, desc.pitch,
                            block_.shapes.instrs.size()));
  if (desc.device < 0 || static_cast<size_t>(desc.device) >= plan_.devices.size())
    return fail(fmt::format("device {} of {}", desc.device, plan_.devices.size()));
  if (desc.storage != Storage::View &&
      (desc.base != kNone || desc.offset_elements != kNone || desc.pitch != kNone || desc.in_place || desc.whole))
    return fail("base, offset and pitch belong to views only");
  return check_storage(desc);
}

Result<void> BlockCheck::check_storage(const ValueDesc& desc) const {
  const auto id = static_cast<int32_t>(&desc - block_.values.data());
  const auto is_port = [&](const std::vector<PortDesc>& ports) {
    return desc.index >= 0 && static_cast<size_t>(desc.index) < ports.size() &&
           ports[static_cast<size_t>(desc.index)].value == id;
  };
  switch (desc.storage) {
    case Storage::Input:
      if (!is_port(block_.inputs)) return fail(fmt::format("it is not input {}", desc.index));
      return {};
    case Storage::Output:
      if (!is_port(block_.outputs)) return fail(fmt::format("it is not output {}", desc.index));
      if (!is_sized(desc.type)) return fail("the size of an output buffer must be known before the run");
      return {};
    case Storage::Arena:
      if (!is_sized(desc.type)) return fail("the size of what lies in the arena must be known before the run");
      return {};
    case Storage::Weight: return check_weight(desc);
    case Storage::View:
    case Storage::Host:
    case Storage::None: break;
  }
  return {};
}

Result<void> BlockCheck::check_weight(const ValueDesc& desc) const {
  if (desc.index < 0 || static_cast<size_t>(desc.index) >= plan_.weights.size())
    return fail(fmt::format("weight {} of {}", desc.index, plan_.weights.size()));
  const WeightDesc& weight = plan_.weights[static_cast<size_t>(desc.index)];
  bool fits = desc.type.kind == TypeKind::Tensor && weight.dtype == desc.type.dtype && desc.type.dims &&
              desc.type.dims->size() == weight.dims.size();
  for (size_t axis = 0; fits && axis < weight.dims.size(); ++axis)
    fits = constant((*desc.type.dims)[axis]) == weight.dims[axis];
  if (!fits) return fail(fmt::format("weight '{}' has another type", weight.name));
  return {};
}

// Views end, within as many hops as there are values, in memory that exists before the run.
Result<void> BlockCheck::check_view(int32_t id) const {
  int32_t at = id;
  for (size_t hops = 0; value(at).storage == Storage::View; ++hops) {
    if (hops > block_.values.size()) return fail("a view of itself");
    if (!value_ok(value(at).base)) return fail(fmt::format("a view of value {}", value(at).base));
    at = value(at).base;
  }
  const ValueDesc& view = value(id);
  const Storage storage = value(at).storage;
  if (storage == Storage::None || storage == Storage::Host) return fail("a view of a value that has no buffer");
  if (!is_sized(view.type) || !is_sized(value(at).type)) return fail("the size of a view must be known before the run");
  const int width = bit_width(view.type.dtype);
  if (width < 8 || width != bit_width(value(at).type.dtype)) return fail("a view with elements of another width");
  if ((view.offset_elements != kNone && !known_[static_cast<size_t>(view.offset_elements)]) ||
      (view.pitch != kNone && !known_[static_cast<size_t>(view.pitch)]))
    return fail("the place of a view must be known before the run");
  return check_extent(id);
}

// Where everything is constant, the view must lie inside. Otherwise this is checked once per shape.
Result<void> BlockCheck::check_extent(int32_t id) const {
  std::vector<int64_t> registers;
  for (const auto& known : constants_) registers.push_back(known.value_or(kUnknown));
  if (!view_fits(block_, id, registers)) return fail(fmt::format("a view that does not lie within value {}", root(id)));
  return {};
}

Result<void> BlockCheck::check_ports() const {
  for (size_t i = 0; i < block_.inputs.size(); ++i) {
    const PortDesc& port = block_.inputs[i];
    if (!value_ok(port.value)) return fail(fmt::format("input '{}' is value {}", port.name, port.value));
    const ValueDesc& desc = value(port.value);
    if (desc.storage != Storage::Input || desc.index != static_cast<int32_t>(i) || !same_type(port.type, desc.type))
      return fail(fmt::format("input '{}' does not fit its value", port.name));
  }
  for (size_t i = 0; i < block_.outputs.size(); ++i) {
    const PortDesc& port = block_.outputs[i];
    if (!value_ok(port.value)) return fail(fmt::format("output '{}' is value {}", port.name, port.value));
    const ValueDesc& desc = value(port.value);
    const bool placed =
        desc.storage == Storage::Host || (desc.storage == Storage::Output && desc.index == static_cast<int32_t>(i));
    if (!placed || !same_type(port.type, desc.type))
      return fail(fmt::format("output '{}' does not fit its value", port.name));
  }
  return {};
}

}  // namespace strop::plan
