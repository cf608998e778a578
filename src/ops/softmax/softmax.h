/// Softmax and its relatives along one axis, or along all from one axis on.
#pragma once

#include <array>

#include "ops/fused.h"
#include "ops/operator.h"

namespace strop::ops {

enum class SoftmaxKind : uint8_t {
  Softmax,     ///< exp(x - max) / sum exp(x - max)
  LogSoftmax,  ///< x - max - log(sum exp(x - max))
  Hardmax,     ///< 1 at the first greatest element (the first NaN, if there is one), 0 elsewhere
};
template <>
inline constexpr auto kEnumNames<SoftmaxKind> = std::to_array<std::string_view>({"softmax", "log_softmax", "hardmax"});

/// Along `axis`; with `flatten` the axes [axis, rank) count as one (ONNX before opset 13). A group that is all -inf, or
/// has an inf or NaN, gives NaN. Prologue (scale, mask) and epilogue as fused.h has them.
struct SoftmaxAttrs {
  SoftmaxKind kind = SoftmaxKind::Softmax;
  int64_t axis = -1;
  bool flatten = false;
  ScalarProgram prologue;
  ScalarProgram epilogue;
  static constexpr auto fields = std::make_tuple(
      field("kind", &SoftmaxAttrs::kind), field("axis", &SoftmaxAttrs::axis), field("flatten", &SoftmaxAttrs::flatten),
      field("prologue", &SoftmaxAttrs::prologue), field("epilogue", &SoftmaxAttrs::epilogue));

  FusedPrograms programs() const { return {prologue, epilogue, 1}; }
};
extern const Operator kSoftmax;

/// Whether groups are contiguous: the last axis, or all from an axis on.
bool groups_are_rows(const SoftmaxAttrs& attrs, int64_t rank);
/// How many last axes are a line of the kernels: a group that is contiguous, else what lies between two elements of
/// one.
int64_t line_axes(const SoftmaxAttrs& attrs, int64_t rank);

/// The operand as [outer, length, inner], groups along `length`.
struct SoftmaxShape {
  int64_t outer = 1, length = 1, inner = 1;
};
/// Error: (C2) axis outside the rank.
Result<SoftmaxShape> softmax_shape(const SoftmaxAttrs& attrs, const std::vector<int64_t>& dims);

}  // namespace strop::ops
