/// Matrix products of 32-bit integers whose values fit in 16 bits, as quantised values less their zero points do:
/// C = A · B modulo 2^32, exactly.
///
/// Pairs along k are multiplied and summed by one instruction, so that rows and panels of B hold them side by side; an
/// odd k is padded with a zero.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels {

/// Columns of B that are packed together.
inline constexpr int64_t kIntegerPanel = 16;

/// k rounded up to whole pairs.
constexpr int64_t integer_depth(int64_t k) { return (k + 1) / 2 * 2; }
/// How many values a packed B of [k, n] has: panels of kIntegerPanel columns, [k/2][columns][2] each.
constexpr int64_t packed_integer_b_values(int64_t k, int64_t n) {
  return integer_depth(k) * ((n + kIntegerPanel - 1) / kIntegerPanel * kIntegerPanel);
}

struct IntegerMatrix {
  const int32_t* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 0;  ///< in elements; one of them is usually 1
};

/// Packs panels [first, last) of B [k, n]. False: a value does not fit in 16 bits.
bool pack_integer_b(const IntegerMatrix& b, int64_t first, int64_t last, int16_t* packed);
/// Copies rows [first, last) of A [m, k] to rows of integer_depth(k) values. False: a value does not fit in 16 bits.
bool narrow_rows(const IntegerMatrix& a, int64_t first, int64_t last, int16_t* rows);

/// Rows [0, m) times panels [first, last) of a packed B, to C with rows of n values.
struct IntegerProduct {
  int64_t m = 0, n = 0, k = 0;
  const int16_t* a = nullptr;
  const int16_t* b = nullptr;
  int32_t* c = nullptr;
};
void multiply_panels(CpuTarget target, const IntegerProduct& product, int64_t first, int64_t last);

/// The same product for any values, plainly: rows [first, last) of C. B is packed if `packed_b` is not null.
struct WideProduct {
  IntegerMatrix a, b;
  const int16_t* packed_b = nullptr;
  int32_t* c = nullptr;
};
void multiply_wide(const WideProduct& product, int64_t first, int64_t last);

}  // namespace strop::kernels
