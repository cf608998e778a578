/// Part of the C++ API (included by strop.h): element types, log levels.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace strop {

/// Element types. The codes are those of ONNX's TensorProto.DataType.
enum class DType : uint8_t {
  Undefined = 0,
  F32 = 1,
  U8 = 2,
  I8 = 3,
  U16 = 4,
  I16 = 5,
  I32 = 6,
  I64 = 7,
  String = 8,
  Bool = 9,
  F16 = 10,
  F64 = 11,
  U32 = 12,
  U64 = 13,
  C64 = 14,
  C128 = 15,
  BF16 = 16,
  F8E4M3FN = 17,
  F8E4M3FNUZ = 18,
  F8E5M2 = 19,
  F8E5M2FNUZ = 20,
  U4 = 21,
  I4 = 22,
  F4E2M1 = 23,
  F8E8M0 = 24,
  U2 = 25,
  I2 = 26,
};

/// "f32", "i64", "string", "f8e4m3fn", …
std::string_view to_string(DType dtype);

/// The inverse of to_string; empty for an unknown name. Also accepts ONNX's and NumPy's long names ("float",
/// "float32").
std::optional<DType> parse_dtype(std::string_view name);

/// Bits per element: 4 for packed types (two per byte, low nibble first), 2 for U2/I2 (four per byte), 0 for String.
int bit_width(DType dtype);

/// Bytes of `count` contiguous elements, packed types rounded up to whole bytes. String has none.
int64_t byte_size(DType dtype, int64_t count);

enum class LogLevel : uint8_t {
  Warning,  ///< the user should know, though the work goes on: a fallback, a guess
  Info,     ///< what is being done
  Debug,    ///< why
};

}  // namespace strop
