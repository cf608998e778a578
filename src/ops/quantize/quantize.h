/// Linear quantisation: to integers, float8 or float4, and back.
#pragma once

#include <algorithm>

#include "ops/operator.h"

namespace strop::ops {

/// Operands: x, scale, zero point (none: 0; of the result's type, shaped as the scale). Result of type `to`:
///   saturate(round(x / scale) + zero point), the quotient rounded to `precision`, then to the nearest integer, ties to
/// even; NaN becomes the zero point. For float8 and float4 the quotient is converted instead, float8 saturating as
/// told. The scale is a scalar, one value per element of `axis`, or, with block_size > 0, of x's rank with one value
/// per block of that many elements along `axis`.
struct QuantizeLinearAttrs {
  int64_t axis = 1;
  int64_t block_size = 0;
  DType to = DType::U8;
  bool saturate = true;
  DType precision = DType::F32;
  static constexpr auto fields =
      std::make_tuple(field("axis", &QuantizeLinearAttrs::axis), field("block_size", &QuantizeLinearAttrs::block_size),
                      field("to", &QuantizeLinearAttrs::to), field("saturate", &QuantizeLinearAttrs::saturate),
                      field("precision", &QuantizeLinearAttrs::precision));
};
extern const Operator kQuantizeLinear;

/// Operands: x, scale, zero point (none: 0; of x's type). Result of type `to`: (x - zero point) * scale.
struct DequantizeLinearAttrs {
  int64_t axis = 1;
  int64_t block_size = 0;
  DType to = DType::F32;
  static constexpr auto fields =
      std::make_tuple(field("axis", &DequantizeLinearAttrs::axis),
                      field("block_size", &DequantizeLinearAttrs::block_size), field("to", &DequantizeLinearAttrs::to));
};
extern const Operator kDequantizeLinear;

/// Operand: x (f32). Results: x as u8, its scale (f32 scalar) and zero point (u8 scalar), such that the range from x's
/// minimum to its maximum, 0 included, just fits. Without any range (all zeros, no elements): scale 1, zero point 0.
extern const Operator kDynamicQuantizeLinear;

/// The scale and zero point that a DynamicQuantizeLinear gives for a minimum <= 0 and a maximum >= 0.
struct DynamicScale {
  float scale = 1;
  uint8_t zero_point = 0;
};
DynamicScale dynamic_scale(float minimum, float maximum);

/// Which scale belongs to which element: x is seen as [outer, axis, inner], and element (o, a, i) takes scale
/// o * outer_step + a / block * axis_step + i * inner_step.
struct ScaleLayout {
  int64_t outer = 1, axis = 1, inner = 1;
  int64_t block = 1;
  int64_t outer_step = 0, axis_step = 0, inner_step = 0;

  /// Elements of x are visited as runs: consecutive ones whose scales are one, or consecutive too (scale_step 1).
  struct Run {
    int64_t first = 0, count = 0;
    int64_t scale = 0, scale_step = 0;
  };
  int64_t runs() const { return outer * run_rows(); }
  Run run(int64_t index) const {
    const int64_t o = index / run_rows();
    const int64_t a = index % run_rows() * rows_per_run();
    return {(o * axis + a) * inner, std::min(rows_per_run(), axis - a) * inner, o * outer_step + a / block * axis_step,
            inner_step};
  }

 private:
  int64_t rows_per_run() const { return inner_step != 0 ? 1 : block; }
  int64_t run_rows() const { return (axis + rows_per_run() - 1) / rows_per_run(); }
};

/// Errors: (C2) the axis, (C3) the scale's shape does not fit.
Result<ScaleLayout> scale_layout(int64_t axis, int64_t block_size, const std::vector<int64_t>& x,
                                 const std::vector<int64_t>& scale);

/// Smallest and largest value of an integer type of at most 32 bits.
struct IntegerRange {
  int64_t min = 0, max = 0;
};
IntegerRange integer_range(DType dtype);

}  // namespace strop::ops
