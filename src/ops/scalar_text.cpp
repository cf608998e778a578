// The text form of scalar programs:
//   (x0: f32, x1: _) { v1 = Constant<f32>(0.5); v2 = Mul(x0, v1); v3 = Cast<f16>(v2) } -> v3
// Operands that no instruction reads have the type "_". Other values are numbered from the number of those that are
// read. Several outputs are written "-> (v2, v3)"; the empty program is "identity".
#include <map>

#include "ops/field_text.h"
#include "ops/scalar_functions.h"
#include "ops/scalar_program.h"

namespace strop::ops {
namespace {

constexpr std::string_view kIdentity = "identity";

std::vector<DType> operand_dtypes(const ScalarProgram& program) {
  std::vector<DType> dtypes(static_cast<size_t>(program.input_count), DType::Undefined);
  for (const ScalarInstr& instr : program.instrs) {
    if (instr.fn == Fn::Input) dtypes[static_cast<size_t>(instr.input)] = instr.dtype;
  }
  return dtypes;
}

std::string operands_text(const ScalarInstr& instr, const std::vector<std::string>& names) {
  if (instr.fn == Fn::Constant) {
    const bool number = domain_of(instr.dtype) == ScalarDomain::Number;
    return number ? number_text(instr.number) : fmt::format("{}", instr.integer);
  }
  std::string text;
  for (int k = 0; k < arity(instr.fn); ++k) {
    text += (k == 0 ? "" : ", ") + names[static_cast<size_t>(instr.args[static_cast<size_t>(k)])];
  }
  return text;
}

Error bad(std::string_view what, std::string_view text) {
  return error(ErrorCode::InvalidArgument, "scalar program: expected {}, found '{}'", what, text);
}

class Parser {
 public:
  Result<ScalarProgram> parse(std::string_view text) {
    text = trim(text);
    if (text == kIdentity) return ScalarProgram{};
    const size_t close = text.find(')');
    const size_t open_body = text.find('{');
    const size_t close_body = text.find('}');
    const bool shaped = !text.empty() && text[0] == '(' && close < open_body && open_body < close_body;
    if (!shaped || close_body == std::string_view::npos) return bad("'(operands) { instructions } -> outputs'", text);
    STROP_TRY(operands(text.substr(1, close - 1)));
    for (const std::string_view line : split_top_level(text.substr(open_body + 1, close_body - open_body - 1), ';')) {
      STROP_TRY(instruction(line));
    }
    STROP_TRY(outputs(trim(text.substr(close_body + 1))));
    STROP_TRY(verify(program_));
    return std::move(program_);
  }

 private:
  Result<void> operands(std::string_view text) {
    for (const std::string_view item : split_top_level(text, ',')) {
      const size_t colon = item.find(':');
      const std::string name = fmt::format("x{}", program_.input_count);
      if (colon == std::string_view::npos || trim(item.substr(0, colon)) != name) return bad(name + ": type", item);
      const std::string_view type = trim(item.substr(colon + 1));
      if (type == "_") {
        ++program_.input_count;
        continue;
      }
      const auto dtype = parse_dtype(type);
      if (!dtype) return bad("an element type", type);
      values_[name] = program_.add_input(program_.input_count, *dtype);
    }
    return {};
  }

  Result<void> instruction(std::string_view text) {
    const size_t equals = text.find('=');
    const size_t open = text.find('(');
    const bool shaped = equals < open && open != std::string_view::npos && text.back() == ')';
    if (!shaped) return bad("'value = Function(operands)'", text);
    std::string_view function = trim(text.substr(equals + 1, open - equals - 1));
    DType dtype = DType::Undefined;
    if (const size_t angle = function.find('<'); angle != std::string_view::npos && function.back() == '>') {
      const std::string_view type = function.substr(angle + 1, function.size() - angle - 2);
      const auto parsed = parse_dtype(type);
      if (!parsed) return bad("an element type", type);
      dtype = *parsed;
      function = function.substr(0, angle);
    }
    const auto fn = parse_fn(function);
    if (!fn || *fn == Fn::Input) return bad("a scalar function", function);
    if ((result_rule(*fn) == ScalarResult::Declared) != (dtype != DType::Undefined)) return bad("Function<type>", text);
    const std::string_view arguments = text.substr(open + 1, text.size() - open - 2);
    STROP_ASSIGN(const int32_t index,
                 *fn == Fn::Constant ? constant(dtype, trim(arguments)) : call(*fn, dtype, arguments));
    if (!values_.emplace(trim(text.substr(0, equals)), index).second) return bad("a new value", text);
    return {};
  }

  Result<int32_t> constant(DType dtype, std::string_view text) {
    if (domain_of(dtype) == ScalarDomain::Opaque) return bad("a numeric type", to_string(dtype));
    if (domain_of(dtype) == ScalarDomain::Number) {
      const auto value = parse_number(text);
      if (!value) return bad("a number", text);
      return program_.add_number(dtype, *value);
    }
    const auto value = parse_integer(text);
    if (!value) return bad("an integer", text);
    return program_.add_integer(dtype, *value);
  }

  Result<int32_t> call(Fn fn, DType dtype, std::string_view text) {
    const auto items = split_top_level(text, ',');
    if (static_cast<int>(items.size()) != arity(fn)) {
      return bad(fmt::format("{} operands of {}", arity(fn), to_string(fn)), text);
    }
    ScalarInstr instr{.fn = fn, .dtype = dtype};
    for (size_t k = 0; k < items.size(); ++k) {
      STROP_ASSIGN(instr.args[k], value(items[k]));
    }
    if (result_rule(fn) != ScalarResult::Declared) {
      const int32_t like = instr.args[deciding_operand(fn)];
      const bool is_bool = result_rule(fn) == ScalarResult::Bool;
      instr.dtype = is_bool ? DType::Bool : program_.instrs[static_cast<size_t>(like)].dtype;
    }
    program_.instrs.push_back(instr);
    return static_cast<int32_t>(program_.instrs.size()) - 1;
  }

  Result<int32_t> value(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return bad("a value", name);
    return found->second;
  }

  Result<void> outputs(std::string_view text) {
    if (!text.starts_with("->")) return bad("'-> outputs'", text);
    text = trim(text.substr(2));
    if (text.size() >= 2 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
    for (const std::string_view name : split_top_level(text, ',')) {
      STROP_ASSIGN(const int32_t index, value(name));
      program_.outputs.push_back(index);
    }
    if (program_.outputs.empty()) return bad("an output", text);
    return {};
  }

  ScalarProgram program_;
  std::map<std::string, int32_t, std::less<>> values_;
};

}  // namespace

std::string to_string(const ScalarProgram& program) {
  if (program.empty()) return std::string(kIdentity);
  std::string header;
  int next = 0;
  const auto dtypes = operand_dtypes(program);
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const bool read = dtypes[i] != DType::Undefined;
    next += read ? 1 : 0;
    header += fmt::format("{}x{}: {}", i == 0 ? "" : ", ", i, read ? to_string(dtypes[i]) : "_");
  }
  std::string body;
  std::vector<std::string> names;
  for (const ScalarInstr& instr : program.instrs) {
    if (instr.fn == Fn::Input) {
      names.push_back(fmt::format("x{}", instr.input));
      continue;
    }
    const bool declared = result_rule(instr.fn) == ScalarResult::Declared;
    const std::string type = declared ? fmt::format("<{}>", to_string(instr.dtype)) : "";
    body += fmt::format("{}v{} = {}{}({})", body.empty() ? " " : "; ", next, to_string(instr.fn), type,
                        operands_text(instr, names));
    names.push_back(fmt::format("v{}", next++));
  }
  std::string results;
  for (const int32_t output : program.outputs) {
    results += (results.empty() ? "" : ", ") + names[static_cast<size_t>(output)];
  }
  if (program.outputs.size() > 1) results = "(" + results + ")";
  return fmt::format("({}) {{{} }} -> {}", header, body, results);
}

Result<ScalarProgram> parse_scalar_program(std::string_view text) { return Parser().parse(text); }

}  // namespace strop::ops
