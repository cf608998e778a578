/// Matching of expressions inside scalar programs: products are seen as factors and a constant, however they are
/// bracketed.
#pragma once

#include <optional>
#include <vector>

#include "ops/scalar_program.h"

namespace strop::passes {

/// constant * factor * factor … : what an instruction computes, up to rounding.
struct Product {
  double constant = 1;
  std::vector<int32_t> factors;  ///< instructions that are neither products nor constants, sorted
};

class ProgramMatcher {
 public:
  explicit ProgramMatcher(const ops::ScalarProgram& program) : program_(program) {}

  const ops::ScalarInstr& at(int32_t index) const { return program_.instrs[static_cast<size_t>(index)]; }
  bool is(int32_t index, ops::Fn fn) const { return at(index).fn == fn; }
  int32_t arg(int32_t index, size_t k) const { return at(index).args[k]; }

  /// The value of a constant of a floating dtype.
  std::optional<double> number(int32_t index) const;
  /// A floating constant that is `value`, as near as its dtype can be expected to say it.
  bool is_number(int32_t index, double value) const;
  /// Whether `constant`, in the dtype of instruction `like`, is `value` up to the rounding of a few operations.
  bool near(double constant, double value, int32_t like) const;

  /// Mul, Div by a constant, Neg, Pow with exponent 2 or 3, taken apart. Anything else is its own only factor.
  Product product(int32_t index) const;
  /// If the instruction is value * x for one x: x.
  std::optional<int32_t> scaled(int32_t index, double value) const;
  /// If the instruction is Add of the constant `value` and something: that.
  std::optional<int32_t> plus(int32_t index, double value) const;

 private:
  void collect(int32_t index, bool is_root, Product& product) const;

  const ops::ScalarProgram& program_;
};

}  // namespace strop::passes
