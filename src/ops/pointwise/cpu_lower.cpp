// Scalar program → tile program.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "ops/pointwise/cpu_generic.h"
#include "ops/pointwise/cpu_tiles.h"
#include "ops/scalar_functions.h"

namespace strop::ops {
namespace {

using kernels::CpuTarget;
using kernels::lane_bytes;
using kernels::lane_of;
using kernels::TileLane;
using kernels::TileLoop;
using kernels::TileProgram;
using kernels::TileRef;
using kernels::TileStep;

constexpr size_t kMaxOperands = 32;
constexpr size_t kMaxResults = 8;

/// An instruction's value once lowered.
struct Lowered {
  TileRef ref;
  DType dtype = DType::Undefined;
  bool repeated = false;  ///< one value for all elements
};

bool is_exact_in_narrow(Fn fn) {
  constexpr auto kExact = std::to_array<Fn>(
      {Fn::Copy, Fn::Abs, Fn::Neg, Fn::Relu, Fn::Min, Fn::Max, Fn::Clip, Fn::Where, Fn::Sign, Fn::ThresholdedRelu});
  return std::ranges::find(kExact, fn) != kExact.end();
}

class Lowering {
 public:
  Lowering(const ScalarProgram& program, std::span<const TileAccess> accesses, CpuTarget target)
      : program_(program), accesses_(accesses), target_(target), reads_(program.instrs.size(), 0) {}

  std::unique_ptr<const TileProgram> build() {
    for (const ScalarInstr& instr : program_.instrs) {
      for (const int32_t arg : instr.args) {
        if (arg >= 0) ++reads_[static_cast<size_t>(arg)];
      }
    }
    add_operands();
    for (size_t i = 0; i < program_.instrs.size(); ++i) values_.push_back(lower(i));
    store_results();
    for (const TileStep& step : steps_) tiles_->add_step(step);
    return tiles_->finish() ? std::move(tiles_) : nullptr;
  }

 private:
  void add_operands() {
    std::vector<DType> dtypes(static_cast<size_t>(program_.input_count), DType::U8);
    for (const ScalarInstr& instr : program_.instrs) {
      if (instr.fn == Fn::Input) dtypes[static_cast<size_t>(instr.input)] = instr.dtype;
    }
    for (size_t i = 0; i < dtypes.size(); ++i) {
      tiles_->add_operand(bit_width(dtypes[i]) / 8, accesses_[i].table ? 0 : accesses_[i].stride);
    }
  }

  Lowered lower(size_t index) {
    const ScalarInstr& instr = program_.instrs[index];
    if (instr.fn == Fn::Input) return lower_input(instr);
    if (instr.fn == Fn::Constant) return lower_constant(instr);
    if (instr.fn == Fn::Cast || instr.fn == Fn::CastWrap) {
      if (const auto cast = lower_cast(index)) return *cast;
    } else if (instr.fn == Fn::Pow) {
      if (const auto power = lower_power(index)) return *power;
    }
    if (const auto native = lower_native(index)) return *native;
    return lower_generic(index);
  }

  // -- Sources --

  Lowered lower_input(const ScalarInstr& instr) {
    const auto operand = static_cast<size_t>(instr.input);
    const TileAccess& access = accesses_[operand];
    Lowered value{{TileRef::Kind::Operand, instr.input}, instr.dtype, !access.table && access.stride == 0};
    if (access.table || (access.stride != 0 && access.stride != 1)) {
      auto context = std::make_shared<std::pair<kernels::TileGather, TileAccess>>();
      context->second = access;
      context->first = {access.stride, access.table ? access.table->data() : nullptr};
      tiles_->keep(context);
      value.ref = emit({.loop = kernels::find_gather_loop(bit_width(instr.dtype) / 8),
                        .args = {value.ref},
                        .context = &context->first},
                       false);
    }
    if (kernels::is_lane_form(instr.dtype)) return value;
    value.ref = emit({.loop = kernels::find_load_loop(instr.dtype, target_), .args = {value.ref}}, value.repeated);
    return value;
  }

  Lowered lower_constant(const ScalarInstr& instr) {
    uint64_t bits = 0;
    switch (lane_of(instr.dtype)) {
      case TileLane::F32: bits = std::bit_cast<uint32_t>(static_cast<float>(instr.number)); break;
      case TileLane::I32: bits = static_cast<uint32_t>(instr.integer); break;
      case TileLane::Wide:
        bits = instr.dtype == DType::F64 ? std::bit_cast<uint64_t>(instr.number) : static_cast<uint64_t>(instr.integer);
        break;
    }
    return {tiles_->add_constant(bits), instr.dtype, true};
  }

  // -- Instructions --

  const Lowered& arg(const ScalarInstr& instr, size_t k) const { return values_[static_cast<size_t>(instr.args[k])]; }

  /// Adds the step: once, with one value, if all its operands are repeated.
  TileRef emit(TileStep step, bool repeated) {
    step.out = repeated ? tiles_->add_scalar() : tiles_->add_temp();
    if (repeated) {
      tiles_->add_once(step);
    } else {
      steps_.push_back(step);
    }
    return step.out;
  }

  TileRef filled(const Lowered& value) {
    return emit({.loop = kernels::find_fill_loop(lane_bytes(lane_of(value.dtype))), .args = {value.ref}}, false);
  }

  /// The value rounded or wrapped to its dtype, unless only stores read it: they do that anyway.
  Lowered rounded(size_t index, Lowered value) {
    const TileLoop loop = kernels::find_round_loop(value.dtype, target_);
    if (loop != nullptr && reads_[index] > 0)
      value.ref = emit({.loop = loop, .args = {value.ref}, .elementwise = true}, value.repeated);
    return value;
  }

  /// Whether F32 and I32 loops compute what `dtype` means (before rounding).
  static bool has_native_lanes(Fn fn, DType dtype) {
    if (lane_of(dtype) == TileLane::F32) return bit_width(dtype) >= 16;
    if (lane_of(dtype) != TileLane::I32 || is_sub_byte(dtype)) return false;
    if (dtype != DType::Bool) return true;
    constexpr auto kLogical = std::to_array<Fn>({Fn::Copy, Fn::Not, Fn::And, Fn::Or, Fn::Xor, Fn::Equal, Fn::Less,
                                                 Fn::LessEqual, Fn::Greater, Fn::GreaterEqual, Fn::Where});
    return std::ranges::find(kLogical, fn) != kLogical.end();
  }

  std::optional<Lowered> lower_native(size_t index) {
    const ScalarInstr& instr = program_.instrs[index];
    const DType operand = arg(instr, deciding_operand(instr.fn)).dtype;
    if (!has_native_lanes(instr.fn, operand)) return std::nullopt;
    const auto count = static_cast<size_t>(arity(instr.fn));
    bool repeated = true;
    for (size_t k = 0; k < count; ++k) repeated = repeated && arg(instr, k).repeated;
    std::string pattern;
    for (size_t k = 0; k < count; ++k) pattern += !repeated && arg(instr, k).repeated ? 's' : 'v';
    TileStep step{.elementwise = true};
    step.loop = kernels::find_function_loop(lane_of(operand), to_string(instr.fn), pattern, target_);
    const bool fills = step.loop == nullptr && pattern.find('s') != std::string::npos;
    if (fills) {
      step.loop = kernels::find_function_loop(lane_of(operand), to_string(instr.fn), std::string(count, 'v'), target_);
    }
    if (step.loop == nullptr) return std::nullopt;
    for (size_t k = 0; k < count; ++k) {
      step.args[k] = fills && arg(instr, k).repeated ? filled(arg(instr, k)) : arg(instr, k).ref;
    }
    const Lowered value{emit(step, repeated), instr.dtype, repeated};
    return is_exact_in_narrow(instr.fn) && is_float(operand) ? value : rounded(index, value);
  }

  Lowered lower_generic(size_t index) {
    const ScalarInstr& instr = program_.instrs[index];
    auto generic = std::make_shared<GenericInstr>();
    generic->instr = instr;
    generic->operand = arg(instr, deciding_operand(instr.fn)).dtype;
    TileStep step{.loop = generic_loop, .context = generic.get()};
    bool repeated = true;
    for (size_t k = 0; k < static_cast<size_t>(arity(instr.fn)); ++k) {
      generic->args[k] = {arg(instr, k).dtype, arg(instr, k).repeated};
      step.args[k] = arg(instr, k).ref;
      repeated = repeated && arg(instr, k).repeated;
    }
    tiles_->keep(generic);
    return {emit(step, repeated), instr.dtype, repeated};
  }

  // -- Special forms --

  /// The casts that have loops of their own.
  std::optional<Lowered> lower_cast(size_t index) {
    const ScalarInstr& instr = program_.instrs[index];
    const Lowered& from = arg(instr, 0);
    const DType to = instr.dtype;
    const bool narrow_float = lane_of(to) == TileLane::F32 && bit_width(to) < 16;
    if (narrow_float || is_sub_byte(to) || is_sub_byte(from.dtype)) return std::nullopt;
    const TileLane source = lane_of(from.dtype);
    Lowered value{from.ref, to, from.repeated};
    TileLoop loop = nullptr;
    if (source == TileLane::F32 && lane_of(to) == TileLane::F32) {
      return rounded(index, value);
    } else if (source == TileLane::I32 && lane_of(to) == TileLane::F32) {
      if (from.dtype == DType::I32 && to == DType::BF16) return std::nullopt;  // would round twice
      loop = kernels::find_int_to_float_loop(target_);
    } else if (source == TileLane::F32 && lane_of(to) == TileLane::I32) {
      loop = to == DType::Bool ? kernels::find_float_to_bool_loop(target_) : kernels::find_float_to_int_loop(target_);
    } else if (source == TileLane::I32 && lane_of(to) == TileLane::I32) {
      if (to != DType::Bool) return rounded(index, value);
      loop = kernels::find_function_loop(TileLane::I32, "Truth", "v", target_);
    } else {
      return std::nullopt;
    }
    value.ref = emit({.loop = loop, .args = {from.ref}, .elementwise = true}, from.repeated);
    return rounded(index, value);
  }

  /// Constant exponents that are a few multiplications or a root.
  std::optional<Lowered> lower_power(size_t index) {
    const ScalarInstr& instr = program_.instrs[index];
    const Lowered& base = arg(instr, 0);
    const ScalarInstr& exponent = program_.instrs[static_cast<size_t>(instr.args[1])];
    if (lane_of(base.dtype) != TileLane::F32 || exponent.fn != Fn::Constant) return std::nullopt;
    TileStep step{.args = {base.ref}, .elementwise = true};
    const auto find = [&](const char* fn, const char* pattern) {
      return kernels::find_function_loop(TileLane::F32, fn, pattern, target_);
    };
    if (exponent.number == 2) {
      step.loop = find("Mul", "vv");
      step.args[1] = base.ref;
    } else if (exponent.number == 3) {
      step.loop = find("Cube", "v");
    } else if (exponent.number == 0.5) {
      step.loop = find("PowHalf", "v");
    } else if (exponent.number == -1) {
      step.loop = find("Reciprocal", "v");
    } else {
      return std::nullopt;
    }
    return rounded(index, {emit(step, base.repeated), instr.dtype, base.repeated});
  }

  // -- Results --

  void store_results() {
    std::vector<int32_t> results;
    for (const int32_t output : program_.outputs) {
      const DType dtype = program_.instrs[static_cast<size_t>(output)].dtype;
      results.push_back(tiles_->add_result(bit_width(dtype) / 8));
    }
    const int32_t direct = write_last_step_directly();
    // Results may be the memory of operands: values that still lie there are saved first.
    std::vector<size_t> order(results.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_partition(order, [&](size_t k) { return result(k).ref.kind == TileRef::Kind::Operand; });
    for (const size_t k : order) {
      if (static_cast<int32_t>(k) != direct) store(result(k), {TileRef::Kind::Result, results[k]});
    }
  }

  const Lowered& result(size_t k) const { return values_[static_cast<size_t>(program_.outputs[k])]; }

  /// Lets the last step write the result that it computes, if nothing else needs the value. The result's index, or -1.
  int32_t write_last_step_directly() {
    if (steps_.empty()) return -1;
    int32_t found = -1;
    for (size_t k = 0; k < program_.outputs.size(); ++k) {
      const TileRef& ref = result(k).ref;
      if (ref.kind == TileRef::Kind::Operand) return -1;
      if (ref.kind != TileRef::Kind::Temp || ref.index != steps_.back().out.index) continue;
      if (found >= 0 || !kernels::is_lane_form(result(k).dtype)) return -1;
      found = static_cast<int32_t>(k);
    }
    if (found >= 0) steps_.back().out = {TileRef::Kind::Result, found};
    return found;
  }

  void store(const Lowered& value, TileRef to) {
    TileStep step{.args = {value.ref}, .out = to};
    const bool direct = kernels::is_lane_form(value.dtype);
    if (value.repeated && direct) {
      step.loop = kernels::find_fill_loop(lane_bytes(lane_of(value.dtype)));
    } else {
      if (value.repeated) step.args[0] = filled(value);
      if (direct) {
        static constexpr kernels::TileGather kCopy{1, nullptr};
        step.loop = kernels::find_gather_loop(bit_width(value.dtype) / 8);
        step.context = &kCopy;
      } else {
        step.loop = kernels::find_store_loop(value.dtype, target_);
      }
    }
    steps_.push_back(step);
  }

  const ScalarProgram& program_;
  std::span<const TileAccess> accesses_;
  CpuTarget target_;
  std::vector<int> reads_;  ///< by instructions, not counting outputs
  std::vector<Lowered> values_;
  std::vector<TileStep> steps_;
  std::unique_ptr<TileProgram> tiles_ = std::make_unique<TileProgram>();
};

}  // namespace

std::optional<std::string> tiles_why_not(const ScalarProgram& program) {
  if (program.input_count > static_cast<int32_t>(kMaxOperands))
    return fmt::format("more than {} operands", kMaxOperands);
  if (program.outputs.size() > kMaxResults) return fmt::format("more than {} results", kMaxResults);
  const auto refused = [](DType dtype) { return fmt::format("no tiles of {}", to_string(dtype)); };
  for (const ScalarInstr& instr : program.instrs) {
    if (domain_of(instr.dtype) == ScalarDomain::Opaque) return refused(instr.dtype);
    if (instr.fn == Fn::Input && !kernels::has_memory_loops(instr.dtype)) return refused(instr.dtype);
  }
  for (const int32_t output : program.outputs) {
    const DType dtype = program.instrs[static_cast<size_t>(output)].dtype;
    if (!kernels::has_memory_loops(dtype)) return refused(dtype);
  }
  return std::nullopt;
}

std::unique_ptr<const TileProgram> make_tile_program(const ScalarProgram& program, std::span<const TileAccess> accesses,
                                                     CpuTarget target) {
  STROP_CHECK(!program.empty() && static_cast<size_t>(program.input_count) == accesses.size(), "{} accesses for {}",
              accesses.size(), to_string(program));
  const ScalarProgram simple = simplify(program);
  return Lowering(simple, accesses, target).build();
}

}  // namespace strop::ops
