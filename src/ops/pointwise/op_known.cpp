#include "ops/pointwise/op_known.h"

#include "ops/dim_rules.h"
#include "ops/scalar_functions.h"

namespace strop::ops {
namespace {

using Known = std::optional<Dim>;

Known truth(bool value) { return Dim(value ? 1 : 0); }

/// a < b, decided where the difference says so for every value of the symbols.
std::optional<bool> less(const Dim& a, const Dim& b) {
  if (at_most(a + Dim(1), b)) return true;
  if (at_most(b, a)) return false;
  return std::nullopt;
}

std::optional<bool> same(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (less(a, b).value_or(false) || less(b, a).value_or(false)) return false;
  return std::nullopt;
}

Known decided(std::optional<bool> value, bool negate = false) {
  if (!value) return std::nullopt;
  return truth(*value != negate);
}

/// Quotients round toward zero, Dim's toward -inf: they agree for operands that are not negative.
Known divided(const Dim& a, const Dim& b) {
  if (!is_nonnegative(a) || !is_nonnegative(b) || b == Dim(0)) return std::nullopt;
  return floor_div(a, b);
}

Known binary(Fn fn, const Dim& a, const Dim& b) {
  switch (fn) {
    case Fn::Add: return a + b;
    case Fn::Sub: return a - b;
    case Fn::Mul: return a * b;
    case Fn::Div: return divided(a, b);
    case Fn::Mod: return b == Dim(0) ? Known() : mod(a, b);
    case Fn::Fmod: return divided(a, b) ? Known(mod(a, b)) : Known();
    case Fn::Min: return smaller(a, b);
    case Fn::Max: return larger(a, b);
    case Fn::Equal: return decided(same(a, b));
    case Fn::Less: return decided(less(a, b));
    case Fn::Greater: return decided(less(b, a));
    case Fn::LessEqual: return decided(less(b, a), true);
    case Fn::GreaterEqual: return decided(less(a, b), true);
    default: return std::nullopt;
  }
}

Known unary(const ScalarInstr& instr, const Dim& a) {
  switch (instr.fn) {
    case Fn::Copy: return a;
    case Fn::Cast:
    case Fn::CastWrap: return instr.dtype == DType::I64 || instr.dtype == DType::I32 ? Known(a) : Known();
    case Fn::Neg: return Dim(0) - a;
    case Fn::Abs: return is_nonnegative(a) ? Known(a) : Known();
    case Fn::Relu: return larger(a, Dim(0));
    default: return std::nullopt;
  }
}

/// All operands constant: the function itself.
Known computed(const ScalarInstr& instr, DType operand, std::span<const Known> args) {
  std::array<ScalarValue, 3> values{};
  for (size_t k = 0; k < args.size(); ++k) {
    if (!args[k] || !args[k]->is_constant()) return std::nullopt;
    values[k].integer = args[k]->constant();
  }
  if (domain_of(operand) == ScalarDomain::Number || domain_of(instr.dtype) == ScalarDomain::Number) return std::nullopt;
  ScalarValue out{};
  evaluate_block(instr, operand,
                 {&values[0], args.size() > 1 ? &values[1] : nullptr, args.size() > 2 ? &values[2] : nullptr, &out, 1});
  return Dim(out.integer);
}

Known where(std::span<const Known> args) {
  if (args[1] && args[2] && *args[1] == *args[2]) return args[1];
  if (!args[0] || !args[0]->is_constant()) return std::nullopt;
  return args[0]->constant() != 0 ? args[1] : args[2];
}

Known known_instr(const ScalarProgram& program, const ScalarInstr& instr, const std::vector<Known>& values) {
  if (instr.fn == Fn::Constant) {
    return domain_of(instr.dtype) == ScalarDomain::Integer ? Known(Dim(instr.integer)) : Known();
  }
  std::vector<Known> args;
  for (int k = 0; k < arity(instr.fn); ++k)
    args.push_back(values[static_cast<size_t>(instr.args[static_cast<size_t>(k)])]);
  if (instr.fn == Fn::Where) return where(args);
  for (const Known& arg : args) {
    if (!arg) return std::nullopt;
  }
  const DType operand = program.instrs[static_cast<size_t>(instr.args[0])].dtype;
  if (Known result = computed(instr, operand, args)) return result;
  if (operand != DType::I64 && operand != DType::I32) return std::nullopt;
  if (args.size() == 1) return unary(instr, *args[0]);
  if (args.size() == 2) return binary(instr.fn, *args[0], *args[1]);
  if (instr.fn == Fn::Clip) return smaller(larger(*args[0], *args[1]), *args[2]);
  return std::nullopt;
}

}  // namespace

std::vector<std::optional<Dims>> known_results(const ScalarProgram& program,
                                               std::span<const std::optional<Dims>> operands, size_t count) {
  std::vector<std::optional<Dims>> results(program.outputs.size(), Dims());
  std::vector<Known> values(program.instrs.size());
  for (size_t element = 0; element < count; ++element) {
    for (size_t i = 0; i < values.size(); ++i) {
      const ScalarInstr& instr = program.instrs[i];
      if (instr.fn != Fn::Input) {
        values[i] = known_instr(program, instr, values);
        continue;
      }
      const auto& contents = operands[static_cast<size_t>(instr.input)];
      values[i] = contents && !contents->empty() ? Known((*contents)[contents->size() == 1 ? 0 : element]) : Known();
    }
    for (size_t k = 0; k < results.size(); ++k) {
      const Known& value = values[static_cast<size_t>(program.outputs[k])];
      if (!value) results[k].reset();
      if (results[k]) results[k]->push_back(*value);
    }
  }
  return results;
}

}  // namespace strop::ops
