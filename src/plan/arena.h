/// Packing lifetimes into one arena: offline dynamic storage allocation. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace strop::plan {

/// Bytes that live from the start of step `first` to the end of step `last`, both inclusive.
struct Lifetime {
  int64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
};

struct ArenaPlan {
  std::vector<int64_t> offsets;   ///< per lifetime, multiples of kArenaAlignment
  int64_t bytes = 0;              ///< size of the arena
  int64_t lower_bound_bytes = 0;  ///< the largest sum of (aligned) live bytes at any step: no plan can need less
  int64_t total_bytes = 0;        ///< the sum of all, as if nothing were shared
};

inline constexpr int64_t kArenaAlignment = 64;

/// Places every lifetime so that those that overlap in time do not overlap in memory. Several greedy orders are tried,
/// then a bounded local search improves the best until it meets the lower bound. Deterministic.
ArenaPlan pack_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace strop::plan
