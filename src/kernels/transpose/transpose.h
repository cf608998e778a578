/// Batched transposition of matrices of 1-, 2-, 4- or 8-byte elements; with it NCHW <-> NHWC and any other swap of two
/// neighbouring (merged) axes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/threads.h"

namespace strop::kernels {

/// dst[b, j, i] = src[b, i, j] for b < batch, i < rows, j < cols. Strides in elements, 0 meaning dense; innermost axes
/// are contiguous. Source and destination may not overlap. NCHW -> NHWC: rows = C, cols = H * W (dst_row_stride: the
/// pixel stride). NHWC -> NCHW: rows = H * W, cols = C.
struct TransposeProblem {
  int64_t batch = 1;
  int64_t rows = 0, cols = 0;
  int64_t src_row_stride = 0;    ///< between rows of src, at least cols
  int64_t dst_row_stride = 0;    ///< between rows of dst, at least rows
  int64_t src_batch_stride = 0;  ///< dense: rows * src_row_stride
  int64_t dst_batch_stride = 0;  ///< dense: cols * dst_row_stride
};

/// element_bytes: 1, 2, 4 or 8.
void transpose(const TransposeProblem& problem, size_t element_bytes, const void* src, void* dst, Threads& threads);

}  // namespace strop::kernels
