#include "kernels/resize/resize_kernels.h"

#include <algorithm>
#include <cstddef>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize/resize_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/conv/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {

using Indices = hn::Rebind<int32_t, D>;
constexpr Indices kIndices{};

void blend_rows(const float* const* rows, const float* weights, int64_t taps, int64_t count, float* out) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t lanes = count - i;
    V sum = hn::Mul(hn::Set(kD, weights[0]), load_part(rows[0] + i, lanes));
    for (int64_t k = 1; k < taps; ++k) sum = hn::MulAdd(hn::Set(kD, weights[k]), load_part(rows[k] + i, lanes), sum);
    store_part(sum, out + i, lanes);
  }
}

void gather_row(const float* row, const int32_t* indices, const float* weights, int64_t taps, int64_t count,
                float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    V sum = hn::GatherIndex(kD, row, hn::LoadU(kIndices, indices + i));
    if (weights != nullptr) {
      sum = hn::Mul(sum, hn::LoadU(kD, weights + i));
      for (int64_t k = 1; k < taps; ++k) {
        const V x = hn::GatherIndex(kD, row, hn::LoadU(kIndices, indices + k * count + i));
        sum = hn::MulAdd(x, hn::LoadU(kD, weights + k * count + i), sum);
      }
    }
    hn::StoreU(sum, kD, out + i);
  }
  for (; i < count; ++i) {
    float sum = row[indices[i]];
    if (weights != nullptr) {
      sum *= weights[i];
      for (int64_t k = 1; k < taps; ++k) sum += row[indices[k * count + i]] * weights[k * count + i];
    }
    out[i] = sum;
  }
}

void twice_row(const float* row, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const V x = hn::LoadU(kD, row + i);
    hn::StoreInterleaved2(x, x, kD, out + 2 * i);
  }
  for (; i < count; ++i) out[2 * i] = out[2 * i + 1] = row[i];
}

constexpr ResizeKernels kResizeKernels{blend_rows, gather_row, twice_row};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

const ResizeKernels& resize_kernels(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kResizeKernels;
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kResizeKernels;
#endif
    default: return HWY_STATIC_DISPATCH(kResizeKernels);
  }
}

}  // namespace strop::kernels
#endif  // HWY_ONCE
