/// Loops of linear quantisation between f32 and 8- or 16-bit integers.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels {

/// `count` elements that share one scale and zero point, or (step 1) have one of each per element. A null zero point
/// is 0.
template <class T>
struct QuantizeRun {
  int64_t count = 0;
  const float* scale = nullptr;
  const T* zero_point = nullptr;
  int64_t step = 0;
};

/// The loops for one integer type T: uint8_t, int8_t, uint16_t or int16_t.
template <class T>
struct QuantizeKernels {
  /// y = saturate(nearest(x / scale) + zero_point), ties to even, NaN to the zero point.
  void (*quantize)(const QuantizeRun<T>& run, const float* x, T* y);
  /// y = (x - zero_point) * scale.
  void (*dequantize)(const QuantizeRun<T>& run, const T* x, float* y);
};

template <class T>
const QuantizeKernels<T>& quantize_kernels(CpuTarget target);

/// The smallest and the largest of `count` numbers and of minimum and maximum; NaNs are ignored.
struct FloatRange {
  float minimum = 0, maximum = 0;
};
FloatRange float_range(CpuTarget target, const float* x, int64_t count);

}  // namespace strop::kernels
