/// How one element of each type is read and written: a compile-time table for the loops of this module. Everyone else
/// uses convert.h (one element) or tensor.h (whole tensors).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "tensor/dtype.h"

namespace strop::codec {

/// What a value too large for a format becomes.
enum class Overflow : uint8_t {
  Infinity,    ///< always infinity (binary16, bfloat16)
  Selectable,  ///< the largest finite value if saturating; else infinity where it exists, else NaN (float8)
  Saturate,    ///< always the largest finite value (formats without infinity and NaN)
};

/// A binary floating-point format of at most 16 bits with a sign bit, subnormals and an implicit leading one.
struct FloatFormat {
  int bits;
  int mantissa_bits;
  int bias;
  uint32_t max_finite;  ///< code of the largest finite value; infinity, if it exists, is the next code
  uint32_t nan;         ///< code that NaN is written as
  bool has_infinity;
  bool has_negative_zero;  ///< false: the code of -0 is NaN (FNUZ)
  Overflow overflow;

  constexpr uint32_t sign_bit() const { return 1u << (bits - 1); }
};

inline constexpr FloatFormat kF16{16, 10, 15, 0x7BFF, 0x7E00, true, true, Overflow::Infinity};
inline constexpr FloatFormat kBF16{16, 7, 127, 0x7F7F, 0x7FC0, true, true, Overflow::Infinity};
inline constexpr FloatFormat kE4M3FN{8, 3, 7, 0x7E, 0x7F, false, true, Overflow::Selectable};
inline constexpr FloatFormat kE4M3FNUZ{8, 3, 8, 0x7F, 0x80, false, false, Overflow::Selectable};
inline constexpr FloatFormat kE5M2{8, 2, 15, 0x7B, 0x7E, true, true, Overflow::Selectable};
inline constexpr FloatFormat kE5M2FNUZ{8, 2, 16, 0x7F, 0x80, false, false, Overflow::Selectable};
// No NaN: it is written as -0, as ONNX's conformance data have it.
inline constexpr FloatFormat kE2M1{4, 1, 1, 0x7, 0x8, false, true, Overflow::Saturate};

/// 2^exponent for exponents of normal doubles.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

template <FloatFormat F>
constexpr double decode(uint32_t code) {
  const bool negative = (code & F.sign_bit()) != 0;
  const uint32_t magnitude = code & (F.sign_bit() - 1);
  if (!F.has_negative_zero && negative && magnitude == 0) return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  if (magnitude > F.max_finite) {
    const bool infinite = F.has_infinity && magnitude == F.max_finite + 1;
    value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (const uint32_t exponent = magnitude >> F.mantissa_bits; exponent == 0) {
    value = magnitude * power_of_two(1 - F.bias - F.mantissa_bits);
  } else {
    const uint64_t mantissa = magnitude & ((1u << F.mantissa_bits) - 1);
    value = std::bit_cast<double>((static_cast<uint64_t>(static_cast<int>(exponent) - F.bias + 1023) << 52) |
                                  (mantissa << (52 - F.mantissa_bits)));
  }
  return negative ? -value : value;
}

/// `significand` / 2^shift rounded to the nearest integer, ties to even. shift > 0.
constexpr uint64_t shift_right_to_even(uint64_t significand, int shift) {
  const uint64_t quotient = significand >> shift;
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  return quotient + ((rest > half || (rest == half && (quotient & 1) != 0)) ? 1 : 0);
}

/// The code nearest to a finite |value|, before overflow is looked at: may exceed max_finite.
template <FloatFormat F>
constexpr uint64_t nearest_code(uint64_t magnitude_bits) {
  const int exponent = static_cast<int>(magnitude_bits >> 52) - 1023;
  constexpr int kMinExponent = 1 - F.bias;
  const uint64_t significand = (magnitude_bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  if (exponent >= kMinExponent) {
    // The implicit one adds 1 to the exponent field; a carry out of the mantissa adds another, as it should.
    return (static_cast<uint64_t>(exponent + F.bias - 1) << F.mantissa_bits) +
           shift_right_to_even(significand, 52 - F.mantissa_bits);
  }
  const int shift = 52 - F.mantissa_bits + (kMinExponent - exponent);
  return shift > 60 ? 0 : shift_right_to_even(significand, shift);
}

template <FloatFormat F>
constexpr uint32_t encode(double value, bool saturate) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude_bits = bits & ~(uint64_t{1} << 63);
  constexpr uint64_t kInfinity = uint64_t{0x7FF} << 52;
  const uint32_t sign = (bits >> 63) != 0 ? F.sign_bit() : 0;
  const uint32_t nan = F.has_negative_zero ? F.nan | sign : F.nan;  // FNUZ has one NaN, without sign
  if (magnitude_bits > kInfinity) return nan;
  const uint64_t code = magnitude_bits == kInfinity ? F.max_finite + 1 : nearest_code<F>(magnitude_bits);
  if (code == 0) return F.has_negative_zero ? sign : 0;
  if (code <= F.max_finite) return static_cast<uint32_t>(code) | sign;
  if (F.overflow == Overflow::Saturate || (F.overflow == Overflow::Selectable && saturate)) return F.max_finite | sign;
  if (F.has_infinity) return (F.max_finite + 1) | sign;
  return nan;
}

/// Truncation toward zero, then the residue modulo 2^64; NaN and infinities give 0.
inline int64_t truncate_to_int(double value) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (value >= -kTwo63 && value < kTwo63) [[likely]]
    return static_cast<int64_t>(value);
  if (!std::isfinite(value)) return 0;
  const double residue = std::fmod(std::fabs(value), 2 * kTwo63);  // exact; an integer, since |value| >= 2^63
  const uint64_t magnitude = static_cast<uint64_t>(residue);
  return static_cast<int64_t>(value < 0 ? 0 - magnitude : magnitude);
}

template <class T>
T read(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write(void* data, int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

/// Reads element `index` of Bits-wide elements packed from the low end of each byte.
template <int Bits>
uint32_t read_packed(const void* data, int64_t index) {
  constexpr int kPerByte = 8 / Bits;
  const uint32_t byte = static_cast<const uint8_t*>(data)[index / kPerByte];
  return (byte >> (index % kPerByte * Bits)) & ((1u << Bits) - 1);
}

/// Writes element `index` and leaves its neighbours in the byte alone.
template <int Bits>
void write_packed(void* data, int64_t index, uint32_t code) {
  constexpr int kPerByte = 8 / Bits;
  constexpr uint32_t kMask = (1u << Bits) - 1;
  uint8_t& byte = static_cast<uint8_t*>(data)[index / kPerByte];
  const int shift = static_cast<int>(index % kPerByte) * Bits;
  byte = static_cast<uint8_t>((byte & ~(kMask << shift)) | ((code & kMask) << shift));
}

/// f32, f64, and the integers of whole bytes. u64 passes through int64_t with its bit pattern.
template <class T>
struct Plain {
  static double load(const void* data, int64_t index) { return static_cast<double>(read<T>(data, index)); }
  static void store(void* data, int64_t index, double value, bool) {
    if constexpr (std::is_floating_point_v<T>) {
      write(data, index, static_cast<T>(value));
    } else {
      write(data, index, static_cast<T>(truncate_to_int(value)));
    }
  }
  static int64_t load_int(const void* data, int64_t index) {
    if constexpr (std::is_floating_point_v<T>) {
      STROP_UNREACHABLE("not an integer type");
    } else {
      return static_cast<int64_t>(read<T>(data, index));
    }
  }
  static void store_int(void* data, int64_t index, int64_t value) { write(data, index, static_cast<T>(value)); }
};

/// One byte, 0 or 1; any other nonzero byte reads as 1.
struct Bool {
  static double load(const void* data, int64_t index) { return read<uint8_t>(data, index) != 0 ? 1 : 0; }
  static void store(void* data, int64_t index, double value, bool) {
    write(data, index, static_cast<uint8_t>(value != 0 ? 1 : 0));  // NaN is true
  }
  static int64_t load_int(const void* data, int64_t index) { return read<uint8_t>(data, index) != 0 ? 1 : 0; }
  static void store_int(void* data, int64_t index, int64_t value) {
    write(data, index, static_cast<uint8_t>(value != 0 ? 1 : 0));
  }
};

template <FloatFormat F>
constexpr std::array<double, 256> decode_table() {
  std::array<double, 256> table{};
  for (uint32_t code = 0; code < (1u << F.bits); ++code) table[code] = decode<F>(code);
  return table;
}

/// Floating-point formats of at most 16 bits.
template <FloatFormat F>
struct SmallFloat {
  static double load(const void* data, int64_t index) {
    if constexpr (F.bits == 16) {
      return decode<F>(read<uint16_t>(data, index));
    } else {
      static constexpr std::array<double, 256> kTable = decode_table<F>();
      if constexpr (F.bits == 8)
        return kTable[read<uint8_t>(data, index)];
      else
        return kTable[read_packed<F.bits>(data, index)];
    }
  }
  static void store(void* data, int64_t index, double value, bool saturate) {
    const uint32_t code = encode<F>(value, saturate);
    if constexpr (F.bits == 16)
      write(data, index, static_cast<uint16_t>(code));
    else if constexpr (F.bits == 8)
      write(data, index, static_cast<uint8_t>(code));
    else
      write_packed<F.bits>(data, index, code);
  }
  static int64_t load_int(const void*, int64_t) { STROP_UNREACHABLE("not an integer type"); }
  static void store_int(void* data, int64_t index, int64_t value) {
    // Rounding to odd keeps what lies beyond a double's 53 bits in the last bit, so that the second rounding is right.
    store(data, index, int_to_double_odd(value), true);
  }

 private:
  static double int_to_double_odd(int64_t value) {
    const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    const int excess = 64 - 53 - std::countl_zero(magnitude | 1);
    if (excess <= 0) return static_cast<double>(value);
    const uint64_t sticky = (magnitude & ((uint64_t{1} << excess) - 1)) != 0 ? 1 : 0;
    const uint64_t kept = (magnitude >> excess | sticky) << excess;
    return value < 0 ? -static_cast<double>(kept) : static_cast<double>(kept);
  }
};

/// Powers of two without sign or zero: code c is 2^(c - 127), 255 is NaN. Magnitudes are rounded to the nearer power,
/// halfway cases up; the sign is dropped (ONNX leaves negative values unspecified). Out of range, saturating: the
/// smallest or largest power; otherwise NaN. For other rounding modes round to a power of two first.
struct E8M0 {
  static double load(const void* data, int64_t index) {
    const int code = read<uint8_t>(data, index);
    return code == 255 ? std::numeric_limits<double>::quiet_NaN() : power_of_two(code - 127);
  }
  static void store(void* data, int64_t index, double value, bool saturate) {
    write(data, index, encode_magnitude(std::fabs(value), saturate));
  }
  static int64_t load_int(const void*, int64_t) { STROP_UNREACHABLE("not an integer type"); }
  static void store_int(void* data, int64_t index, int64_t value) {
    store(data, index, static_cast<double>(value), true);
  }

 private:
  static uint8_t encode_magnitude(double magnitude, bool saturate) {
    constexpr uint8_t kNan = 255;
    if (std::isnan(magnitude)) return kNan;
    if (magnitude < 0.75 * power_of_two(-127)) return saturate ? 0 : kNan;
    if (magnitude >= 1.5 * power_of_two(127)) return saturate ? 254 : kNan;
    int exponent = 0;
    const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
    return static_cast<uint8_t>(exponent - 1 + (fraction >= 0.75 ? 1 : 0) + 127);
  }
};

/// Integers of 2 or 4 bits.
template <int Bits, bool Signed>
struct PackedInt {
  static double load(const void* data, int64_t index) { return static_cast<double>(load_int(data, index)); }
  static void store(void* data, int64_t index, double value, bool) {
    write_packed<Bits>(data, index, static_cast<uint32_t>(truncate_to_int(value)));
  }
  static int64_t load_int(const void* data, int64_t index) {
    const int64_t code = read_packed<Bits>(data, index);
    return Signed && code >= (1 << (Bits - 1)) ? code - (1 << Bits) : code;
  }
  static void store_int(void* data, int64_t index, int64_t value) {
    write_packed<Bits>(data, index, static_cast<uint32_t>(value));
  }
};

/// Calls visit(codec) with the codec of a real numeric type or bool; anything else is a bug of the caller.
template <class Visit>
decltype(auto) with_codec(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::F32: return visit(Plain<float>());
    case DType::F64: return visit(Plain<double>());
    case DType::U8: return visit(Plain<uint8_t>());
    case DType::I8: return visit(Plain<int8_t>());
    case DType::U16: return visit(Plain<uint16_t>());
    case DType::I16: return visit(Plain<int16_t>());
    case DType::U32: return visit(Plain<uint32_t>());
    case DType::I32: return visit(Plain<int32_t>());
    case DType::U64: return visit(Plain<uint64_t>());
    case DType::I64: return visit(Plain<int64_t>());
    case DType::Bool: return visit(Bool());
    case DType::F16: return visit(SmallFloat<kF16>());
    case DType::BF16: return visit(SmallFloat<kBF16>());
    case DType::F8E4M3FN: return visit(SmallFloat<kE4M3FN>());
    case DType::F8E4M3FNUZ: return visit(SmallFloat<kE4M3FNUZ>());
    case DType::F8E5M2: return visit(SmallFloat<kE5M2>());
    case DType::F8E5M2FNUZ: return visit(SmallFloat<kE5M2FNUZ>());
    case DType::F4E2M1: return visit(SmallFloat<kE2M1>());
    case DType::F8E8M0: return visit(E8M0());
    case DType::U4: return visit(PackedInt<4, false>());
    case DType::I4: return visit(PackedInt<4, true>());
    case DType::U2: return visit(PackedInt<2, false>());
    case DType::I2: return visit(PackedInt<2, true>());
    case DType::Undefined:
    case DType::String:
    case DType::C64:
    case DType::C128: break;
  }
  STROP_UNREACHABLE("{} has no real value", to_string(dtype));
}

}  // namespace strop::codec
