#include "passes/program_match.h"

#include <algorithm>
#include <cmath>

namespace strop::passes {

using ops::Fn;

namespace {

/// Relative error of one rounding.
double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::F64: return 0x1p-53;
    case DType::F32: return 0x1p-24;
    case DType::F16: return 0x1p-11;
    case DType::BF16: return 0x1p-8;
    default: return 0;
  }
}

}  // namespace

std::optional<double> ProgramMatcher::number(int32_t index) const {
  if (!is(index, Fn::Constant) || !is_float(at(index).dtype)) return std::nullopt;
  return at(index).number;
}

bool ProgramMatcher::near(double constant, double value, int32_t like) const {
  // Exporters write constants of double precision as single precision: no nearer than that even in f64 programs.
  const double unit = std::max(unit_roundoff(at(like).dtype), 0x1p-24);
  return std::abs(constant - value) <= 6 * unit * std::abs(value);
}

bool ProgramMatcher::is_number(int32_t index, double value) const {
  const auto constant = number(index);
  return constant && near(*constant, value, index);
}

Product ProgramMatcher::product(int32_t index) const {
  Product product;
  collect(index, true, product);
  std::sort(product.factors.begin(), product.factors.end());
  return product;
}

void ProgramMatcher::collect(int32_t index, bool is_root, Product& product) const {
  if (const auto constant = number(index); constant && !is_root) {
    product.constant *= *constant;
    return;
  }
  const ops::ScalarInstr& instr = at(index);
  const double divisor = instr.fn == Fn::Div ? number(instr.args[1]).value_or(0) : 0;
  const double exponent = instr.fn == Fn::Pow ? number(instr.args[1]).value_or(0) : 0;
  if (is_float(instr.dtype) && instr.fn == Fn::Mul) {
    collect(instr.args[0], false, product);
    collect(instr.args[1], false, product);
  } else if (is_float(instr.dtype) && instr.fn == Fn::Neg) {
    product.constant = -product.constant;
    collect(instr.args[0], false, product);
  } else if (divisor != 0) {
    product.constant /= divisor;
    collect(instr.args[0], false, product);
  } else if (exponent == 2 || exponent == 3) {
    for (int i = 0; i < static_cast<int>(exponent); ++i) collect(instr.args[0], false, product);
  } else {
    product.factors.push_back(index);
  }
}

std::optional<int32_t> ProgramMatcher::scaled(int32_t index, double value) const {
  const Product found = product(index);
  if (found.factors.size() != 1 || !near(found.constant, value, index)) return std::nullopt;
  return found.factors[0];
}

std::optional<int32_t> ProgramMatcher::plus(int32_t index, double value) const {
  if (!is(index, Fn::Add)) return std::nullopt;
  if (is_number(arg(index, 0), value)) return arg(index, 1);
  if (is_number(arg(index, 1), value)) return arg(index, 0);
  return std::nullopt;
}

}  // namespace strop::passes
