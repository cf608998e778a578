/// Scalar conversions between element types and double, exact in one direction and rounded once in the other.
/// Sources: IEEE 754-2008 (binary16), the bfloat16 definition, OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2),
/// "8-bit Numerical Formats for Deep Neural Networks" (FNUZ variants), OCP Microscaling Formats 1.0 (E2M1, E8M0).
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace strop {

/// The value of element `index` of packed or plain `data` of a real numeric type or bool.
double load_scalar(DType dtype, const void* data, int64_t index);
/// The bit-exact integer value of element `index` of an integer or bool type.
int64_t load_integer(DType dtype, const void* data, int64_t index);
/// Rounds `value` once, from double to nearest even, and stores it.
/// Floating types: f16 and bf16 overflow to infinity. Float8, infinities included: with saturate the largest finite
/// value of that sign, without it infinity where the format has one, else NaN; FNUZ formats have no -0. f4e2m1 always
/// saturates and stores NaN as -0. f8e8m0 drops the sign, rounds halfway cases up, and out of range (zero included)
/// gives its smallest or largest value with saturate, else NaN. Integers: truncated, then modulo 2^n; NaN and
/// infinities give 0. Bool: whether value != 0, so NaN is true.
void store_scalar(DType dtype, void* data, int64_t index, double value, bool saturate = true);
/// Integers modulo 2^n; bool: whether value != 0; floating types: rounded once, as store_scalar with saturate.
void store_integer(DType dtype, void* data, int64_t index, int64_t value);

/// Elements first, first + stride, … of plain or packed data.
struct ElementRange {
  int64_t first = 0;
  int64_t stride = 1;
  int64_t count = 0;
};

/// The same for many elements of one dtype: `out` or `values` holds range.count of them. store_scalars does not
/// saturate: its values are usually rounded already, and float8's infinity must stay one.
void load_scalars(DType dtype, const void* data, const ElementRange& range, double* out);
void load_integers(DType dtype, const void* data, const ElementRange& range, int64_t* out);
void store_scalars(DType dtype, void* data, const ElementRange& range, const double* values);
void store_integers(DType dtype, void* data, const ElementRange& range, const int64_t* values);

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);  ///< nearest even
float bfloat_to_float(uint16_t bits);
uint16_t float_to_bfloat(float value);  ///< nearest even

/// `value` rounded once to `dtype` and back: what a store followed by a load gives.
double round_to(DType dtype, double value);

}  // namespace strop
