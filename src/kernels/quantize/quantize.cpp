#include "kernels/quantize/quantize.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize/quantize.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
constexpr DF kDF{};
constexpr DI kDI{};
constexpr int64_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(kDF)); }

template <class T>
HWY_INLINE VI load_wide(const T* from) {
  return hn::PromoteTo(kDI, hn::LoadU(hn::Rebind<T, DF>(), from));
}

template <class T>
HWY_INLINE void quantize_vector(VF x, VF scale, VI zero, T* y) {
  const VF zero_f = hn::ConvertTo(kDF, zero);
  const VF lo = hn::Sub(hn::Set(kDF, static_cast<float>(std::numeric_limits<T>::min())), zero_f);
  const VF hi = hn::Sub(hn::Set(kDF, static_cast<float>(std::numeric_limits<T>::max())), zero_f);
  VF quotient = hn::Div(x, scale);
  quotient = hn::IfThenElseZero(hn::Eq(quotient, quotient), quotient);
  quotient = hn::Min(hn::Max(quotient, lo), hi);  // the bounds are whole numbers: rounding cannot leave them
  const VI whole = hn::Add(hn::NearestInt(quotient), zero);
  const hn::Rebind<T, DF> to;
  hn::StoreU(hn::DemoteTo(to, whole), to, y);
}

template <class T>
HWY_INLINE void dequantize_vector(VI x, VF scale, VI zero, float* y) {
  hn::StoreU(hn::Mul(hn::ConvertTo(kDF, hn::Sub(x, zero)), scale), kDF, y);
}

/// Scale and zero point of the elements from `at`, either the shared ones or their own.
template <class T>
struct Parameters {
  const QuantizeRun<T>& run;
  VF scale;
  VI zero;
  HWY_INLINE explicit Parameters(const QuantizeRun<T>& r)
      : run(r), scale(hn::Set(kDF, r.scale[0])), zero(hn::Set(kDI, r.zero_point ? int32_t{r.zero_point[0]} : 0)) {}
  HWY_INLINE void move_to(int64_t at) {
    if (run.step == 0) return;
    scale = hn::LoadU(kDF, run.scale + at);
    if (run.zero_point) zero = load_wide(run.zero_point + at);
  }
};

/// The last elements of a run, copied where whole vectors can be read.
template <class T>
struct Tail {
  float floats[kMaxLanes] = {};
  float scale[kMaxLanes];
  T integers[kMaxLanes] = {};
  T zero_point[kMaxLanes] = {};
  QuantizeRun<T> run;
  Tail(const QuantizeRun<T>& from, int64_t at) {
    std::fill_n(scale, kMaxLanes, 1.0f);
    for (int64_t i = 0; i < kMaxLanes; ++i) {
      const int64_t source = from.step == 0 ? 0 : std::min(at + i, from.count - 1);
      scale[i] = from.scale[source];
      if (from.zero_point) zero_point[i] = from.zero_point[source];
    }
    run = {kMaxLanes, scale, zero_point, 1};
  }
};

template <class T>
void quantize(const QuantizeRun<T>& run, const float* x, T* y) {
  if (run.count <= 0) return;
  const int64_t step = lanes();
  int64_t i = 0;
  Parameters<T> parameters(run);
  for (; i + step <= run.count; i += step) {
    parameters.move_to(i);
    quantize_vector(hn::LoadU(kDF, x + i), parameters.scale, parameters.zero, y + i);
  }
  if (i == run.count) return;
  Tail<T> tail(run, i);
  std::copy(x + i, x + run.count, tail.floats);
  Parameters<T> last(tail.run);
  last.move_to(0);
  quantize_vector(hn::LoadU(kDF, tail.floats), last.scale, last.zero, tail.integers);
  std::copy_n(tail.integers, run.count - i, y + i);
}

template <class T>
void dequantize(const QuantizeRun<T>& run, const T* x, float* y) {
  if (run.count <= 0) return;
  const int64_t step = lanes();
  int64_t i = 0;
  Parameters<T> parameters(run);
  for (; i + step <= run.count; i += step) {
    parameters.move_to(i);
    dequantize_vector<T>(load_wide(x + i), parameters.scale, parameters.zero, y + i);
  }
  if (i == run.count) return;
  Tail<T> tail(run, i);
  std::copy(x + i, x + run.count, tail.integers);
  Parameters<T> last(tail.run);
  last.move_to(0);
  dequantize_vector<T>(load_wide(tail.integers), last.scale, last.zero, tail.floats);
  std::copy_n(tail.floats, run.count - i, y + i);
}

FloatRange range_of(const float* x, int64_t count) {
  FloatRange range;
  const int64_t step = lanes();
  VF low = hn::Zero(kDF);
  VF high = low;
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    const VF v = hn::LoadU(kDF, x + i);
    low = hn::IfThenElse(hn::Lt(v, low), v, low);
    high = hn::IfThenElse(hn::Gt(v, high), v, high);
  }
  range.minimum = hn::GetLane(hn::MinOfLanes(kDF, low));
  range.maximum = hn::GetLane(hn::MaxOfLanes(kDF, high));
  for (; i < count; ++i) {
    range.minimum = x[i] < range.minimum ? x[i] : range.minimum;
    range.maximum = x[i] > range.maximum ? x[i] : range.maximum;
  }
  return range;
}

template <class T>
constexpr QuantizeKernels<T> kQuantizeKernels{quantize<T>, dequantize<T>};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

template <class T>
const QuantizeKernels<T>& quantize_kernels(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kQuantizeKernels<T>;
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kQuantizeKernels<T>;
#endif
    default: return HWY_STATIC_DISPATCH(kQuantizeKernels<T>);
  }
}
template const QuantizeKernels<uint8_t>& quantize_kernels(CpuTarget target);
template const QuantizeKernels<int8_t>& quantize_kernels(CpuTarget target);
template const QuantizeKernels<uint16_t>& quantize_kernels(CpuTarget target);
template const QuantizeKernels<int16_t>& quantize_kernels(CpuTarget target);

FloatRange float_range(CpuTarget target, const float* x, int64_t count) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::range_of(x, count);
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::range_of(x, count);
#endif
    default: return HWY_STATIC_DISPATCH(range_of)(x, count);
  }
}

}  // namespace strop::kernels
#endif  // HWY_ONCE
