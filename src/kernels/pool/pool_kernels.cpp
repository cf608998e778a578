#include "kernels/pool/pool_kernels.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/conv/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kWide = 4;       // vectors of channels side by side, to hide latencies
constexpr int64_t kSegment = 128;  // pixels that are summed in fp32 before they join a total in double

struct MaxOf {
  static V start() { return hn::Set(kD, -std::numeric_limits<float>::infinity()); }
  static HWY_INLINE V join(V acc, V x) { return max_or_nan(acc, x); }
};
struct SumOf {
  static V start() { return hn::Zero(kD); }
  static HWY_INLINE V join(V acc, V x) { return hn::Add(acc, x); }
};

/// Reduces pixels row(0) .. row(count - 1), finishes every vector of channels with finish(vector) and stores it.
template <class Op, class Row, class Finish>
HWY_INLINE void reduce(const Row& row, int64_t count, int64_t channels, float* out, const Finish& finish) {
  int64_t c = 0;
  for (; c + kWide * kLanes <= channels; c += kWide * kLanes) {
    V acc[kWide];
    HWY_UNROLL(4) for (int64_t v = 0; v < kWide; ++v) acc[v] = Op::start();
    for (int64_t i = 0; i < count; ++i) {
      const float* from = row(i) + c;
      HWY_UNROLL(4) for (int64_t v = 0; v < kWide; ++v) acc[v] = Op::join(acc[v], hn::LoadU(kD, from + v * kLanes));
    }
    HWY_UNROLL(4) for (int64_t v = 0; v < kWide; ++v) hn::StoreU(finish(acc[v]), kD, out + c + v * kLanes);
  }
  for (; c < channels; c += kLanes) {
    const int64_t lanes = std::min(kLanes, channels - c);
    V acc = Op::start();
    for (int64_t i = 0; i < count; ++i) acc = Op::join(acc, load_part(row(i) + c, lanes));
    store_part(finish(acc), out + c, lanes);
  }
}

void max_rows(const float* const* rows, int64_t count, int64_t channels, float* out) {
  reduce<MaxOf>([rows](int64_t i) HWY_ATTR { return rows[i]; }, count, channels, out, [](V x) HWY_ATTR { return x; });
}

void average_rows(const float* const* rows, int64_t count, int64_t channels, float divisor, float* out) {
  const V by = hn::Set(kD, divisor);
  reduce<SumOf>([rows](int64_t i) HWY_ATTR { return rows[i]; }, count, channels, out,
                [by](V x) HWY_ATTR { return hn::Div(x, by); });
}

void max_run(const float* in, int64_t stride, int64_t count, int64_t channels, float* out) {
  reduce<MaxOf>([in, stride](int64_t i) HWY_ATTR { return in + i * stride; }, count, channels, out,
                [](V x) HWY_ATTR { return x; });
}

void average_run(const float* in, int64_t stride, int64_t count, int64_t channels, float* out) {
  constexpr int64_t kChunk = 256;  // channels whose totals fit local arrays
  for (int64_t c = 0; c < channels; c += kChunk) {
    const int64_t part = std::min(kChunk, channels - c);
    double total[kChunk] = {};
    for (int64_t first = 0; first < count; first += kSegment) {
      float sum[kChunk];
      const float* from = in + first * stride + c;
      reduce<SumOf>([from, stride](int64_t i) HWY_ATTR { return from + i * stride; }, std::min(kSegment, count - first),
                    part, sum, [](V x) HWY_ATTR { return x; });
      for (int64_t i = 0; i < part; ++i) total[i] += static_cast<double>(sum[i]);
    }
    for (int64_t i = 0; i < part; ++i) out[c + i] = static_cast<float>(total[i] / static_cast<double>(count));
  }
}

constexpr PoolKernels kKernels{max_rows, average_rows, max_run, average_run};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

const PoolKernels& pool_kernels(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kKernels;
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kKernels;
#endif
    default: return HWY_STATIC_DISPATCH(kKernels);
  }
}

}  // namespace strop::kernels
#endif  // HWY_ONCE
