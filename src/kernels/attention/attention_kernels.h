/// The innermost loops of attention, compiled once per CPU target. Private to attention/.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels {

/// C[rows, columns] (+)= A[rows, k] · B, B in panels: [columns / panel][k][panel]. `columns` is a multiple of the
/// panel.
struct PanelProduct {
  const float* a = nullptr;
  int64_t lda = 0;
  const float* b = nullptr;
  float* c = nullptr;
  int64_t ldc = 0;
  int64_t rows = 0, columns = 0, k = 0;
  int64_t panel_stride = 0;  ///< floats between panels of B, at least k * panel
  bool accumulate = false;
};

/// Where elements of a matrix [rows, columns] lie that goes into panels: one of the strides is 1.
struct PanelSource {
  const float* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
  int64_t rows = 0, columns = 0;
};

struct ScoreChange {
  float scale = 1;
  float softcap = 0;
  const float* mask = nullptr;
};

struct AttentionKernels {
  int64_t panel = 0;  ///< columns of a panel
  void (*multiply)(const PanelProduct& product);
  /// Fills panels, columns beyond the last with zeros.
  void (*pack)(const PanelSource& source, float* panels, int64_t panel_stride);
  /// s[j] = a · row j of b, j in [0, n): for few queries, where packing does not pay.
  void (*dot_rows)(const float* a, const float* b, int64_t b_row, int64_t n, int64_t k, float* s);
  /// s = s * scale, then softcap * tanh(s / softcap) unless that is 0, then + mask unless that is null.
  void (*change_scores)(float* s, int64_t n, const ScoreChange& change);
  /// s = mask ? s : -inf.
  void (*apply_bool_mask)(float* s, const uint8_t* mask, int64_t n);
  /// Over a row of whole panels. NaN if any is.
  float (*max_row)(const float* s, int64_t padded);
  /// s = exp(s * scale - shift), which must be at most 1 or NaN; returns the sum.
  float (*exp_row)(float* s, int64_t padded, float scale, float shift);
  /// y = x * factor; y may be x.
  void (*scale)(const float* x, int64_t n, float factor, float* y);
  /// out += weight * v over e elements.
  void (*add_scaled)(const float* v, int64_t e, float weight, float* out);
};
const AttentionKernels& attention_kernels(CpuTarget target);

}  // namespace strop::kernels
