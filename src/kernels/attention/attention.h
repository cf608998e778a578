/// fp32 scaled dot-product attention of one head on the CPU, in tiles: scores exist for one block of queries and keys
/// at a time only. The running maximum and sum of Milakov and Gimelshein, "Online normalizer calculation for softmax"
/// (2018), let the blocks of keys follow each other; the blocking is that of Dao et al., "FlashAttention" (2022).
///
/// Numerics: fp32; per query the blocks of keys are always the same, so that results do not depend on how queries are
/// shared out. A query that sees no key gives NaN, or 0 with zero_if_masked. A masked key has weight 0: whether a NaN
/// or infinity in its value spreads is not specified.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu_target.h"

namespace strop::kernels {

/// Sizes and strides (in floats; columns of q, v and out are dense).
struct AttentionShape {
  int64_t m = 0, n = 0, d = 0, e = 0;  ///< queries, keys, size of a query and key, size of a value
  int64_t q_row = 0, v_row = 0, out_row = 0;
  int64_t k_row = 0, k_column = 1;  ///< one of them is 1
  float scale = 1;
  float softcap = 0;    ///< 0: none
  bool causal = false;  ///< query i sees keys [0, i + causal_offset]
  int64_t causal_offset = 0;
  bool zero_if_masked = false;
  CpuTarget target = best_cpu_target();
};

/// A mask of one head: element (i, j) at i * row + j * column, column 0 or 1. Floats are added; bytes of 0 exclude.
struct AttentionMask {
  const void* data = nullptr;
  int64_t row = 0, column = 0;
  bool is_bool = false;
};

struct AttentionHead {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* out = nullptr;
  std::span<const AttentionMask> masks;
};

/// Most queries of one call, and the unit to share them out in.
inline constexpr int64_t kAttentionMaxRows = 192;
inline constexpr int64_t kAttentionRowBlock = 48;

/// Bytes of scratch that a call needs.
int64_t attention_workspace_bytes(const AttentionShape& shape);

/// Queries [first, first + count), count at most kAttentionMaxRows. `workspace` is 64-byte aligned.
void attend(const AttentionShape& shape, const AttentionHead& head, int64_t first, int64_t count, void* workspace);

}  // namespace strop::kernels
