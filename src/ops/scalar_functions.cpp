#include "ops/scalar_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "tensor/convert.h"

namespace strop::ops {
namespace {

// -- Floating point: double in, double out --

// The comparisons are written as x86's MINPD and MAXPD decide them (equal operands give b), so that vector kernels
// agree on the sign of zero; NaN propagates from either side.
double min_number(double a, double b) { return a < b || std::isnan(a) ? a : b; }
double max_number(double a, double b) { return a > b || std::isnan(a) ? a : b; }

double sigmoid(double a) {
  if (a >= 0) return 1 / (1 + std::exp(-a));
  const double e = std::exp(a);  // exp(-a) would overflow
  return e / (1 + e);
}

double softplus(double a) { return (a > 0 ? a : 0) + std::log1p(std::exp(-std::fabs(a))); }

double gelu(double a) { return 0.5 * a * std::erfc(-a * 0.70710678118654752440); }

/// 0.5 a (1 + tanh(u)) = a sigmoid(2u), u = sqrt(2/pi) (a + 0.044715 a^3): the second form does not cancel.
double gelu_tanh(double a) { return a * sigmoid(2 * 0.79788456080286535588 * (a + 0.044715 * a * a * a)); }

double sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; }

/// Python's %: the divisor's sign.
double floor_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double clip(double a, double low, double high) {
  const double raised = a < low ? low : a;  // NaN stays
  return raised > high ? high : raised;
}

double hard_unit(double a) { return clip(a, 0, 1); }

double shrink(double a, double bias, double lambda) { return a < -lambda ? a + bias : a > lambda ? a - bias : 0; }

// clang-format off
#define STROP_NUMBER_FUNCTIONS(X)                                                                                      \
  X(Copy, a) X(Abs, std::fabs(a)) X(Neg, -a) X(Sign, sign(a))                                                          \
  X(Floor, std::floor(a)) X(Ceil, std::ceil(a)) X(Round, std::nearbyint(a)) /* halves to even */                       \
  X(Sqrt, std::sqrt(a)) X(Rsqrt, 1 / std::sqrt(a)) X(Reciprocal, 1 / a)                                                \
  X(Exp, std::exp(a)) X(Log, std::log(a))                                                                              \
  X(Sin, std::sin(a)) X(Cos, std::cos(a)) X(Tan, std::tan(a))                                                          \
  X(Asin, std::asin(a)) X(Acos, std::acos(a)) X(Atan, std::atan(a))                                                    \
  X(Sinh, std::sinh(a)) X(Cosh, std::cosh(a)) X(Tanh, std::tanh(a))                                                    \
  X(Asinh, std::asinh(a)) X(Acosh, std::acosh(a)) X(Atanh, std::atanh(a))                                              \
  X(Erf, std::erf(a)) X(Sigmoid, sigmoid(a)) X(Softplus, softplus(a)) X(Softsign, a / (1 + std::fabs(a)))              \
  X(Relu, a < 0 ? 0 : a) /* NaN and -0 stay */                                                                         \
  X(Gelu, gelu(a)) X(GeluTanh, gelu_tanh(a)) X(Silu, a * sigmoid(a))                                                   \
  X(HardSwish, a * hard_unit(a / 6 + 0.5)) X(Mish, a * std::tanh(softplus(a)))                                         \
  X(Add, a + b) X(Sub, a - b) X(Mul, a * b) X(Div, a / b) X(Pow, std::pow(a, b))                                       \
  X(Mod, floor_mod(a, b)) X(Fmod, std::fmod(a, b)) /* divisor's sign; dividend's sign */                               \
  X(Min, min_number(a, b)) X(Max, max_number(a, b))                                                                    \
  X(LeakyRelu, a < 0 ? b * a : a) X(Elu, a < 0 ? b * std::expm1(a) : a) X(Celu, a < 0 ? b * std::expm1(a / b) : a)     \
  X(ThresholdedRelu, a > b ? a : 0) X(Swish, a * sigmoid(b * a))                                                       \
  X(Selu, a > 0 ? c * a : c * (b * std::expm1(a))) /* b alpha, c gamma */                                              \
  X(HardSigmoid, hard_unit(b * a + c)) X(Shrink, shrink(a, b, c)) /* b bias, c lambda */                               \
  X(Clip, clip(a, b, c)) /* where b > c: c */

#define STROP_NUMBER_TESTS(X)                                                                                          \
  X(IsNaN, std::isnan(a)) X(IsPosInf, a == kInfinity) X(IsNegInf, a == -kInfinity)                                     \
  X(Equal, a == b) X(Less, a < b) X(LessEqual, a <= b) X(Greater, a > b) X(GreaterEqual, a >= b)                       \
  X(And, a != 0 && b != 0) X(Or, a != 0 || b != 0) X(Xor, (a != 0) != (b != 0)) X(Not, a == 0)
// clang-format on

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// -- Integers: T is int64_t, or uint64_t for u64. Arithmetic is modulo 2^64; the result wraps to its dtype afterwards.
// A division by zero gives 0: it must not stop the process, and ONNX leaves it open. --

template <class T>
T wrapping(uint64_t bits) {
  return static_cast<T>(bits);
}
uint64_t bits_of(int64_t a) { return static_cast<uint64_t>(a); }
uint64_t bits_of(uint64_t a) { return a; }

template <class T>
T negated(T a) {
  return wrapping<T>(0 - bits_of(a));
}
template <class T>
T magnitude(T a) {
  return a < T{0} ? negated(a) : a;
}
/// Toward zero.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return negated(a);  // INT64_MIN / -1 would trap
  }
  return a / b;
}
/// The dividend's sign.
template <class T>
T rest(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return a % b;
}
/// The divisor's sign.
template <class T>
T floor_rest(T a, T b) {
  const T value = rest(a, b);
  return value != 0 && (value < 0) != (b < 0) ? value + b : value;
}
/// Modulo 2^64; a negative exponent gives the truncated quotient 1 / a^-b.
template <class T>
T power(T a, T b) {
  if (b < T{0}) {
    if (a == T{1}) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (a == -1) return (b & 1) != 0 ? -1 : 1;
    }
    return 0;
  }
  uint64_t result = 1;
  uint64_t base = bits_of(a);
  for (uint64_t exponent = bits_of(b); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return wrapping<T>(result);
}
/// By 64 or more: 0. Bits beyond a narrower dtype are dropped when the result wraps.
template <class T>
T shifted_left(T a, T b) {
  return bits_of(b) >= 64 ? T{0} : wrapping<T>(bits_of(a) << bits_of(b));
}
/// Signed values keep their sign bit; by 64 or more: 0.
template <class T>
T shifted_right(T a, T b) {
  return bits_of(b) >= 64 ? T{0} : a >> b;
}

// clang-format off
#define STROP_INTEGER_FUNCTIONS(X)                                                                                     \
  X(Copy, a) X(Abs, magnitude(a)) X(Neg, negated(a)) X(Sign, a > 0 ? T{1} : a < T{0} ? wrapping<T>(~uint64_t{0}) : T{0})        \
  X(Floor, a) X(Ceil, a) X(Round, a) X(Relu, a < T{0} ? T{0} : a) X(BitNot, wrapping<T>(~bits_of(a)))                  \
  X(Add, wrapping<T>(bits_of(a) + bits_of(b))) X(Sub, wrapping<T>(bits_of(a) - bits_of(b)))                            \
  X(Mul, wrapping<T>(bits_of(a) * bits_of(b))) X(Div, quotient(a, b)) X(Pow, power(a, b))                              \
  X(Mod, floor_rest(a, b)) X(Fmod, rest(a, b)) X(Min, a < b ? a : b) X(Max, a > b ? a : b)                             \
  X(BitAnd, a & b) X(BitOr, a | b) X(BitXor, a ^ b)                                                                    \
  X(ShiftLeft, shifted_left(a, b)) X(ShiftRight, shifted_right(a, b))                                                  \
  X(LeakyRelu, a < T{0} ? wrapping<T>(bits_of(a) * bits_of(b)) : a)                                                    \
  X(Clip, (a > b ? a : b) < c ? (a > b ? a : b) : c)

#define STROP_INTEGER_TESTS(X)                                                                                         \
  X(Equal, a == b) X(Less, a < b) X(LessEqual, a <= b) X(Greater, a > b) X(GreaterEqual, a >= b)                       \
  X(And, a != 0 && b != 0) X(Or, a != 0 || b != 0) X(Xor, (a != 0) != (b != 0)) X(Not, a == 0)
// clang-format on

// -- Loops --

template <class F>
void each_number(const ScalarBlock& block, F f) {
  const ScalarValue* b = block.b ? block.b : block.a;
  const ScalarValue* c = block.c ? block.c : block.a;
  for (int64_t i = 0; i < block.count; ++i) block.out[i].number = f(block.a[i].number, b[i].number, c[i].number);
}

template <class F>
void each_number_test(const ScalarBlock& block, F f) {
  const ScalarValue* b = block.b ? block.b : block.a;
  for (int64_t i = 0; i < block.count; ++i) block.out[i].integer = f(block.a[i].number, b[i].number) ? 1 : 0;
}

template <class T, class F>
void each_integer(const ScalarBlock& block, F f) {
  const ScalarValue* b = block.b ? block.b : block.a;
  const ScalarValue* c = block.c ? block.c : block.a;
  for (int64_t i = 0; i < block.count; ++i) {
    const auto value =
        f(static_cast<T>(block.a[i].integer), static_cast<T>(b[i].integer), static_cast<T>(c[i].integer));
    block.out[i].integer = static_cast<int64_t>(value);
  }
}

bool apply_numbers(Fn fn, const ScalarBlock& block) {
  switch (fn) {
#define STROP_CASE(name, expression)                                                                                   \
  case Fn::name:                                                                                                       \
    return each_number(block,                                                                                          \
                       []([[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double { \
                         return expression;                                                                            \
                       }),                                                                                             \
           true;
    STROP_NUMBER_FUNCTIONS(STROP_CASE)
#undef STROP_CASE
#define STROP_CASE(name, expression) \
  case Fn::name: return each_number_test(block, [](double a, [[maybe_unused]] double b) { return expression; }), true;
    STROP_NUMBER_TESTS(STROP_CASE)
#undef STROP_CASE
    default: return false;
  }
}

template <class T>
bool apply_integers(Fn fn, const ScalarBlock& block) {
  switch (fn) {
#define STROP_CASE(name, expression)                                                                                \
  case Fn::name:                                                                                                    \
    return each_integer<T>(block, [](T a, [[maybe_unused]] T b, [[maybe_unused]] T c) -> T { return expression; }), \
           true;
    STROP_INTEGER_FUNCTIONS(STROP_CASE)
#undef STROP_CASE
#define STROP_CASE(name, expression) \
  case Fn::name: return each_integer<T>(block, [](T a, [[maybe_unused]] T b, T) -> bool { return expression; }), true;
    STROP_INTEGER_TESTS(STROP_CASE)
#undef STROP_CASE
    default: return false;
  }
}

void round_numbers(DType dtype, ScalarValue* values, int64_t count) {
  if (dtype == DType::F64) return;
  if (dtype == DType::F32) {
    for (int64_t i = 0; i < count; ++i) values[i].number = static_cast<float>(values[i].number);
    return;
  }
  for (int64_t i = 0; i < count; ++i) values[i].number = round_to(dtype, values[i].number);
}

template <class T>
void wrap_as(ScalarValue* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i].integer = static_cast<int64_t>(static_cast<T>(values[i].integer));
}

void wrap_integers(DType dtype, ScalarValue* values, int64_t count) {
  switch (dtype) {
    case DType::I64:
    case DType::U64: return;
    case DType::I32: return wrap_as<int32_t>(values, count);
    case DType::U32: return wrap_as<uint32_t>(values, count);
    case DType::I16: return wrap_as<int16_t>(values, count);
    case DType::U16: return wrap_as<uint16_t>(values, count);
    case DType::I8: return wrap_as<int8_t>(values, count);
    case DType::U8: return wrap_as<uint8_t>(values, count);
    default: break;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint8_t storage = 0;
    store_integer(dtype, &storage, 0, values[i].integer);
    values[i].integer = load_integer(dtype, &storage, 0);
  }
}

// -- Casts --

/// u64 above 2^63 would read as negative: halved (keeping the sticky bit), converted, doubled.
double unsigned_to_number(DType to, uint64_t value) {
  if (to == DType::F64) return static_cast<double>(value);
  if (to == DType::F32) return static_cast<float>(value);
  uint64_t storage = 0;
  const bool halve = value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (halve && to != DType::BF16) return round_to(to, static_cast<double>(value));  // beyond every other format's range
  store_integer(to, &storage, 0, static_cast<int64_t>(halve ? (value >> 1 | (value & 1)) : value));
  return load_scalar(to, &storage, 0) * (halve ? 2 : 1);
}

double integer_to_number(DType to, int64_t value) {
  if (to == DType::F64) return static_cast<double>(value);
  if (to == DType::F32) return static_cast<float>(value);
  uint64_t storage = 0;
  store_integer(to, &storage, 0, value);
  return load_scalar(to, &storage, 0);
}

/// Toward zero, modulo 2^64.
int64_t number_to_integer(double value) {
  int64_t result = 0;
  store_scalar(DType::I64, &result, 0, value);
  return result;
}

double wrapped_number(DType to, double value) {
  uint64_t storage = 0;
  store_scalar(to, &storage, 0, value, false);
  return load_scalar(to, &storage, 0);
}

void cast_block(const ScalarInstr& instr, DType from, const ScalarBlock& block) {
  const DType to = instr.dtype;
  const ScalarDomain source = domain_of(from);
  const bool wraps = instr.fn == Fn::CastWrap && to != DType::F32 && to != DType::F64;
  if (domain_of(to) == ScalarDomain::Number) {
    for (int64_t i = 0; i < block.count; ++i) {
      const ScalarValue a = block.a[i];
      double value = a.number;
      if (source == ScalarDomain::Integer) value = integer_to_number(wraps ? DType::F64 : to, a.integer);
      if (source == ScalarDomain::Unsigned)
        value = unsigned_to_number(wraps ? DType::F64 : to, static_cast<uint64_t>(a.integer));
      block.out[i].number = wraps ? wrapped_number(to, value) : value;
    }
    if (source == ScalarDomain::Number && !wraps) round_numbers(to, block.out, block.count);
    return;
  }
  for (int64_t i = 0; i < block.count; ++i) {
    const ScalarValue a = block.a[i];
    const bool number = source == ScalarDomain::Number;
    if (to == DType::Bool) {
      block.out[i].integer = (number ? a.number != 0 : a.integer != 0) ? 1 : 0;  // NaN is true
    } else {
      block.out[i].integer = number ? number_to_integer(a.number) : a.integer;
    }
  }
  wrap_integers(to, block.out, block.count);
}

void bit_cast_block(DType to, DType from, const ScalarBlock& block) {
  for (int64_t i = 0; i < block.count; ++i) {
    uint64_t storage = 0;
    if (domain_of(from) == ScalarDomain::Number) {
      store_scalar(from, &storage, 0, block.a[i].number);
    } else {
      store_integer(from, &storage, 0, block.a[i].integer);
    }
    if (domain_of(to) == ScalarDomain::Number) {
      block.out[i].number = load_scalar(to, &storage, 0);
    } else {
      block.out[i].integer = load_integer(to, &storage, 0);
    }
  }
}

bool is_cast(Fn fn) { return fn == Fn::Cast || fn == Fn::CastWrap || fn == Fn::BitCast; }

bool apply(Fn fn, ScalarDomain domain, const ScalarBlock& block) {
  switch (domain) {
    case ScalarDomain::Number: return apply_numbers(fn, block);
    case ScalarDomain::Integer: return apply_integers<int64_t>(fn, block);
    case ScalarDomain::Unsigned: return apply_integers<uint64_t>(fn, block);
    case ScalarDomain::Opaque: return false;
  }
  return false;
}

}  // namespace

ScalarDomain domain_of(DType dtype) {
  if (is_float(dtype)) return ScalarDomain::Number;
  if (dtype == DType::U64) return ScalarDomain::Unsigned;
  if (is_integer(dtype) || dtype == DType::Bool) return ScalarDomain::Integer;
  return ScalarDomain::Opaque;
}

bool is_defined(Fn fn, DType operand) {
  const ScalarDomain domain = domain_of(operand);
  if (fn == Fn::Input || fn == Fn::Constant || fn == Fn::Where) return true;
  if (domain == ScalarDomain::Opaque) return fn == Fn::Copy || fn == Fn::Equal;
  return is_cast(fn) || apply(fn, domain, ScalarBlock{});
}

void evaluate_block(const ScalarInstr& instr, DType operand, const ScalarBlock& block) {
  if (instr.fn == Fn::Constant) {
    ScalarValue value;
    if (domain_of(instr.dtype) == ScalarDomain::Number) {
      value.number = instr.number;
    } else {
      value.integer = instr.integer;
    }
    std::fill_n(block.out, block.count, value);
    return;
  }
  if (instr.fn == Fn::Where) {
    for (int64_t i = 0; i < block.count; ++i) block.out[i] = block.a[i].integer != 0 ? block.b[i] : block.c[i];
    return;
  }
  if (instr.fn == Fn::BitCast) return bit_cast_block(instr.dtype, operand, block);
  if (is_cast(instr.fn)) return cast_block(instr, operand, block);
  const bool defined = apply(instr.fn, domain_of(operand), block);
  STROP_CHECK(defined, "{} is not defined for {}", to_string(instr.fn), to_string(operand));
  if (result_rule(instr.fn) == ScalarResult::Bool || instr.fn == Fn::Copy) return;
  if (domain_of(instr.dtype) == ScalarDomain::Number) {
    round_numbers(instr.dtype, block.out, block.count);
  } else {
    wrap_integers(instr.dtype, block.out, block.count);
  }
}

}  // namespace strop::ops
