// Conversions that are no scalar functions: between bit patterns, to and from text, to block scales.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/late.h"
#include "ops/pointwise/pointwise.h"
#include "ops/scalar_functions.h"
#include "tensor/convert.h"

namespace strop::ops {
namespace {

Result<void> infer_same_shape(InferContext& ctx, DType dtype) {
  STROP_ASSIGN(TensorType type, ctx.tensor(0));
  type.dtype = dtype;
  ctx.outputs[0] = type;
  return {};
}

// -- BitCast --

// (C1) Both types have the same width.
Result<void> infer_bit_cast(InferContext& ctx) {
  const DType to = ctx.attrs.as<BitCastAttrs>().to;
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  if (bit_width(type.dtype) == 0 || bit_width(type.dtype) != bit_width(to)) {
    return violates("(C1) the bits of {} cannot be read as {}", to_string(type.dtype), to_string(to));
  }
  return infer_same_shape(ctx, to);
}

Result<void> evaluate_bit_cast(EvalContext& ctx) {
  const Tensor& from = ctx.in(0);
  const Tensor result = Tensor::uninitialized(ctx.attrs.as<BitCastAttrs>().to, from.dims());
  if (result.bytes() > 0) std::memcpy(result.mutable_raw(), from.raw(), static_cast<size_t>(result.bytes()));
  ctx.outputs[0] = result;
  return {};
}

std::vector<WorkedCase> bit_cast_cases() {
  return {{.name = "f32_to_i32", .attrs = BitCastAttrs{DType::I32}, .inputs = {Type(DType::F32, {3, 5})}},
          {.name = "u8_to_i8", .attrs = BitCastAttrs{DType::I8}, .inputs = {Type(DType::U8, {7})}}};
}

// -- CastString --

// (C1) Text on exactly one side. (C2) A real or integer type, or bool, on the other.
Result<void> infer_cast_string(InferContext& ctx) {
  const DType to = ctx.attrs.as<CastStringAttrs>().to;
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  if ((type.dtype == DType::String) == (to == DType::String)) {
    return violates("(C1) CastString from {} to {}", to_string(type.dtype), to_string(to));
  }
  const DType other = to == DType::String ? type.dtype : to;
  if (domain_of(other) == ScalarDomain::Opaque) return violates("(C2) no text form of {}", to_string(other));
  return infer_same_shape(ctx, to);
}

/// As Python prints them: "1.0", "0.5", "1e+16", "nan", "-inf"; shortest for the type.
std::string float_text(DType dtype, double value) {
  if (std::isnan(value)) return "nan";
  std::string text = dtype == DType::F64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string element_text(const Tensor& tensor, int64_t index) {
  const DType dtype = tensor.dtype();
  if (is_float(dtype)) return float_text(dtype, load_scalar(dtype, tensor.raw(), index));
  const int64_t value = load_integer(dtype, tensor.raw(), index);
  if (dtype == DType::Bool) return value != 0 ? "True" : "False";
  return dtype == DType::U64 ? fmt::format("{}", static_cast<uint64_t>(value)) : fmt::format("{}", value);
}

template <class T>
std::optional<T> parse_as(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (status == std::errc::result_out_of_range) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  if (const auto value = parse_as<double>(text)) return value;
  // Beyond a double's range: from_chars does not say in which direction.
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || copy.find_first_of("xX ") != std::string::npos)
    return std::nullopt;
  return value;
}

bool store_text(const Tensor& to, int64_t index, std::string_view text) {
  if (!is_float(to.dtype())) {
    if (to.dtype() == DType::U64) {
      if (const auto value = parse_as<uint64_t>(text)) {
        return store_integer(to.dtype(), to.mutable_raw(), index, static_cast<int64_t>(*value)), true;
      }
    } else if (const auto value = parse_as<int64_t>(text)) {
      return store_integer(to.dtype(), to.mutable_raw(), index, *value), true;
    }
    if (to.dtype() == DType::Bool && (text == "True" || text == "False")) {
      return store_integer(to.dtype(), to.mutable_raw(), index, text == "True" ? 1 : 0), true;
    }
  }
  const auto value = parse_float(text);
  if (value) store_scalar(to.dtype(), to.mutable_raw(), index, *value);
  return value.has_value();
}

Result<void> evaluate_cast_string(EvalContext& ctx) {
  const Tensor& from = ctx.in(0);
  const Tensor result(ctx.attrs.as<CastStringAttrs>().to, from.dims());
  for (int64_t i = 0; i < from.count(); ++i) {
    if (result.dtype() == DType::String) {
      result.mutable_data<std::string>()[i] = element_text(from, i);
    } else if (const std::string& text = from.strings()[static_cast<size_t>(i)]; !store_text(result, i, text)) {
      return bad_data("Cast: '{}' (element {}) is not a number, which {} needs", text, i, to_string(result.dtype()));
    }
  }
  ctx.outputs[0] = result;
  return {};
}

std::vector<WorkedCase> cast_string_cases() {
  const Tensor text = Tensor::of_strings({3}, {"1.5", "-inf", "1e3"});
  return {{.name = "to_f32",
           .attrs = CastStringAttrs{DType::F32},
           .inputs = {Type(DType::String, {3})},
           .given = {{0, text}}},
          {.name = "from_i64", .attrs = CastStringAttrs{DType::String}, .inputs = {Type(DType::I64, {2, 3})}}};
}

// -- CastScale --

// (C1) The operand is floating point.
Result<void> infer_cast_scale(InferContext& ctx) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(0));
  if (!is_float(type.dtype))
    return violates("(C1) a scale is made of floating point, not of {}", to_string(type.dtype));
  return infer_same_shape(ctx, DType::F8E8M0);
}

/// The code c of 2^(c - 127).
uint8_t scale_code(double value, const CastScaleAttrs& attrs) {
  constexpr int kBias = 127;
  constexpr int kLargest = 254;
  constexpr int kNaN = 255;
  if (!std::isfinite(value)) return kNaN;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1), or 0
  if (fraction == 0) return 0;
  const double threshold = attrs.rounding == ScaleRounding::Nearest ? 0.75 : std::nextafter(0.5, 1.0);
  const bool up = attrs.rounding != ScaleRounding::Down && fraction >= threshold;
  const int code = exponent - 1 + kBias + (up ? 1 : 0);
  if (code > kLargest) return attrs.saturate ? kLargest : kNaN;
  return static_cast<uint8_t>(std::max(code, 0));
}

Result<void> evaluate_cast_scale(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<CastScaleAttrs>();
  const Tensor& from = ctx.in(0);
  const Tensor result = Tensor::uninitialized(DType::F8E8M0, from.dims());
  for (int64_t i = 0; i < from.count(); ++i) {
    result.mutable_data<uint8_t>()[i] = scale_code(load_scalar(from.dtype(), from.raw(), i), attrs);
  }
  ctx.outputs[0] = result;
  return {};
}

std::vector<WorkedCase> cast_scale_cases() {
  return {
      {.name = "up", .attrs = CastScaleAttrs{}, .inputs = {Type(DType::F32, {17})}},
      {.name = "nearest", .attrs = CastScaleAttrs{ScaleRounding::Nearest, false}, .inputs = {Type(DType::F16, {17})}}};
}

}  // namespace

const Operator kBitCast{
    .name = "BitCast",
    .make_attrs = [] { return Attrs(BitCastAttrs()); },
    .infer = infer_bit_cast,
    .evaluate = evaluate_bit_cast,
    .cases = bit_cast_cases,
    .is_view = true,
};

const Operator kCastString{
    .name = "CastString",
    .make_attrs = [] { return Attrs(CastStringAttrs()); },
    .infer = infer_cast_string,
    .evaluate = evaluate_cast_string,
    .cases = cast_string_cases,
};

const Operator kCastScale{
    .name = "CastScale",
    .make_attrs = [] { return Attrs(CastScaleAttrs()); },
    .infer = infer_cast_scale,
    .evaluate = evaluate_cast_scale,
    .cases = cast_scale_cases,
};

}  // namespace strop::ops
