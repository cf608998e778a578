/// Iterating over operands of different shapes together.
#pragma once

#include <cstdint>
#include <vector>

namespace strop::ops {

/// A loop nest over `dims` in which each operand has a stride (in elements) per axis: 0 where it is repeated.
struct BroadcastLoop {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;  ///< [operand][axis]
};

/// Strides over `dims` of a row-major operand that broadcasts to them. Its rows (last dimension) are `pitch` elements
/// apart; 0: dense.
std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& operand_dims, const std::vector<int64_t>& dims,
                                       int64_t pitch = 0);

/// The same iteration with as few axes as possible: axes of size 1 dropped, neighbours merged where every operand
/// allows it. At least one axis remains.
BroadcastLoop collapsed(const BroadcastLoop& loop);

}  // namespace strop::ops
