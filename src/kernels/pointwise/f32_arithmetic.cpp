// Loops over F32 tiles that are one or a few instructions per vector.
#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pointwise/f32_arithmetic.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/pointwise/loops_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE V sign_vector(V a) {
  const V zero = hn::Zero(kD);
  const V below = hn::IfThenElse(hn::Lt(a, zero), splat(-1.0f), hn::Add(a, zero));  // -0 + 0 is 0; NaN stays
  return hn::IfThenElse(hn::Gt(a, zero), splat(1.0f), below);
}

// As the reference has them: equal operands give b, NaN of either side survives.
HWY_INLINE V min_vector(V a, V b) { return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b); }
HWY_INLINE V max_vector(V a, V b) { return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b); }

/// Gives zeros the sign of the operand, which hn's rounding loses where it is emulated.
HWY_INLINE V signed_as(V a, V rounded) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::CopySign(rounded, a);
#else
  (void)a;
  return rounded;
#endif
}

HWY_INLINE V relu_vector(V a) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Lt(a, hn::Zero(kD)), hn::Zero(kD), a);
#else
  return hn::Max(hn::Zero(kD), a);  // gives a if the operands are equal or NaN
#endif
}

HWY_INLINE V hard_unit(V a) { return clamp_vector(a, hn::Zero(kD), splat(1.0f)); }

HWY_INLINE V shrink_vector(V a, V bias, V lambda) {
  const V above = hn::IfThenElseZero(hn::Gt(a, lambda), hn::Sub(a, bias));
  return hn::IfThenElse(hn::Lt(a, hn::Neg(lambda)), hn::Add(a, bias), above);
}

/// The square root of pow(a, 0.5): 0 for -0, infinity for -infinity.
HWY_INLINE V root_vector(V a) {
  const V infinity = splat(std::numeric_limits<float>::infinity());
  const V root = hn::Sqrt(hn::Add(a, hn::Zero(kD)));
  return hn::IfThenElse(hn::Eq(a, hn::Neg(infinity)), infinity, root);
}

#define STROP_F1(name, expression)                           \
  struct name {                                              \
    static HWY_INLINE auto apply(V a) { return expression; } \
  };
#define STROP_F2(name, expression)                                \
  struct name {                                                   \
    static HWY_INLINE auto apply(V a, V b) { return expression; } \
  };
#define STROP_F3(name, expression)                                     \
  struct name {                                                        \
    static HWY_INLINE auto apply(V a, V b, V c) { return expression; } \
  };

// clang-format off
#define STROP_UNARY(X)                                                                                                 \
  X(Copy, a) X(Abs, hn::Abs(a)) X(Neg, hn::Neg(a)) X(Sign, sign_vector(a)) X(Floor, signed_as(a, hn::Floor(a))) X(Ceil, signed_as(a, hn::Ceil(a))) \
  X(Round, signed_as(a, hn::Round(a))) X(Sqrt, hn::Sqrt(a)) X(Rsqrt, hn::Div(splat(1.0f), hn::Sqrt(a)))                              \
  X(Reciprocal, hn::Div(splat(1.0f), a)) X(Relu, relu_vector(a))                                                       \
  X(Softsign, hn::Div(a, hn::Add(splat(1.0f), hn::Abs(a))))                                                            \
  X(HardSwish, hn::Mul(a, hard_unit(hn::MulAdd(a, splat(1.0f / 6), splat(0.5f)))))                                     \
  X(IsNaN, mask_to_ints(hn::IsNaN(a)))                                                                                 \
  X(IsPosInf, mask_to_ints(hn::Eq(a, splat(std::numeric_limits<float>::infinity()))))                                  \
  X(IsNegInf, mask_to_ints(hn::Eq(a, splat(-std::numeric_limits<float>::infinity()))))                                 \
  X(Cube, hn::Mul(hn::Mul(a, a), a)) X(PowHalf, root_vector(a))

#define STROP_BINARY(X)                                                                                                \
  X(Add, hn::Add(a, b)) X(Sub, hn::Sub(a, b)) X(Mul, hn::Mul(a, b)) X(Div, hn::Div(a, b))                              \
  X(Min, min_vector(a, b)) X(Max, max_vector(a, b))                                                                    \
  X(Equal, mask_to_ints(hn::Eq(a, b))) X(Less, mask_to_ints(hn::Lt(a, b))) X(LessEqual, mask_to_ints(hn::Le(a, b)))    \
  X(Greater, mask_to_ints(hn::Gt(a, b))) X(GreaterEqual, mask_to_ints(hn::Ge(a, b)))

#define STROP_PARAMETRIC(X)                                                                                            \
  X(LeakyRelu, hn::IfThenElse(hn::Lt(a, hn::Zero(kD)), hn::Mul(b, a), a))                                              \
  X(ThresholdedRelu, hn::IfThenElseZero(hn::Gt(a, b), a))

#define STROP_TERNARY(X)                                                                                               \
  X(Clip, clamp_vector(a, b, c)) X(HardSigmoid, hard_unit(hn::Add(hn::Mul(b, a), c))) X(Shrink, shrink_vector(a, b, c))
// clang-format on

STROP_UNARY(STROP_F1)
STROP_BINARY(STROP_F2)
STROP_PARAMETRIC(STROP_F2)
STROP_TERNARY(STROP_F3)

struct Where {
  static HWY_INLINE V apply(VI condition, V b, V c) {
    const auto chosen = hn::Ne(condition, hn::Zero(kDI));
    return hn::IfThenElse(hn::RebindMask(kD, chosen), b, c);
  }
};

#define STROP_ROW1(name, expression) {#name, "v", &loop1<name, float>},
#define STROP_ROW2(name, expression)                                                                 \
  {#name, "vv", &loop2<name, float, false, false>}, {#name, "vs", &loop2<name, float, false, true>}, \
      {#name, "sv", &loop2<name, float, true, false>},
#define STROP_ROWP(name, expression) \
  {#name, "vv", &loop2<name, float, false, false>}, {#name, "vs", &loop2<name, float, false, true>},
#define STROP_ROW3(name, expression) \
  {#name, "vvv", &loop3<name, float, float, false, false>}, {#name, "vss", &loop3<name, float, float, true, true>},

std::span<const LoopRow> arithmetic_rows() {
  static constexpr LoopRow kRows[] = {
      STROP_UNARY(STROP_ROW1) STROP_BINARY(STROP_ROW2) STROP_PARAMETRIC(STROP_ROWP)
          STROP_TERNARY(STROP_ROW3){"Where", "vvv", &loop3<Where, int32_t, float, false, false>},
      {"Where", "vsv", &loop3<Where, int32_t, float, true, false>},
      {"Where", "vvs", &loop3<Where, int32_t, float, false, true>},
      {"Where", "vss", &loop3<Where, int32_t, float, true, true>},
  };
  return kRows;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
std::span<const LoopRow> f32_arithmetic_table() { return arithmetic_rows(); }
}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

std::span<const LoopRow> f32_arithmetic_rows(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::f32_arithmetic_table();
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::f32_arithmetic_table();
#endif
    default: return HWY_STATIC_DISPATCH(f32_arithmetic_table)();
  }
}

}  // namespace strop::kernels
#endif
