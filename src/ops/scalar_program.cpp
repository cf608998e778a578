#include "ops/scalar_program.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "ops/scalar_functions.h"
#include "tensor/convert.h"

namespace strop::ops {
namespace {

struct FnRow {
  std::string_view name;
  int arity;
  ScalarResult result;
};

constexpr auto kRows = std::to_array<FnRow>({
#define STROP_SCALAR_ROW(name, arity, result) {#name, arity, ScalarResult::result},
    STROP_SCALAR_FUNCTIONS(STROP_SCALAR_ROW)
#undef STROP_SCALAR_ROW
});

const FnRow& row(Fn fn) {
  STROP_CHECK(static_cast<size_t>(fn) < kRows.size());
  return kRows[static_cast<size_t>(fn)];
}

}  // namespace

std::string_view to_string(Fn fn) { return row(fn).name; }
int arity(Fn fn) { return row(fn).arity; }
ScalarResult result_rule(Fn fn) { return row(fn).result; }

std::optional<Fn> parse_fn(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &FnRow::name);
  if (found == kRows.end()) return std::nullopt;
  return static_cast<Fn>(found - kRows.begin());
}

bool operator==(const ScalarInstr& a, const ScalarInstr& b) {
  return a.fn == b.fn && a.dtype == b.dtype && a.args == b.args && a.input == b.input && a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.number) == std::bit_cast<uint64_t>(b.number);
}

int32_t ScalarProgram::add_input(int32_t operand, DType dtype) {
  ScalarInstr instr{.fn = Fn::Input, .dtype = dtype};
  instr.input = operand;
  instrs.push_back(instr);
  input_count = std::max(input_count, operand + 1);
  return static_cast<int32_t>(instrs.size()) - 1;
}

int32_t ScalarProgram::add_number(DType dtype, double value) {
  if (!is_float(dtype)) {
    int64_t integer = 0;
    store_scalar(DType::I64, &integer, 0, value);
    return add_integer(dtype, integer);
  }
  instrs.push_back({.fn = Fn::Constant, .dtype = dtype, .number = round_to(dtype, value)});
  return static_cast<int32_t>(instrs.size()) - 1;
}

int32_t ScalarProgram::add_integer(DType dtype, int64_t value) {
  if (is_float(dtype)) return add_number(dtype, static_cast<double>(value));
  uint64_t storage = 0;
  store_integer(dtype, &storage, 0, value);
  instrs.push_back({.fn = Fn::Constant, .dtype = dtype, .integer = load_integer(dtype, &storage, 0)});
  return static_cast<int32_t>(instrs.size()) - 1;
}

int32_t ScalarProgram::add(Fn fn, std::initializer_list<int32_t> args) {
  STROP_CHECK(result_rule(fn) != ScalarResult::Declared, "{} needs a dtype", to_string(fn));
  const size_t like = deciding_operand(fn);
  STROP_CHECK(like < args.size() && static_cast<size_t>(args.begin()[like]) < instrs.size());
  const DType operand = instrs[static_cast<size_t>(args.begin()[like])].dtype;
  return add_declared(fn, result_rule(fn) == ScalarResult::Bool ? DType::Bool : operand, args);
}

int32_t ScalarProgram::add_declared(Fn fn, DType dtype, std::initializer_list<int32_t> args) {
  STROP_CHECK(static_cast<int>(args.size()) == arity(fn), "{} takes {} operands, not {}", to_string(fn), arity(fn),
              args.size());
  ScalarInstr instr{.fn = fn, .dtype = dtype};
  std::copy(args.begin(), args.end(), instr.args.begin());
  instrs.push_back(instr);
  return static_cast<int32_t>(instrs.size()) - 1;
}

namespace {

/// The dtypes of the operands and of the result fit the function.
Result<void> verify_types(const ScalarProgram& program, const ScalarInstr& instr) {
  const auto dtype_of = [&](size_t k) { return program.instrs[static_cast<size_t>(instr.args[k])].dtype; };
  const auto wrong = [&](std::string_view what) { return error(ErrorCode::InvalidArgument, "{}", what); };
  const size_t like = deciding_operand(instr.fn);
  const DType operand = dtype_of(like);
  if (!is_defined(instr.fn, operand)) return wrong(fmt::format("not defined for {}", to_string(operand)));
  for (int k = 1; k < arity(instr.fn); ++k) {
    if (dtype_of(static_cast<size_t>(k)) != operand) {
      return wrong(
          fmt::format("operands of {} and {}", to_string(operand), to_string(dtype_of(static_cast<size_t>(k)))));
    }
  }
  switch (result_rule(instr.fn)) {
    case ScalarResult::Bool: return instr.dtype == DType::Bool ? Result<void>() : wrong("the result must be bool");
    case ScalarResult::Where:
      if (dtype_of(0) != DType::Bool) return wrong("the condition must be bool");
      [[fallthrough]];
    case ScalarResult::Same:
      if (instr.dtype == operand) return {};
      return wrong(fmt::format("the result must be {}, not {}", to_string(operand), to_string(instr.dtype)));
    case ScalarResult::Declared: break;
  }
  if (domain_of(instr.dtype) == ScalarDomain::Opaque)
    return wrong(fmt::format("no result of {}", to_string(instr.dtype)));
  if (instr.fn == Fn::BitCast && bit_width(instr.dtype) != bit_width(operand)) {
    return wrong(fmt::format("{} and {} have different widths", to_string(operand), to_string(instr.dtype)));
  }
  return {};
}

Result<void> verify_instr(const ScalarProgram& program, size_t index) {
  const ScalarInstr& instr = program.instrs[index];
  if (instr.dtype == DType::Undefined) return error(ErrorCode::InvalidArgument, "no dtype");
  if (instr.fn == Fn::Input) {
    if (instr.input < 0 || instr.input >= program.input_count) {
      return error(ErrorCode::InvalidArgument, "operand {} of {}", instr.input, program.input_count);
    }
    for (size_t i = 0; i < index; ++i) {
      const ScalarInstr& other = program.instrs[i];
      if (other.fn == Fn::Input && other.input == instr.input && other.dtype != instr.dtype) {
        return error(ErrorCode::InvalidArgument, "operand {} read as {} and as {}", instr.input, to_string(other.dtype),
                     to_string(instr.dtype));
      }
    }
    return {};
  }
  if (instr.fn == Fn::Constant) {
    if (domain_of(instr.dtype) != ScalarDomain::Opaque) return {};
    return error(ErrorCode::InvalidArgument, "no constants of {}", to_string(instr.dtype));
  }
  for (int k = 0; k < arity(instr.fn); ++k) {
    const int32_t arg = instr.args[static_cast<size_t>(k)];
    if (arg < 0 || static_cast<size_t>(arg) >= index) {
      return error(ErrorCode::InvalidArgument, "operand {} is not an earlier instruction", k);
    }
  }
  return verify_types(program, instr);
}

}  // namespace

Result<void> verify(const ScalarProgram& program) {
  for (size_t i = 0; i < program.instrs.size(); ++i) {
    if (static_cast<size_t>(program.instrs[i].fn) >= kRows.size()) {
      return error(ErrorCode::InvalidArgument, "scalar program: instruction {} is no function", i);
    }
    if (const auto result = verify_instr(program, i); !result.ok()) {
      return in_context(result.error(),
                        fmt::format("scalar program: instruction {} ({})", i, to_string(program.instrs[i].fn)));
    }
  }
  for (const int32_t output : program.outputs) {
    if (output < 0 || static_cast<size_t>(output) >= program.instrs.size()) {
      return error(ErrorCode::InvalidArgument, "scalar program: output {} is no instruction", output);
    }
  }
  return {};
}

ScalarProgram compose(const ScalarProgram& first, const ScalarProgram& second, int32_t operand) {
  if (second.empty()) return first;
  STROP_CHECK(operand >= 0 && operand < second.input_count, "operand {} of {}", operand, second.input_count);
  ScalarProgram result = first;
  const bool identity = first.empty();  // operand 0 straight through
  if (identity) result = ScalarProgram{.instrs = {}, .outputs = {}, .input_count = std::max(first.input_count, 1)};
  const int32_t base = result.input_count;
  std::vector<int32_t> moved;
  for (ScalarInstr instr : second.instrs) {
    if (instr.fn == Fn::Input && instr.input == operand) {
      if (!identity) {
        const int32_t source = first.outputs[0];
        STROP_CHECK(first.instrs[static_cast<size_t>(source)].dtype == instr.dtype,
                    "composed programs disagree on a dtype");
        moved.push_back(source);
        continue;
      }
      instr.input = 0;
    } else if (instr.fn == Fn::Input) {
      instr.input = base + instr.input - (instr.input > operand ? 1 : 0);
    }
    for (int32_t& arg : instr.args) arg = arg < 0 ? arg : moved[static_cast<size_t>(arg)];
    moved.push_back(static_cast<int32_t>(result.instrs.size()));
    result.instrs.push_back(instr);
  }
  result.outputs.clear();
  for (const int32_t output : second.outputs) result.outputs.push_back(moved[static_cast<size_t>(output)]);
  result.input_count = base + second.input_count - 1;
  return result;
}

namespace {

bool is_identity(const ScalarProgram& program, const ScalarInstr& instr) {
  if (instr.fn == Fn::Copy) return true;
  return (instr.fn == Fn::Cast || instr.fn == Fn::CastWrap || instr.fn == Fn::BitCast) &&
         program.instrs[static_cast<size_t>(instr.args[0])].dtype == instr.dtype;
}

/// `instr` (operands already renumbered into `program`) as a constant, if its operands are constants.
ScalarInstr folded(const ScalarProgram& program, const ScalarInstr& instr) {
  const int count = arity(instr.fn);
  if (count == 0) return instr;
  std::array<ScalarValue, 3> values{};
  for (int k = 0; k < count; ++k) {
    const ScalarInstr& operand = program.instrs[static_cast<size_t>(instr.args[static_cast<size_t>(k)])];
    if (operand.fn != Fn::Constant) return instr;
    evaluate_block(operand, DType::Undefined, {.out = &values[static_cast<size_t>(k)], .count = 1});
  }
  const int32_t deciding = instr.args[deciding_operand(instr.fn)];
  ScalarValue out{};
  evaluate_block(instr, program.instrs[static_cast<size_t>(deciding)].dtype,
                 {&values[0], count > 1 ? &values[1] : nullptr, count > 2 ? &values[2] : nullptr, &out, 1});
  ScalarInstr constant{.fn = Fn::Constant, .dtype = instr.dtype};
  if (domain_of(instr.dtype) == ScalarDomain::Number) {
    constant.number = out.number;
  } else {
    constant.integer = out.integer;
  }
  return constant;
}

void mark_live(const ScalarProgram& program, std::vector<bool>& live) {
  live.assign(program.instrs.size(), false);
  for (const int32_t output : program.outputs) live[static_cast<size_t>(output)] = true;
  for (size_t i = program.instrs.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const int32_t arg : program.instrs[i].args) {
      if (arg >= 0) live[static_cast<size_t>(arg)] = true;
    }
  }
}

/// Keeps the instructions in which `keep` is true; their operands are among them.
ScalarProgram compacted(const ScalarProgram& program, const std::vector<bool>& keep) {
  ScalarProgram result{.instrs = {}, .outputs = {}, .input_count = program.input_count};
  std::vector<int32_t> moved(program.instrs.size(), -1);
  for (size_t i = 0; i < program.instrs.size(); ++i) {
    if (!keep[i]) continue;
    ScalarInstr instr = program.instrs[i];
    for (int32_t& arg : instr.args) arg = arg < 0 ? arg : moved[static_cast<size_t>(arg)];
    moved[i] = static_cast<int32_t>(result.instrs.size());
    result.instrs.push_back(instr);
  }
  for (const int32_t output : program.outputs) result.outputs.push_back(moved[static_cast<size_t>(output)]);
  return result;
}

}  // namespace

ScalarProgram simplify(const ScalarProgram& program) {
  ScalarProgram merged{.instrs = {}, .outputs = {}, .input_count = program.input_count};
  std::vector<int32_t> moved;
  for (ScalarInstr instr : program.instrs) {
    for (int32_t& arg : instr.args) arg = arg < 0 ? arg : moved[static_cast<size_t>(arg)];
    if (is_identity(merged, instr)) {
      moved.push_back(instr.args[0]);
      continue;
    }
    instr = folded(merged, instr);
    const auto same = std::ranges::find(merged.instrs, instr);
    moved.push_back(static_cast<int32_t>(same - merged.instrs.begin()));
    if (same == merged.instrs.end()) merged.instrs.push_back(instr);
  }
  for (const int32_t output : program.outputs) merged.outputs.push_back(moved[static_cast<size_t>(output)]);
  std::vector<bool> live;
  mark_live(merged, live);
  return compacted(merged, live);
}

void evaluate_scalar(const ScalarProgram& program, const ScalarValue* operands, ScalarValue* values) {
  for (size_t i = 0; i < program.instrs.size(); ++i) {
    const ScalarInstr& instr = program.instrs[i];
    if (instr.fn == Fn::Input) {
      values[i] = operands[instr.input];
      continue;
    }
    const auto operand = [&](size_t k) { return instr.args[k] < 0 ? nullptr : &values[instr.args[k]]; };
    const int32_t deciding = instr.args[deciding_operand(instr.fn)];
    const DType dtype = deciding < 0 ? DType::Undefined : program.instrs[static_cast<size_t>(deciding)].dtype;
    evaluate_block(instr, dtype, {operand(0), operand(1), operand(2), &values[i], 1});
  }
}

}  // namespace strop::ops
