/// Elementwise operators.
#pragma once

#include <array>
#include <initializer_list>

#include "ops/operator.h"

namespace strop::ops {

/// The operands, broadcast to their common shape as NumPy does, through a scalar program: one result of that shape per
/// output of the program. The empty program copies its only operand.
struct PointwiseAttrs {
  ScalarProgram program;
  static constexpr auto fields = std::make_tuple(field("program", &PointwiseAttrs::program));
};
extern const Operator kPointwise;

/// fn applied to operands 0, 1, … of one dtype (for Where: a bool and two of `dtype`).
ScalarProgram function_program(Fn fn, DType dtype);
/// fn applied to operand 0 of a floating `dtype` and constants.
ScalarProgram function_program(Fn fn, DType dtype, std::initializer_list<double> parameters);
/// Conversion of the operand, float8 and float4 saturating.
ScalarProgram cast_program(DType from, DType to);

/// The program with operand `operand` replaced by the only element of `value`: the other operands move up.
ScalarProgram bind_operand(const ScalarProgram& program, int32_t operand, const Tensor& value);

/// The operand's bytes read as `to`, a type of the same width.
struct BitCastAttrs {
  DType to = DType::Undefined;
  static constexpr auto fields = std::make_tuple(field("to", &BitCastAttrs::to));
};
extern const Operator kBitCast;

/// Numbers to their decimal text (shortest that reads back) or text to numbers of `to`.
struct CastStringAttrs {
  DType to = DType::String;
  static constexpr auto fields = std::make_tuple(field("to", &CastStringAttrs::to));
};
extern const Operator kCastString;

enum class ScaleRounding : uint8_t { Up, Down, Nearest };
template <>
inline constexpr auto kEnumNames<ScaleRounding> = std::to_array<std::string_view>({"up", "down", "nearest"});

/// Floating point to f8e8m0: a power of two with the operand's magnitude rounded as told (nearest: halves up). Too
/// large becomes the largest power with `saturate`, else NaN; infinity and NaN become NaN.
struct CastScaleAttrs {
  ScaleRounding rounding = ScaleRounding::Up;
  bool saturate = true;
  static constexpr auto fields =
      std::make_tuple(field("rounding", &CastScaleAttrs::rounding), field("saturate", &CastScaleAttrs::saturate));
};
extern const Operator kCastScale;

}  // namespace strop::ops
