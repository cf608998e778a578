/// Element types: the public enumeration and what the inside asks of it.
#pragma once

#include <cstddef>

#include "strop/types.h"

namespace strop {

inline constexpr int kDTypeCount = 27;

bool is_float(DType dtype);             ///< real floating point, every width
bool is_signed_integer(DType dtype);    ///< I2 … I64
bool is_unsigned_integer(DType dtype);  ///< U2 … U64
bool is_complex(DType dtype);
inline bool is_integer(DType dtype) { return is_signed_integer(dtype) || is_unsigned_integer(dtype); }
/// Bytes that an element's address is a multiple of: for complex numbers those of a part, 1 for packed types.
size_t alignment_of(DType dtype);
/// What so many elements take in memory: byte_size, and of strings their objects without the text.
int64_t memory_bytes(DType dtype, int64_t count);
inline bool is_sub_byte(DType dtype) { return bit_width(dtype) != 0 && bit_width(dtype) < 8; }

}  // namespace strop
