#include "kernels/pool/plane_kernels.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/plane_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/conv/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {

struct PlaneMax {
  static HWY_INLINE V start() { return hn::Set(kD, -std::numeric_limits<float>::infinity()); }
  static HWY_INLINE V join(V acc, V x) { return max_or_nan(acc, x); }
  static float start_one() { return -std::numeric_limits<float>::infinity(); }
  static float join_one(float acc, float x) { return x > acc || x != x ? x : acc; }
};
struct PlaneSum {
  static HWY_INLINE V start() { return hn::Zero(kD); }
  static HWY_INLINE V join(V acc, V x) { return hn::Add(acc, x); }
  static float start_one() { return 0; }
  static float join_one(float acc, float x) { return acc + x; }
};

template <class Op>
void join_row(const float* row, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(Op::join(hn::LoadU(kD, to + i), hn::LoadU(kD, row + i)), kD, to + i);
  }
  for (; i < count; ++i) to[i] = Op::join_one(to[i], row[i]);
}

/// Strides 1 and 2 in vectors.
template <class Op, int kStride>
HWY_INLINE void slide_vectors(const float* row, const RowWindow& window, int64_t count, float* out) {
  for (int64_t i = 0; i < count; i += kLanes) {
    V acc = Op::start();
    for (int64_t k = 0; k < window.kernel; ++k) {
      const float* from = row + i * kStride + k * window.dilation;
      V x;
      if constexpr (kStride == 1) {
        x = hn::LoadU(kD, from);
      } else {
        V skipped;
        hn::LoadInterleaved2(kD, from, x, skipped);
      }
      acc = Op::join(acc, x);
    }
    store_part(acc, out + i, count - i);
  }
}

template <class Op>
void slide(const float* row, const RowWindow& window, int64_t count, float* out) {
  if (window.stride == 1) return slide_vectors<Op, 1>(row, window, count, out);
  if (window.stride == 2) return slide_vectors<Op, 2>(row, window, count, out);
  for (int64_t i = 0; i < count; ++i) {
    float acc = Op::start_one();
    for (int64_t k = 0; k < window.kernel; ++k) {
      acc = Op::join_one(acc, row[i * window.stride + k * window.dilation]);
    }
    out[i] = acc;
  }
}

void divide_row(float rows, const float* columns, int64_t count, float* row) {
  const V by = hn::Set(kD, rows);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t lanes = count - i;
    store_part(hn::Div(load_part(row + i, lanes), hn::Mul(by, load_part(columns + i, lanes))), row + i, lanes);
  }
}

constexpr PlaneKernels kPlaneKernels{join_row<PlaneMax>, join_row<PlaneSum>, slide<PlaneMax>, slide<PlaneSum>,
                                     divide_row};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

const PlaneKernels& plane_kernels(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kPlaneKernels;
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kPlaneKernels;
#endif
    default: return HWY_STATIC_DISPATCH(kPlaneKernels);
  }
}

}  // namespace strop::kernels
#endif  // HWY_ONCE
