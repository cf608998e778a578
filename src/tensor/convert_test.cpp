#include "tensor/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace strop {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// A format as its specification words it, decoded with ldexp and nothing of the implementation's.
struct Format {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  std::set<uint32_t> nan_codes;  // without the sign bit for formats with signed NaN
  std::set<uint32_t> inf_codes;
  bool unsigned_zero;  // FNUZ
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
};

std::set<uint32_t> range(uint32_t first, uint32_t last) {
  std::set<uint32_t> codes;
  for (uint32_t code = first; code <= last; ++code) codes.insert(code);
  return codes;
}

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      {DType::F16, 5, 10, 15, range(0x7C01, 0x7FFF), {0x7C00}, false},
      {DType::BF16, 8, 7, 127, range(0x7F81, 0x7FFF), {0x7F80}, false},
      {DType::F8E4M3FN, 4, 3, 7, {0x7F}, {}, false},
      {DType::F8E4M3FNUZ, 4, 3, 8, {}, {}, true},
      {DType::F8E5M2, 5, 2, 15, range(0x7D, 0x7F), {0x7C}, false},
      {DType::F8E5M2FNUZ, 5, 2, 16, {}, {}, true},
      {DType::F4E2M1, 2, 1, 1, {}, {}, false},
  };
  return all;
}

double expected_value(const Format& format, uint32_t code) {
  const uint32_t sign_bit = 1u << (format.bits() - 1);
  const uint32_t magnitude = code & (sign_bit - 1);
  if (format.unsigned_zero && code == sign_bit) return kNan;
  if (format.nan_codes.contains(magnitude)) return kNan;
  const double sign = (code & sign_bit) != 0 ? -1 : 1;
  if (format.inf_codes.contains(magnitude)) return sign * kInf;
  const int mantissa = static_cast<int>(magnitude % (1u << format.mantissa_bits));
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const int leading = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  return sign * std::ldexp(leading + mantissa, std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

uint32_t largest_finite(const Format& format) {
  uint32_t code = (1u << (format.bits() - 1)) - 1;
  while (!std::isfinite(expected_value(format, code))) --code;
  return code;
}

uint32_t stored(DType dtype, double value, bool saturate = true) {
  uint32_t storage = 0;
  store_scalar(dtype, &storage, 0, value, saturate);
  return storage;
}

TEST(Convert, EveryCodeOfEverySmallFormatHasItsValue) {
  for (const Format& format : formats()) {
    for (uint32_t code = 0; code < 1u << format.bits(); ++code) {
      const double expected = expected_value(format, code);
      const double value = load_scalar(format.dtype, &code, 0);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(value)) << to_string(format.dtype) << " " << code;
        continue;
      }
      EXPECT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(expected)) << to_string(format.dtype) << code;
      EXPECT_EQ(stored(format.dtype, expected, false), code) << to_string(format.dtype);
    }
  }
}

TEST(Convert, HalfwayGoesToEvenAndASlightlyLargerDoubleGoesUp) {
  // The neighbours of a midpoint differ from it in the last bit of a double: rounding through float would lose them.
  for (const Format& format : formats()) {
    for (uint32_t code = 0; code < largest_finite(format); ++code) {
      const double low = expected_value(format, code);
      const double high = expected_value(format, code + 1);
      const double middle = low / 2 + high / 2;
      const uint32_t even = code % 2 == 0 ? code : code + 1;
      ASSERT_EQ(stored(format.dtype, middle), even) << to_string(format.dtype) << " " << code;
      ASSERT_EQ(stored(format.dtype, std::nextafter(middle, 0)), code) << to_string(format.dtype) << " " << code;
      ASSERT_EQ(stored(format.dtype, std::nextafter(middle, kInf)), code + 1) << to_string(format.dtype) << " " << code;
      const uint32_t sign = 1u << (format.bits() - 1);
      const uint32_t negative = even == 0 && format.unsigned_zero ? 0 : even | sign;
      ASSERT_EQ(stored(format.dtype, -middle), negative) << to_string(format.dtype) << " " << code;
    }
  }
}

TEST(Convert, KnownValues) {
  EXPECT_EQ(stored(DType::F16, 65504), 0x7BFFu);
  EXPECT_EQ(stored(DType::F16, 65519.99), 0x7BFFu);
  EXPECT_EQ(stored(DType::F16, 65520), 0x7C00u);  // halfway to 2^16
  EXPECT_EQ(stored(DType::F16, std::ldexp(1, -24)), 1u);
  EXPECT_EQ(stored(DType::F16, std::ldexp(1, -25)), 0u);
  EXPECT_EQ(stored(DType::F16, std::ldexp(1.5, -25)), 1u);
  EXPECT_EQ(stored(DType::F16, 1.0 / 3), 0x3555u);
  EXPECT_EQ(stored(DType::BF16, 3.14159265358979), 0x4049u);
  EXPECT_EQ(stored(DType::BF16, 3.4e38), 0x7F80u);
  EXPECT_EQ(stored(DType::F16, 5e-324), 0u);
  EXPECT_EQ(stored(DType::F16, -0.0), 0x8000u);
  EXPECT_EQ(round_to(DType::F8E4M3FN, 449), 448);
  EXPECT_EQ(round_to(DType::F32, 0.1), 0.100000001490116119384765625);
  EXPECT_EQ(round_to(DType::F64, 0.1), 0.1);
  EXPECT_EQ(round_to(DType::I8, -3.9), -3);
}

TEST(Convert, FloatHelpersAgreeWithTheScalars) {
  EXPECT_EQ(half_to_float(0x3C01), 1.0009765625f);
  EXPECT_EQ(half_to_float(0x8001), -std::ldexp(1.0f, -24));
  EXPECT_TRUE(std::isnan(half_to_float(0x7E00)));
  EXPECT_EQ(float_to_half(2049.0f), 0x6800);  // 2048 and 2050 are the neighbours; 2048 is even
  EXPECT_EQ(float_to_half(-1e6f), 0xFC00);
  EXPECT_EQ(bfloat_to_float(0x3FC0), 1.5f);
  EXPECT_EQ(float_to_bfloat(1.00390625f), 0x3F80);  // 1 + 2^-8: halfway, down to even
  EXPECT_EQ(float_to_bfloat(1.01171875f), 0x3F82);  // 1 + 3 * 2^-8: halfway, up to even
}

// The two tables of ONNX's Cast (version 24).
TEST(Convert, Float8OverflowFollowsOnnx) {
  struct Case {
    DType dtype;
    double value;
    uint32_t saturated, unsaturated;
  };
  const std::vector<Case> cases = {
      {DType::F8E4M3FN, 464, 0x7E, 0x7E},  // halfway to 480, to even: still 448
      {DType::F8E4M3FN, 465, 0x7E, 0x7F},
      {DType::F8E4M3FN, -1e6, 0xFE, 0xFF},
      {DType::F8E4M3FN, kInf, 0x7E, 0x7F},
      {DType::F8E4M3FN, -kInf, 0xFE, 0xFF},
      {DType::F8E4M3FN, kNan, 0x7F, 0x7F},
      {DType::F8E4M3FN, -0.0, 0x80, 0x80},
      {DType::F8E4M3FNUZ, 247, 0x7F, 0x7F},
      {DType::F8E4M3FNUZ, 248, 0x7F, 0x80},
      {DType::F8E4M3FNUZ, -1e6, 0xFF, 0x80},
      {DType::F8E4M3FNUZ, kInf, 0x7F, 0x80},
      {DType::F8E4M3FNUZ, -kInf, 0xFF, 0x80},
      {DType::F8E4M3FNUZ, kNan, 0x80, 0x80},
      {DType::F8E4M3FNUZ, -0.0, 0x00, 0x00},
      {DType::F8E4M3FNUZ, -1e-7, 0x00, 0x00},
      {DType::F8E5M2, 61439, 0x7B, 0x7B},
      {DType::F8E5M2, 61440, 0x7B, 0x7C},
      {DType::F8E5M2, -1e6, 0xFB, 0xFC},
      {DType::F8E5M2, kInf, 0x7B, 0x7C},
      {DType::F8E5M2, -kInf, 0xFB, 0xFC},
      {DType::F8E5M2, -0.0, 0x80, 0x80},
      {DType::F8E5M2FNUZ, 61440, 0x7F, 0x80},
      {DType::F8E5M2FNUZ, kInf, 0x7F, 0x80},
      {DType::F8E5M2FNUZ, -1e6, 0xFF, 0x80},
      {DType::F8E5M2FNUZ, kNan, 0x80, 0x80},
      {DType::F8E5M2FNUZ, -0.0, 0x00, 0x00},
      {DType::F8E5M2FNUZ, 0.4789254665374756, 0x3C, 0x3C},
      {DType::F8E4M3FN, 0.8191054463386536, 0x35, 0x35},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(stored(c.dtype, c.value, true), c.saturated) << to_string(c.dtype) << " " << c.value;
    EXPECT_EQ(stored(c.dtype, c.value, false), c.unsaturated) << to_string(c.dtype) << " " << c.value;
  }
  uint8_t code = 0;
  store_scalar(DType::F8E5M2, &code, 0, kNan);
  EXPECT_TRUE(std::isnan(load_scalar(DType::F8E5M2, &code, 0)));
}

TEST(Convert, Float4) {
  const std::vector<double> values = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint32_t code = 0; code < 8; ++code) {
    EXPECT_EQ(load_scalar(DType::F4E2M1, &code, 0), values[code]);
    const uint32_t negative = code | 8;
    EXPECT_EQ(load_scalar(DType::F4E2M1, &negative, 0), -values[code]);
  }
  // ONNX's own data for Cast to float4e2m1
  const std::vector<std::pair<double, uint32_t>> cases = {{0.48, 1}, {0.25, 0}, {1.05, 2}, {-3.5, 0xE},  {-8, 0xF},
                                                          {9, 7},    {kNan, 8}, {kInf, 7}, {-kInf, 0xF}, {-0.0, 8}};
  for (const auto& [value, code] : cases) {
    EXPECT_EQ(stored(DType::F4E2M1, value, true), code) << value;
    EXPECT_EQ(stored(DType::F4E2M1, value, false), code) << value;
  }
}

TEST(Convert, Float8E8M0IsAPowerOfTwo) {
  for (uint32_t code = 0; code < 255; ++code) {
    const double value = std::ldexp(1, static_cast<int>(code) - 127);
    EXPECT_EQ(load_scalar(DType::F8E8M0, &code, 0), value);
    EXPECT_EQ(stored(DType::F8E8M0, value), code);
    EXPECT_EQ(stored(DType::F8E8M0, value * 1.49), code);
    if (code < 254) {
      EXPECT_EQ(stored(DType::F8E8M0, value * 1.5), code + 1);
    }
  }
  const uint32_t nan_code = 255;
  EXPECT_TRUE(std::isnan(load_scalar(DType::F8E8M0, &nan_code, 0)));
  EXPECT_EQ(stored(DType::F8E8M0, kNan), 255u);
  EXPECT_EQ(stored(DType::F8E8M0, 0), 0u);
  EXPECT_EQ(stored(DType::F8E8M0, 0, false), 255u);
  EXPECT_EQ(stored(DType::F8E8M0, std::ldexp(0.7, -127), true), 0u);
  EXPECT_EQ(stored(DType::F8E8M0, std::ldexp(0.7, -127), false), 255u);
  EXPECT_EQ(stored(DType::F8E8M0, std::ldexp(0.8, -127), false), 0u);
  EXPECT_EQ(stored(DType::F8E8M0, kInf), 254u);
  EXPECT_EQ(stored(DType::F8E8M0, kInf, false), 255u);
  EXPECT_EQ(stored(DType::F8E8M0, std::ldexp(1.6, 127)), 254u);
  EXPECT_EQ(stored(DType::F8E8M0, std::ldexp(1.6, 127), false), 255u);
}

TEST(Convert, PackedIntegersLieLowBitsFirst) {
  std::vector<uint8_t> bytes(2, 0);
  const std::vector<int64_t> signed_values = {-8, 7, -1};
  for (int64_t i = 0; i < 3; ++i) store_integer(DType::I4, bytes.data(), i, signed_values[static_cast<size_t>(i)]);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x78, 0x0F}));
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(load_integer(DType::I4, bytes.data(), i), signed_values[static_cast<size_t>(i)]);
    EXPECT_EQ(load_scalar(DType::I4, bytes.data(), i), static_cast<double>(signed_values[static_cast<size_t>(i)]));
  }
  EXPECT_EQ(load_integer(DType::U4, bytes.data(), 0), 8);
  EXPECT_EQ(load_integer(DType::U4, bytes.data(), 1), 7);

  bytes = {0, 0xFF};
  for (int64_t i = 0; i < 4; ++i) store_integer(DType::I2, bytes.data(), i, i - 2);  // -2 -1 0 1
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0b01'00'11'10, 0xFF}));
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(load_integer(DType::I2, bytes.data(), i), i - 2);
  EXPECT_EQ(load_integer(DType::U2, bytes.data(), 0), 2);
  store_integer(DType::U2, bytes.data(), 5, 4 + 1);  // modulo 4, neighbours kept
  EXPECT_EQ(bytes[1], 0b11'11'01'11);
}

TEST(Convert, IntegerStoresTruncateThenWrap) {
  const auto round_trip = [](DType dtype, double value) {
    uint64_t storage = 0;
    store_scalar(dtype, &storage, 0, value);
    return load_integer(dtype, &storage, 0);
  };
  EXPECT_EQ(round_trip(DType::I8, 200), -56);
  EXPECT_EQ(round_trip(DType::I8, -129.7), 127);
  EXPECT_EQ(round_trip(DType::U8, -1), 255);
  EXPECT_EQ(round_trip(DType::U8, 256.9), 0);
  EXPECT_EQ(round_trip(DType::I32, 4294967297.0), 1);
  EXPECT_EQ(round_trip(DType::U32, -1.5), 4294967295);
  EXPECT_EQ(round_trip(DType::I4, 9), -7);
  EXPECT_EQ(round_trip(DType::I64, -9223372036854775808.0), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(round_trip(DType::U64, 18446744073709549568.0), -2048);  // the largest double below 2^64
  EXPECT_EQ(round_trip(DType::U64, 9223372036854775808.0), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(round_trip(DType::I64, 36893488147419111424.0), 8192);  // 2^65 + 2^13
  EXPECT_EQ(round_trip(DType::I64, -36893488147419111424.0), -8192);
  for (const DType dtype : {DType::I8, DType::U16, DType::I64, DType::U64, DType::I4}) {
    EXPECT_EQ(round_trip(dtype, kNan), 0);
    EXPECT_EQ(round_trip(dtype, kInf), 0);
    EXPECT_EQ(round_trip(dtype, -kInf), 0);
  }
}

TEST(Convert, U64IsUnsignedAsDoubleAndKeepsItsBitsAsInteger) {
  const uint64_t value = 0xFFFFFFFFFFFFF800;
  EXPECT_EQ(load_scalar(DType::U64, &value, 0), 18446744073709549568.0);
  EXPECT_EQ(load_integer(DType::U64, &value, 0), -2048);
  uint64_t stored_value = 0;
  store_integer(DType::U64, &stored_value, 0, -1);
  EXPECT_EQ(stored_value, ~uint64_t{0});
}

TEST(Convert, BoolIsWhetherNotZero) {
  EXPECT_EQ(stored(DType::Bool, 0), 0u);
  EXPECT_EQ(stored(DType::Bool, -0.0), 0u);
  EXPECT_EQ(stored(DType::Bool, 0.25), 1u);
  EXPECT_EQ(stored(DType::Bool, 256), 1u);
  EXPECT_EQ(stored(DType::Bool, kNan), 1u);
  const uint8_t odd = 7;
  EXPECT_EQ(load_scalar(DType::Bool, &odd, 0), 1);
  EXPECT_EQ(load_integer(DType::Bool, &odd, 0), 1);
}

TEST(Convert, IntegersRoundOnceToFloats) {
  // 2^60 + 2^52 + 1 lies just above the middle of two bf16 neighbours; a double of it is exactly the middle.
  const int64_t above_middle = (int64_t{1} << 60) + (int64_t{1} << 52) + 1;
  uint16_t code = 0;
  store_integer(DType::BF16, &code, 0, above_middle);
  EXPECT_EQ(bfloat_to_float(code), std::ldexp(1.0f, 60) + std::ldexp(1.0f, 53));
  store_integer(DType::BF16, &code, 0, -above_middle);
  EXPECT_EQ(bfloat_to_float(code), -(std::ldexp(1.0f, 60) + std::ldexp(1.0f, 53)));
  store_integer(DType::BF16, &code, 0, above_middle - 1);
  EXPECT_EQ(bfloat_to_float(code), std::ldexp(1.0f, 60));
  float single = 0;
  store_integer(DType::F32, &single, 0, (int64_t{1} << 60) + (int64_t{1} << 36) + 1);
  EXPECT_EQ(single, std::ldexp(1.0f, 60) + std::ldexp(1.0f, 37));
  store_integer(DType::F8E4M3FN, &code, 0, 1000000);
  EXPECT_EQ(load_scalar(DType::F8E4M3FN, &code, 0), 448);
}

TEST(Convert, IndexesElements) {
  const std::vector<float> values = {1, 2, 3};
  EXPECT_EQ(load_scalar(DType::F32, values.data(), 2), 3);
  std::vector<int16_t> shorts(3, 0);
  store_scalar(DType::I16, shorts.data(), 1, -7);
  EXPECT_EQ(shorts, (std::vector<int16_t>{0, -7, 0}));
}

}  // namespace
}  // namespace strop
