/// How a function on vectors becomes a tile loop. Included once per Highway target, hence the toggling guard.
#if defined(STROP_KERNELS_POINTWISE_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STROP_KERNELS_POINTWISE_LOOPS_INL_H
#undef STROP_KERNELS_POINTWISE_LOOPS_INL_H
#else
#define STROP_KERNELS_POINTWISE_LOOPS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/pointwise/loop_rows.h"
#include "kernels/pointwise/vector_math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {

using M = hn::Mask<D>;

/// 0 and 1 where a mask is false and true.
HWY_INLINE VI mask_to_ints(M mask) { return hn::And(hn::BitCast(kDI, hn::VecFromMask(kD, mask)), hn::Set(kDI, 1)); }

/// An operand of 4-byte elements: a tile or one value for all. Lane is float or int32_t.
template <class Lane, bool kScalar>
class Reader {
 public:
  using Tag = hn::ScalableTag<Lane>;
  using Vector = hn::Vec<Tag>;
  HWY_INLINE explicit Reader(const void* data)
      : data_(static_cast<const Lane*>(data)), value_(hn::Set(Tag(), kScalar ? *data_ : Lane{})) {}
  HWY_INLINE Vector whole(int64_t i) const {
    if constexpr (kScalar) return value_;
    return hn::LoadU(Tag(), data_ + i);
  }
  HWY_INLINE Vector part(int64_t i, int64_t count) const {
    if constexpr (kScalar) return value_;
    return hn::MaskedLoad(hn::FirstN(Tag(), static_cast<size_t>(count)), Tag(), data_ + i);
  }

 private:
  const Lane* data_;
  Vector value_;
};

HWY_INLINE void store_whole(V x, void* out, int64_t i) { hn::StoreU(x, kD, static_cast<float*>(out) + i); }
HWY_INLINE void store_rest(V x, void* out, int64_t i, int64_t count) {
  hn::BlendedStore(x, hn::FirstN(kD, static_cast<size_t>(count)), kD, static_cast<float*>(out) + i);
}
HWY_INLINE void store_whole(VI x, void* out, int64_t i) { hn::StoreU(x, kDI, static_cast<int32_t*>(out) + i); }
HWY_INLINE void store_rest(VI x, void* out, int64_t i, int64_t count) {
  hn::BlendedStore(x, hn::FirstN(kDI, static_cast<size_t>(count)), kDI, static_cast<int32_t*>(out) + i);
}

/// out = F::apply(a), and so on for two and three operands. The flags say which are one value for all.
template <class F, class A>
void loop1(const TileLoopArgs& args) {
  const Reader<A, false> a(args.a);
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) store_whole(F::apply(a.whole(i)), args.out, i);
  if (i < args.n) store_rest(F::apply(a.part(i, args.n - i)), args.out, i, args.n - i);
}

template <class F, class T, bool kA, bool kB>
void loop2(const TileLoopArgs& args) {
  const Reader<T, kA> a(args.a);
  const Reader<T, kB> b(args.b);
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) store_whole(F::apply(a.whole(i), b.whole(i)), args.out, i);
  if (i < args.n) store_rest(F::apply(a.part(i, args.n - i), b.part(i, args.n - i)), args.out, i, args.n - i);
}

template <class F, class A, class T, bool kB, bool kC>
void loop3(const TileLoopArgs& args) {
  const Reader<A, false> a(args.a);
  const Reader<T, kB> b(args.b);
  const Reader<T, kC> c(args.c);
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) store_whole(F::apply(a.whole(i), b.whole(i), c.whole(i)), args.out, i);
  if (const int64_t rest = args.n - i; rest > 0) {
    store_rest(F::apply(a.part(i, rest), b.part(i, rest), c.part(i, rest)), args.out, i, rest);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();
#endif  // toggling guard
