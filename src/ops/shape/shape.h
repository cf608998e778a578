/// Dimensions as tensors.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// An i64 vector of the given dimensions, or with `scalar` the only one as a scalar. No operands: the values come from
/// the symbols, on the host.
struct DimsTensorAttrs {
  Dims dims;
  bool scalar = false;
  static constexpr auto fields =
      std::make_tuple(field("dims", &DimsTensorAttrs::dims), field("scalar", &DimsTensorAttrs::scalar));
};
extern const Operator kDimsTensor;

/// The operand's dimensions [start, end) as an i64 vector; negative bounds count from the end, both are clamped. Used
/// where the dimensions are known only when the data are; otherwise import makes DimsTensor.
struct ShapeAttrs {
  int64_t start = 0;
  int64_t end = INT64_MAX;
  static constexpr auto fields = std::make_tuple(field("start", &ShapeAttrs::start), field("end", &ShapeAttrs::end));
};
extern const Operator kShape;

/// The operand's element count as an i64 scalar; used where Shape is.
extern const Operator kSize;

/// The dimensions that Shape selects.
Dims selected_dims(const Dims& dims, int64_t start, int64_t end);

}  // namespace strop::ops
