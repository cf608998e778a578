#include <array>

#include "ops/families.h"
#include "ops/norm/cpu_norm.h"

namespace strop::ops {

std::span<const tactics::Tactic* const> norm_cpu_tactics() {
  static constexpr std::array kTactics = {&kLayerNormRows, &kGroupNormPlanes, &kGroupNormChannelsLast,
                                          &kBatchNormPlanes, &kLocalResponseNormTiles};
  return kTactics;
}

}  // namespace strop::ops
