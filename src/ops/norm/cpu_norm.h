/// The CPU tactics of the normalisations. Private to norm/.
#pragma once

#include "kernels/reduce/row_kernels.h"
#include "ops/norm/op_statistics.h"
#include "tactics/tactic.h"

namespace strop::ops {

extern const tactics::Tactic kLayerNormRows;
extern const tactics::Tactic kGroupNormPlanes;
extern const tactics::Tactic kGroupNormChannelsLast;
extern const tactics::Tactic kBatchNormPlanes;
extern const tactics::Tactic kLocalResponseNormTiles;

/// Of `count` numbers x from the moments of x - shift. What the shift is off the mean by cancels exactly, in double.
/// Source: Chan, Golub and LeVeque, "Algorithms for computing the sample variance" (1983), the corrected two-pass one.
GroupStatistics statistics_of(const kernels::Moments& moments, double shift, int64_t count, double epsilon);
/// Of a row: one pass for a mean in fp32, one for the moments around it.
GroupStatistics row_statistics(const kernels::RowKernels& loops, const float* x, int64_t count, double epsilon);

/// (x - mean) * factor + shift, the mean subtracted first: with a mean that is large beside the deviation, x * factor
/// would lose what distinguishes the numbers. What the mean lost when it was rounded is in the shift.
struct Centering {
  float mean, factor, shift;
};
Centering centering(double mean, double factor, double bias);

}  // namespace strop::ops
