// Loops over F32 tiles of elementary functions.
#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pointwise/f32_math.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <cmath>

#include "kernels/pointwise/loops_inl.h"
//
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {
namespace {

double exact_sin(double a) { return std::sin(a); }
double exact_cos(double a) { return std::cos(a); }
HWY_INLINE V sin_vector(V a) { return hn::IfThenElse(hn::Eq(a, hn::Zero(kD)), a, hn::Sin(kD, a)); }  // keeps -0
HWY_INLINE V cos_vector(V a) { return hn::Cos(kD, a); }

/// The vector function reduces its argument well enough only below a bound: beyond it, one element at a time.
template <V (*kVector)(V), double (*kExact)(double)>
void periodic_loop(const TileLoopArgs& args) {
  constexpr float kBound = 10000.0f;
  const auto* a = static_cast<const float*>(args.a);
  auto* out = static_cast<float*>(args.out);
  for (int64_t i = 0; i < args.n; i += kLanes) {
    const int64_t count = std::min(kLanes, args.n - i);
    const V x = load_part(a + i, count);
    if (hn::AllTrue(kD, hn::Le(hn::Abs(x), splat(kBound)))) {
      store_part(kVector(x), out + i, count);
    } else {
      for (int64_t k = i; k < i + count; ++k) out[k] = static_cast<float>(kExact(a[k]));
    }
  }
}

#define STROP_F1(name, expression)                        \
  struct name {                                           \
    static HWY_INLINE V apply(V a) { return expression; } \
  };
#define STROP_F2(name, expression)                             \
  struct name {                                                \
    static HWY_INLINE V apply(V a, V b) { return expression; } \
  };

HWY_INLINE V elu_vector(V a, V alpha) {
  return hn::IfThenElse(hn::Lt(a, hn::Zero(kD)), hn::Mul(alpha, expm1_vector(a)), a);
}
HWY_INLINE V celu_vector(V a, V alpha) {
  return hn::IfThenElse(hn::Lt(a, hn::Zero(kD)), hn::Mul(alpha, expm1_vector(hn::Div(a, alpha))), a);
}

// clang-format off
#define STROP_UNARY(X)                                                                                                 \
  X(Exp, exp_vector(a)) X(Log, log_vector(a)) X(Tanh, tanh_vector(a)) X(Erf, erf_vector(a))                            \
  X(Sigmoid, sigmoid_vector(a)) X(Softplus, softplus_vector(a)) X(Gelu, gelu_vector(a))                                \
  X(GeluTanh, gelu_tanh_vector(a)) X(Silu, hn::Mul(a, sigmoid_vector(a))) X(Mish, mish_vector(a))

#define STROP_PARAMETRIC(X)                                                                                            \
  X(Elu, elu_vector(a, b)) X(Celu, celu_vector(a, b)) X(Swish, hn::Mul(a, sigmoid_vector(hn::Mul(a, b))))
// clang-format on

STROP_UNARY(STROP_F1)
STROP_PARAMETRIC(STROP_F2)

struct Selu {
  static HWY_INLINE V apply(V a, V alpha, V gamma) {
    const V below = hn::Mul(alpha, expm1_vector(a));
    return hn::Mul(gamma, hn::IfThenElse(hn::Gt(a, hn::Zero(kD)), a, below));
  }
};

#define STROP_ROW1(name, expression) {#name, "v", &loop1<name, float>},
#define STROP_ROWP(name, expression) \
  {#name, "vv", &loop2<name, float, false, false>}, {#name, "vs", &loop2<name, float, false, true>},

std::span<const LoopRow> math_rows() {
  static constexpr LoopRow kRows[] = {
      STROP_UNARY(STROP_ROW1) STROP_PARAMETRIC(STROP_ROWP){"Selu", "vss", &loop3<Selu, float, float, true, true>},
      {"Sin", "v", &periodic_loop<sin_vector, exact_sin>},
      {"Cos", "v", &periodic_loop<cos_vector, exact_cos>},
  };
  return kRows;
}

}  // namespace
std::span<const LoopRow> f32_math_table() { return math_rows(); }
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

std::span<const LoopRow> f32_math_rows(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::f32_math_table();
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::f32_math_table();
#endif
    default: return HWY_STATIC_DISPATCH(f32_math_table)();
  }
}

}  // namespace strop::kernels
#endif
