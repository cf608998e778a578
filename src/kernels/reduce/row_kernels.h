/// fp32 kernels over rows: contiguous runs of floats. No threads, nothing allocated. NaN and infinities behave as in
/// the formulas that the comments give.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels {

/// What a row of x is reduced to. Max and Min are NaN if any element is; of nothing, -inf and inf.
enum class RowOp : uint8_t {
  Sum,
  SumAbs,
  SumSquare,  ///< of x - shift
  SumExp,     ///< exp(x - shift)
  Product,
  Max,
  Min,
};

/// How two partial results of an operation become one.
double join(RowOp op, double a, double b);
/// The result for no elements.
double identity(RowOp op);

struct NormRow {
  const float* x = nullptr;
  int64_t n = 0;
  float mean = 0;
  float inverse = 1;
  const float* scale = nullptr;  ///< [n] or null
  const float* bias = nullptr;   ///< [n] or null
  float* y = nullptr;            ///< may be x
  float offset = 0;              ///< added before the scale: what the mean lost when it was rounded, times -inverse
};

/// Sums of x - shift and of (x - shift)². A shift near the mean keeps what a large mean would drown.
struct Moments {
  double sum = 0;
  double squares = 0;
};

/// Moments of each column of rows that lie one after the other.
struct ColumnMoments {
  const float* x = nullptr;  ///< [rows, columns]
  int64_t rows = 0;          ///< joined in fp32: a few hundred at most
  int64_t columns = 0;
  const float* shift = nullptr;  ///< [columns]; null: 0
  double* sums = nullptr;        ///< [columns], added to
  double* squares = nullptr;     ///< [columns], added to; null: not wanted
};

/// (x - mean) * factor + shift, per element of a row or per column of a block of rows.
struct CenterBlock {
  const float* x = nullptr;  ///< [rows, columns]
  int64_t rows = 0;
  int64_t columns = 0;
  const float* mean = nullptr;    ///< [columns]
  const float* factor = nullptr;  ///< [columns]
  const float* shift = nullptr;   ///< [columns]
  float* y = nullptr;             ///< same layout; may be x
};

/// (x - mean) * factor + shift with one of each.
struct CenterRow {
  const float* x = nullptr;
  int64_t n = 0;
  float mean = 0, factor = 1, shift = 0;
  float* y = nullptr;  ///< may be x
};

/// Columns of a matrix with `stride` floats between rows.
struct ColumnBlock {
  const float* x = nullptr;
  int64_t rows = 0;
  int64_t stride = 0;
  int64_t columns = 0;
  float* y = nullptr;  ///< same layout; may be x
};

/// y = x / (bias + alpha * sums)^beta, n elements.
struct PowerRow {
  const float* x = nullptr;
  const float* sums = nullptr;
  int64_t n = 0;
  float bias = 1, alpha = 1, beta = 1;
  float* y = nullptr;
};

struct RowKernels {
  /// fp32 in sections of a few thousand elements, which are joined in double.
  double (*reduce)(RowOp op, const float* x, int64_t n, float shift);
  /// acc[i] = acc[i] joined with x[i]; `shift` has n elements, or is null for 0.
  void (*accumulate)(RowOp op, const float* x, int64_t n, const float* shift, float* acc);

  /// exp(x - max) / sum, and x - max - log(sum). y may be x.
  void (*softmax)(const float* x, int64_t n, float* y);
  void (*log_softmax)(const float* x, int64_t n, float* y);
  /// The same along each column.
  void (*softmax_columns)(const ColumnBlock& block);
  void (*log_softmax_columns)(const ColumnBlock& block);

  /// As reduce joins.
  Moments (*moments)(const float* x, int64_t n, float shift);
  void (*column_moments)(const ColumnMoments& block);

  /// ((x - mean) * inverse + offset) * scale + bias.
  void (*normalize)(const NormRow& row);
  void (*center_row)(const CenterRow& row);
  void (*center_columns)(const CenterBlock& block);
  void (*divide_by_power)(const PowerRow& row);
};
const RowKernels& row_kernels(CpuTarget target);

}  // namespace strop::kernels
