/// Normalisations. All compute statistics of what the prologue makes of operand 0, in double, and round the result
/// once.
#pragma once

#include "ops/fused.h"
#include "ops/operator.h"

namespace strop::ops {

/// Over the axes [axis, rank) together: (x - mean) / sqrt(variance + epsilon) * scale + bias; with rms
/// x / sqrt(mean of x² + epsilon) * scale + bias.
/// Operands: x, scale or none, bias or none (both broadcast to x without enlarging it), then the programs' operands.
/// Results: 0 y, of scale's dtype with rms and of x's otherwise; 1 x after the prologue (a residual sum that others
/// need); 2 the mean (0 with rms) and 3 1 / sqrt(…), of dtype `stash`, with size 1 along the normalised axes.
struct LayerNormAttrs {
  int64_t axis = -1;
  double epsilon = 1e-5;
  bool rms = false;
  DType stash = DType::F32;
  ScalarProgram prologue;
  ScalarProgram epilogue;
  static constexpr auto fields =
      std::make_tuple(field("axis", &LayerNormAttrs::axis), field("epsilon", &LayerNormAttrs::epsilon),
                      field("rms", &LayerNormAttrs::rms), field("stash", &LayerNormAttrs::stash),
                      field("prologue", &LayerNormAttrs::prologue), field("epilogue", &LayerNormAttrs::epilogue));

  FusedPrograms programs() const { return {prologue, epilogue, 3}; }
};
extern const Operator kLayerNorm;
/// How many last axes are a line of the kernels: the normalised ones.
int64_t line_axes(const LayerNormAttrs& attrs, int64_t rank);
/// Whether a scale or bias has one f32 value per element of the last `axes` axes of x, the same for all rows.
bool is_row_vector(const TensorType& operand, const TensorType& x, int64_t axes);

inline constexpr size_t kNormScaleInput = 1;
inline constexpr size_t kNormBiasInput = 2;
/// The result that holds x after the prologue, where a node has that many.
inline constexpr size_t kNormSumOutput = 1;

/// Over the spatial axes and the channels of each group together, of x [N, C, …] ([N, …, C] with channels_last):
/// (x - mean) / sqrt(variance + epsilon) * scale + bias. `groups` divides C; 0 means one group per channel.
/// Operands: x, scale [C] or none, bias [C] or none, then the programs' operands.
struct GroupNormAttrs {
  int64_t groups = 0;
  double epsilon = 1e-5;
  bool channels_last = false;
  ScalarProgram prologue;
  ScalarProgram epilogue;
  static constexpr auto fields =
      std::make_tuple(field("groups", &GroupNormAttrs::groups), field("epsilon", &GroupNormAttrs::epsilon),
                      field("channels_last", &GroupNormAttrs::channels_last),
                      field("prologue", &GroupNormAttrs::prologue), field("epilogue", &GroupNormAttrs::epilogue));

  FusedPrograms programs() const { return {prologue, epilogue, 3}; }
};
extern const Operator kGroupNorm;
/// How many last axes are a line of the kernels: the pixels of a channel, or the channels of a pixel.
int64_t line_axes(const GroupNormAttrs& attrs, int64_t rank);

/// Operands: x [N, C, …] (or [N]: one channel), scale, bias, mean, variance, each [C]:
/// (x - mean) / sqrt(variance + epsilon) * scale + bias. Passes fold it into convolutions or make it pointwise.
struct BatchNormAttrs {
  double epsilon = 1e-5;
  static constexpr auto fields = std::make_tuple(field("epsilon", &BatchNormAttrs::epsilon));
};
extern const Operator kBatchNorm;

/// x / (bias + alpha / size * sum of x² over channels [c - (size - 1) / 2, c + size / 2])^beta, for x [N, C, …].
struct LocalResponseNormAttrs {
  int64_t size = 1;
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 1;
  static constexpr auto fields =
      std::make_tuple(field("size", &LocalResponseNormAttrs::size), field("alpha", &LocalResponseNormAttrs::alpha),
                      field("beta", &LocalResponseNormAttrs::beta), field("bias", &LocalResponseNormAttrs::bias));
};
extern const Operator kLocalResponseNorm;

std::vector<WorkedCase> layer_norm_cases();
std::vector<WorkedCase> group_norm_cases();
std::vector<WorkedCase> batch_norm_cases();
std::vector<WorkedCase> local_response_norm_cases();

}  // namespace strop::ops
