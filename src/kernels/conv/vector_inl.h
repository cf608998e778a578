/// Vector helpers of the convolution and pooling kernels. Included once per Highway target, hence the toggling guard.
#if defined(STROP_KERNELS_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STROP_KERNELS_VECTOR_INL_H
#undef STROP_KERNELS_VECTOR_INL_H
#else
#define STROP_KERNELS_VECTOR_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D kD{};
#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kLanes = 1;
#else
constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(float);  // none of our targets is of unknown width
#endif

/// x < lo ? lo : x > hi ? hi : x, so that NaN survives.
HWY_INLINE V clamp_vector(V x, V lo, V hi) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  x = hn::IfThenElse(hn::Lt(x, lo), lo, x);
  return hn::IfThenElse(hn::Gt(x, hi), hi, x);
#else
  return hn::Min(hi, hn::Max(lo, x));  // x86 min and max return their second operand if either is NaN
#endif
}

/// The greater of the two; NaN if either is.
HWY_INLINE V max_or_nan(V acc, V x) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Or(hn::Gt(x, acc), hn::IsNaN(x)), x, acc);
#else
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, acc));  // Max returns acc if acc is NaN
#endif
}

/// The first `count` lanes (at least 1), zeros beyond; reads nothing else.
HWY_INLINE V load_part(const float* from, int64_t count) {
  return count >= kLanes ? hn::LoadU(kD, from) : hn::MaskedLoad(hn::FirstN(kD, static_cast<size_t>(count)), kD, from);
}
HWY_INLINE void store_part(V x, float* to, int64_t count) {
  if (count >= kLanes) {
    hn::StoreU(x, kD, to);
  } else {
    hn::BlendedStore(x, hn::FirstN(kD, static_cast<size_t>(count)), kD, to);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();
#endif  // toggling guard
