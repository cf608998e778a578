/// fp32 pooling on the CPU, channels-first: every channel is a plane (or volume) of its own, vectorised along its rows.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "kernels/pool/pool.h"

namespace strop::kernels {

/// Bytes of scratch memory that pool_planes needs for `threads` workers.
int64_t pool_planes_scratch_bytes(const PoolProblem& problem, int threads);

/// As pool(), for input [batch, channels, in…] and output [batch, channels, out…], both dense. Pixel strides are
/// ignored. Windows are reduced over their rows first, then along the row.
void pool_planes(const PoolProblem& problem, const float* input, float* output, void* scratch, Threads& threads);

}  // namespace strop::kernels
