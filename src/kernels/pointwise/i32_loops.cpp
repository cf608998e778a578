// Loops over I32 tiles: 32-bit integers, and bools as 0 and 1.
#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pointwise/i32_loops.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/pointwise/loops_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE VI ones(hn::Mask<DI> mask) { return hn::And(hn::VecFromMask(kDI, mask), hn::Set(kDI, 1)); }
HWY_INLINE VI ones_unless(hn::Mask<DI> mask) { return hn::Xor(ones(mask), hn::Set(kDI, 1)); }
HWY_INLINE VI truth(VI a) { return ones(hn::Ne(a, hn::Zero(kDI))); }

#define STROP_F1(name, expression)                          \
  struct name {                                             \
    static HWY_INLINE VI apply(VI a) { return expression; } \
  };
#define STROP_F2(name, expression)                                \
  struct name {                                                   \
    static HWY_INLINE VI apply(VI a, VI b) { return expression; } \
  };

// clang-format off
#define STROP_UNARY(X)                                                                                                 \
  X(Copy, a) X(Truth, truth(a)) X(Not, hn::Xor(truth(a), hn::Set(kDI, 1))) X(Neg, hn::Neg(a)) X(Relu, hn::Max(a, hn::Zero(kDI)))

#define STROP_BINARY(X)                                                                                                \
  X(Add, hn::Add(a, b)) X(Sub, hn::Sub(a, b)) X(Mul, hn::Mul(a, b)) X(Min, hn::Min(a, b)) X(Max, hn::Max(a, b))        \
  X(Equal, ones(hn::Eq(a, b))) X(Less, ones(hn::Lt(a, b))) X(LessEqual, ones_unless(hn::Gt(a, b)))                            \
  X(Greater, ones(hn::Gt(a, b))) X(GreaterEqual, ones_unless(hn::Lt(a, b)))                                                   \
  X(And, hn::And(truth(a), truth(b))) X(Or, truth(hn::Or(a, b))) X(Xor, hn::Xor(truth(a), truth(b)))
// clang-format on

STROP_UNARY(STROP_F1)
STROP_BINARY(STROP_F2)

struct Where {
  static HWY_INLINE VI apply(VI condition, VI b, VI c) {
    return hn::IfThenElse(hn::Ne(condition, hn::Zero(kDI)), b, c);
  }
};

#define STROP_ROW1(name, expression) {#name, "v", &loop1<name, int32_t>},
#define STROP_ROW2(name, expression)                                                                     \
  {#name, "vv", &loop2<name, int32_t, false, false>}, {#name, "vs", &loop2<name, int32_t, false, true>}, \
      {#name, "sv", &loop2<name, int32_t, true, false>},

std::span<const LoopRow> integer_rows() {
  static constexpr LoopRow kRows[] = {
      STROP_UNARY(STROP_ROW1) STROP_BINARY(STROP_ROW2){"Where", "vvv", &loop3<Where, int32_t, int32_t, false, false>},
  };
  return kRows;
}

}  // namespace
std::span<const LoopRow> i32_table() { return integer_rows(); }
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

std::span<const LoopRow> i32_rows(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::i32_table();
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::i32_table();
#endif
    default: return HWY_STATIC_DISPATCH(i32_table)();
  }
}

}  // namespace strop::kernels
#endif
