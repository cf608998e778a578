#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "strop/export.h"

namespace strop {
namespace {

enum class Kind : uint8_t { None, Float, Signed, Unsigned, Complex, Other };

struct Row {
  std::string_view name;
  std::string_view long_name;  // as ONNX's and NumPy's documentation call it
  int bits;
  Kind kind;
};

constexpr std::array<Row, kDTypeCount> kRows = {{
    {"undefined", "undefined", 0, Kind::None},
    {"f32", "float32", 32, Kind::Float},
    {"u8", "uint8", 8, Kind::Unsigned},
    {"i8", "int8", 8, Kind::Signed},
    {"u16", "uint16", 16, Kind::Unsigned},
    {"i16", "int16", 16, Kind::Signed},
    {"i32", "int32", 32, Kind::Signed},
    {"i64", "int64", 64, Kind::Signed},
    {"string", "string", 0, Kind::Other},
    {"bool", "bool", 8, Kind::Other},
    {"f16", "float16", 16, Kind::Float},
    {"f64", "float64", 64, Kind::Float},
    {"u32", "uint32", 32, Kind::Unsigned},
    {"u64", "uint64", 64, Kind::Unsigned},
    {"c64", "complex64", 64, Kind::Complex},
    {"c128", "complex128", 128, Kind::Complex},
    {"bf16", "bfloat16", 16, Kind::Float},
    {"f8e4m3fn", "float8e4m3fn", 8, Kind::Float},
    {"f8e4m3fnuz", "float8e4m3fnuz", 8, Kind::Float},
    {"f8e5m2", "float8e5m2", 8, Kind::Float},
    {"f8e5m2fnuz", "float8e5m2fnuz", 8, Kind::Float},
    {"u4", "uint4", 4, Kind::Unsigned},
    {"i4", "int4", 4, Kind::Signed},
    {"f4e2m1", "float4e2m1", 4, Kind::Float},
    {"f8e8m0", "float8e8m0", 8, Kind::Float},
    {"u2", "uint2", 2, Kind::Unsigned},
    {"i2", "int2", 2, Kind::Signed},
}};

const Row& row(DType dtype) {
  STROP_CHECK(static_cast<int>(dtype) < kDTypeCount);
  return kRows[static_cast<size_t>(dtype)];
}

}  // namespace

STROP_API std::string_view to_string(DType dtype) { return row(dtype).name; }

STROP_API std::optional<DType> parse_dtype(std::string_view name) {
  if (name == "float") return DType::F32;
  if (name == "double") return DType::F64;
  for (int i = 1; i < kDTypeCount; ++i) {
    const Row& candidate = kRows[static_cast<size_t>(i)];
    if (candidate.name == name || candidate.long_name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

STROP_API int bit_width(DType dtype) { return row(dtype).bits; }

size_t alignment_of(DType dtype) {
  if (dtype == DType::String) return alignof(std::string);
  const int bits = is_complex(dtype) ? bit_width(dtype) / 2 : bit_width(dtype);
  return std::max<size_t>(static_cast<size_t>(bits) / 8, 1);
}

STROP_API int64_t byte_size(DType dtype, int64_t count) { return (count * bit_width(dtype) + 7) / 8; }

int64_t memory_bytes(DType dtype, int64_t count) {
  return dtype == DType::String ? count * static_cast<int64_t>(sizeof(std::string)) : byte_size(dtype, count);
}

bool is_float(DType dtype) { return row(dtype).kind == Kind::Float; }
bool is_signed_integer(DType dtype) { return row(dtype).kind == Kind::Signed; }
bool is_unsigned_integer(DType dtype) { return row(dtype).kind == Kind::Unsigned; }
bool is_complex(DType dtype) { return row(dtype).kind == Kind::Complex; }

}  // namespace strop
