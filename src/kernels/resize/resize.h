/// fp32 resizing on the CPU from tables of indices and weights: nearest, linear, cubic and antialiased alike.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "kernels/cpu_target.h"

namespace strop::kernels {

/// One axis: result element i is the sum over k of weights[k * out + i] * operand element indices[k * out + i].
struct ResizeTable {
  int64_t in = 1;
  int64_t out = 1;
  int64_t taps = 1;              ///< with one tap the weight is 1 and is not looked at
  std::vector<int32_t> indices;  ///< empty: the axis stays as it is
  std::vector<float> weights;    ///< empty if taps is 1
};

/// Input [outer, rows.in, columns.in, inner], output [outer, rows.out, columns.out, inner], dense. Channels-first
/// images have inner = 1, channels-last ones inner = channels.
struct ResizeProblem {
  int64_t outer = 1;
  int64_t inner = 1;
  ResizeTable rows;
  ResizeTable columns;
  CpuTarget target = best_cpu_target();
};

/// Bytes of scratch memory for `threads` workers.
int64_t resize_scratch_bytes(const ResizeProblem& problem, int threads);
/// Rows first, then along each row; sums are in fp32.
void resize(const ResizeProblem& problem, const float* input, float* output, void* scratch, Threads& threads);

}  // namespace strop::kernels
