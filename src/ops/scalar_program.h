/// The scalar program: a small SSA program over scalars that says what a pointwise region, a prologue or an epilogue
/// computes per element. One representation serves the reference, the CPU tiles, CUDA source and the fused operators.
///
/// Semantics: every instruction computes in high precision (double for floating types, 64-bit integers otherwise) and
/// its result is rounded once to its own dtype. So a fused program equals the chain of unfused operators bit by bit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace strop::ops {

/// Every scalar function, one row each: STROP_SCALAR(name, arity, result). `result` says which dtype the result has:
/// Same (as operand 0), Bool, Declared (the instruction says), Where (as operand 1).
/// Meanings, expressions and special values are in scalar_functions.cpp, one row per function too.
// clang-format off
#define STROP_SCALAR_FUNCTIONS(X)                                                                                       \
  X(Input, 0, Declared) X(Constant, 0, Declared) X(Copy, 1, Same) X(Cast, 1, Declared) X(CastWrap, 1, Declared)        \
  X(BitCast, 1, Declared)                                                                                              \
  X(Abs, 1, Same) X(Neg, 1, Same) X(Sign, 1, Same) X(Floor, 1, Same) X(Ceil, 1, Same) X(Round, 1, Same)                \
  X(Sqrt, 1, Same) X(Rsqrt, 1, Same) X(Reciprocal, 1, Same) X(Exp, 1, Same) X(Log, 1, Same)                            \
  X(Sin, 1, Same) X(Cos, 1, Same) X(Tan, 1, Same) X(Asin, 1, Same) X(Acos, 1, Same) X(Atan, 1, Same)                   \
  X(Sinh, 1, Same) X(Cosh, 1, Same) X(Tanh, 1, Same) X(Asinh, 1, Same) X(Acosh, 1, Same) X(Atanh, 1, Same)             \
  X(Erf, 1, Same) X(Sigmoid, 1, Same) X(Softplus, 1, Same) X(Softsign, 1, Same) X(Relu, 1, Same)                       \
  X(Gelu, 1, Same) X(GeluTanh, 1, Same) X(Silu, 1, Same) X(HardSwish, 1, Same) X(Mish, 1, Same)                        \
  X(IsNaN, 1, Bool) X(IsPosInf, 1, Bool) X(IsNegInf, 1, Bool) X(Not, 1, Bool) X(BitNot, 1, Same)                       \
  X(Add, 2, Same) X(Sub, 2, Same) X(Mul, 2, Same) X(Div, 2, Same) X(Pow, 2, Same) X(Mod, 2, Same) X(Fmod, 2, Same)     \
  X(Min, 2, Same) X(Max, 2, Same)                                                                                      \
  X(Equal, 2, Bool) X(Less, 2, Bool) X(LessEqual, 2, Bool) X(Greater, 2, Bool) X(GreaterEqual, 2, Bool)                \
  X(And, 2, Bool) X(Or, 2, Bool) X(Xor, 2, Bool)                                                                       \
  X(BitAnd, 2, Same) X(BitOr, 2, Same) X(BitXor, 2, Same) X(ShiftLeft, 2, Same) X(ShiftRight, 2, Same)                 \
  X(LeakyRelu, 2, Same) X(Elu, 2, Same) X(Celu, 2, Same) X(ThresholdedRelu, 2, Same) X(Swish, 2, Same)                 \
  X(Selu, 3, Same) X(HardSigmoid, 3, Same) X(Shrink, 3, Same) X(Clip, 3, Same) X(Where, 3, Where)

// clang-format on

enum class Fn : uint8_t {
#define STROP_SCALAR_ENUM(name, arity, result) name,
  STROP_SCALAR_FUNCTIONS(STROP_SCALAR_ENUM)
#undef STROP_SCALAR_ENUM
};

enum class ScalarResult : uint8_t { Same, Bool, Declared, Where };

std::string_view to_string(Fn fn);  ///< "Add", …
std::optional<Fn> parse_fn(std::string_view name);
int arity(Fn fn);
ScalarResult result_rule(Fn fn);

/// One SSA value. Operands are indices of earlier instructions.
struct ScalarInstr {
  Fn fn = Fn::Copy;
  DType dtype = DType::Undefined;  ///< of the result
  std::array<int32_t, 3> args = {-1, -1, -1};
  int32_t input = -1;   ///< Input: which operand of the program
  double number = 0;    ///< Constant of a floating dtype
  int64_t integer = 0;  ///< Constant of an integer or bool dtype
  /// Constants compare by their bits: -0 differs from 0, NaN equals NaN.
  friend bool operator==(const ScalarInstr& a, const ScalarInstr& b);
};

/// A program with `input_count` operands. An empty program (no outputs) means the identity on operand 0.
struct ScalarProgram {
  std::vector<ScalarInstr> instrs;
  std::vector<int32_t> outputs;
  int32_t input_count = 0;

  bool empty() const { return outputs.empty(); }
  friend bool operator==(const ScalarProgram&, const ScalarProgram&) = default;

  // Building: each returns the new instruction's index.
  int32_t add_input(int32_t operand, DType dtype);
  int32_t add_number(DType dtype, double value);  ///< constant; converted to the dtype
  int32_t add_integer(DType dtype, int64_t value);
  int32_t add(Fn fn, std::initializer_list<int32_t> args);  ///< dtype by the function's rule
  int32_t add_declared(Fn fn, DType dtype, std::initializer_list<int32_t> args);
};

/// Operand order and ranges, dtypes by rule, arity. The error names the instruction.
Result<void> verify(const ScalarProgram& program);

/// "(x0: f32, x1: f32) { v2 = Add(x0, x1); v3 = Relu(v2) } -> v3". Inputs print as x<operand>.
std::string to_string(const ScalarProgram& program);
Result<ScalarProgram> parse_scalar_program(std::string_view text);

/// first, then second: second's operand `operand` is fed by first's output 0; the operands of the result are first's,
/// then second's other operands in order. Used to grow pointwise regions and epilogues.
ScalarProgram compose(const ScalarProgram& first, const ScalarProgram& second, int32_t operand);

/// Drops dead instructions, merges equal ones, folds constant ones, keeps the operand numbering.
ScalarProgram simplify(const ScalarProgram& program);

/// One element: operands and results as double (floating) or int64 (others), see ScalarValue.
union ScalarValue {
  double number;
  int64_t integer;
};
/// Evaluates the program once in the reference semantics. `values` has instrs.size() entries of scratch;
/// operands[i] is read by Input instructions. Results are values[outputs[k]].
void evaluate_scalar(const ScalarProgram& program, const ScalarValue* operands, ScalarValue* values);

}  // namespace strop::ops
