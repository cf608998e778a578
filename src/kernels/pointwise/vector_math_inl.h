/// Elementary functions on vectors of floats. Errors are at most about 3 ulp unless said otherwise; NaN gives NaN,
/// infinities and zeros give what the exact functions give. Polynomials were fitted to the exact functions at Chebyshev
/// points. Included once per Highway target, hence the toggling guard.
#if defined(STROP_KERNELS_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STROP_KERNELS_VECTOR_MATH_INL_H
#undef STROP_KERNELS_VECTOR_MATH_INL_H
#else
#define STROP_KERNELS_VECTOR_MATH_INL_H
#endif

#include <hwy/highway.h>

#include <limits>

#include "kernels/conv/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {

using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;
constexpr DI kDI{};

HWY_INLINE V splat(float value) { return hn::Set(kD, value); }

/// c[0] + c[1] x + …, by Horner's rule.
template <size_t N>
HWY_INLINE V polynomial(V x, const float (&c)[N]) {
  V sum = splat(c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) sum = hn::MulAdd(sum, x, splat(c[i]));
  return sum;
}

/// 2^n for n in [-126, 127].
HWY_INLINE V power_of_two(VI n) { return hn::BitCast(kD, hn::ShiftLeft<23>(hn::Add(n, hn::Set(kDI, 127)))); }

/// x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) - 1 = r + r^2 q.
struct ExpParts {
  VI n;
  V r;
  V tail;  ///< r^2 q
};
HWY_INLINE ExpParts split_exp(V x) {
  constexpr float kTail[] = {0.50000001f, 0.166665177f, 0.0416662023f, 0.00836902505f, 0.00139507239f};
  const V whole = hn::Round(hn::Mul(x, splat(1.44269504f)));
  // ln 2 in two parts: the first has few enough bits that its product with n is exact.
  V r = hn::NegMulAdd(whole, splat(0.693145752f), x);
  r = hn::NegMulAdd(whole, splat(1.42860677e-6f), r);
  return {hn::ConvertTo(kDI, whole), r, hn::Mul(hn::Mul(r, r), polynomial(r, kTail))};
}

HWY_INLINE V exp_vector(V x) {
  x = clamp_vector(x, splat(-104.0f), splat(89.0f));  // beyond: 0 and infinity, which the scaling below gives
  const ExpParts parts = split_exp(x);
  const V value = hn::Add(hn::Add(parts.tail, parts.r), splat(1.0f));
  const VI half = hn::ShiftRight<1>(parts.n);  // in two steps, for subnormal results and 2^128
  return hn::Mul(hn::Mul(value, power_of_two(half)), power_of_two(hn::Sub(parts.n, half)));
}

/// exp(x) for x <= 0 or NaN, in fewer steps; 0 below -87, where results would be subnormal.
HWY_INLINE V exp_nonpositive(V x) {
  const ExpParts parts = split_exp(x);
  const V value = hn::Add(hn::Add(parts.tail, parts.r), splat(1.0f));
  return hn::IfThenZeroElse(hn::Lt(x, splat(-87.0f)), hn::Mul(value, power_of_two(parts.n)));
}

/// exp(x) - 1; infinity from 88 on (0.7 early).
HWY_INLINE V expm1_vector(V x) {
  const V bounded = clamp_vector(x, splat(-25.0f), splat(88.0f));
  const ExpParts parts = split_exp(bounded);
  const V scale = power_of_two(parts.n);
  const V small = hn::Add(parts.tail, parts.r);
  const V value = hn::MulAdd(scale, small, hn::Sub(scale, splat(1.0f)));
  const V finite = hn::IfThenElse(hn::Eq(x, hn::Zero(kD)), x, value);  // keeps -0
  return hn::IfThenElse(hn::Gt(x, splat(88.0f)), splat(std::numeric_limits<float>::infinity()), finite);
}

HWY_INLINE V tanh_vector(V x) {
  const V magnitude = clamp_vector(hn::Abs(x), hn::Zero(kD), splat(9.5f));
  const V e = expm1_vector(hn::Add(magnitude, magnitude));
  return hn::CopySign(hn::Div(e, hn::Add(e, splat(2.0f))), x);
}

HWY_INLINE V sigmoid_vector(V x) { return hn::Div(splat(1.0f), hn::Add(splat(1.0f), exp_vector(hn::Neg(x)))); }

/// log(1 + u) for u in [0, 1]: 2 atanh(u / (2 + u)).
HWY_INLINE V log1p_unit(V u) {
  constexpr float kSeries[] = {0.666664131f, 0.400216992f, 0.279991394f, 0.280244657f};
  const V s = hn::Div(u, hn::Add(u, splat(2.0f)));
  const V s2 = hn::Mul(s, s);
  return hn::MulAdd(hn::Mul(hn::Mul(s, s2), splat(1.0f)), polynomial(s2, kSeries), hn::Add(s, s));
}

HWY_INLINE V log_vector(V x) {
  // Subnormals are scaled up first. Then x = 2^n m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)).
  constexpr float kSeries[] = {0.666664131f, 0.400216992f, 0.279991394f, 0.280244657f};
  const auto tiny = hn::Lt(x, splat(std::numeric_limits<float>::min()));
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, splat(33554432.0f)), x);  // 2^25
  const VI bits = hn::BitCast(kDI, scaled);
  const VI offset = hn::Sub(bits, hn::Set(kDI, 0x3f3504f3));  // of sqrt(1/2)
  const VI n = hn::ShiftRight<23>(offset);
  const V m = hn::BitCast(kD, hn::Sub(bits, hn::ShiftLeft<23>(n)));
  const V exponent = hn::Sub(hn::ConvertTo(kD, n), hn::IfThenElseZero(tiny, splat(25.0f)));
  const V f = hn::Sub(m, splat(1.0f));
  const V s = hn::Div(f, hn::Add(m, splat(1.0f)));
  const V s2 = hn::Mul(s, s);
  // 2 s = f - s f, which is more exact than s + s: f is exact.
  const V series = hn::Mul(s2, polynomial(s2, kSeries));
  const V mantissa = hn::Sub(f, hn::Mul(s, hn::Sub(f, series)));
  V result = hn::MulAdd(exponent, splat(0.693145752f), hn::MulAdd(exponent, splat(1.42860677e-6f), mantissa));
  const V infinity = splat(std::numeric_limits<float>::infinity());
  result = hn::IfThenElse(hn::Eq(x, infinity), x, result);
  result = hn::IfThenElse(hn::Eq(x, hn::Zero(kD)), hn::Neg(infinity), result);
  const auto defined = hn::Ge(x, hn::Zero(kD));  // not NaN either
  return hn::IfThenElse(defined, result, splat(std::numeric_limits<float>::quiet_NaN()));
}

/// exp(z^2) erfc(z) for z >= 0, relative error 6e-8: t P(t) with t = 1 / (1 + 0.4 z), fitted on [0, 10.2].
HWY_INLINE V scaled_erfc(V z) {
  constexpr float kSeries[] = {0.225636955f,  0.226397018f,  0.202213954f,  0.192127678f, 0.082703413f,
                               0.0837326252f, 0.0876573522f, -0.142081825f, 0.0416128924f};
  const V t = hn::Div(splat(1.0f), hn::MulAdd(splat(0.4f), z, splat(1.0f)));
  return hn::Mul(t, polynomial(t, kSeries));
}

HWY_INLINE V erf_vector(V x) {
  constexpr float kSmall[] = {1.12837917f,    -0.376126188f,  0.112833766f,
                              -0.0268346245f, 0.00511434545f, -0.000674951252f};
  const V z = clamp_vector(hn::Abs(x), hn::Zero(kD), splat(5.0f));
  const V square = hn::Mul(z, z);
  const V near = hn::Mul(x, polynomial(square, kSmall));
  const V far = hn::NegMulAdd(scaled_erfc(z), exp_vector(hn::Neg(square)), splat(1.0f));
  return hn::IfThenElse(hn::Lt(z, splat(0.75f)), near, hn::CopySign(far, x));
}

/// 0.5 x erfc(-x / sqrt(2)): relative accuracy in the negative tail too (where the error grows as x^2 ulp).
HWY_INLINE V gelu_vector(V x) {
  const V z = hn::Mul(hn::Abs(x), splat(0.707106781f));
  const V bounded = clamp_vector(z, hn::Zero(kD), splat(10.5f));
  const V below = hn::Mul(hn::Mul(splat(0.5f), scaled_erfc(bounded)), exp_vector(hn::Neg(hn::Mul(bounded, bounded))));
  const V share = hn::IfThenElse(hn::Lt(x, hn::Zero(kD)), below, hn::Sub(splat(1.0f), below));
  const V limit = splat(std::numeric_limits<float>::infinity());
  return hn::Mul(x, hn::IfThenZeroElse(hn::Eq(x, hn::Neg(limit)), share));  // at -infinity: NaN, as -inf * 0
}

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(2u).
HWY_INLINE V gelu_tanh_vector(V x) {
  const V cube = hn::Mul(hn::Mul(x, x), hn::Mul(x, splat(0.0713548163f)));  // 2 sqrt(2/pi) 0.044715
  return hn::Mul(x, sigmoid_vector(hn::MulAdd(x, splat(1.59576912f), cube)));
}

HWY_INLINE V softplus_vector(V x) {
  const V zero = hn::Zero(kD);
  const V above = hn::IfThenElse(hn::Lt(x, zero), zero, x);
  return hn::Add(above, log1p_unit(exp_vector(hn::Neg(hn::Abs(x)))));
}

/// x tanh(log(1 + e)) = x e (e + 2) / (e (e + 2) + 2) with e = exp(x).
HWY_INLINE V mish_vector(V x) {
  const V e = exp_vector(clamp_vector(x, splat(-104.0f), splat(20.0f)));
  const V n = hn::Mul(e, hn::Add(e, splat(2.0f)));
  return hn::Mul(x, hn::Div(n, hn::Add(n, splat(2.0f))));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();
#endif  // toggling guard
