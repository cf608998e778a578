#include <array>

#include "ops/families.h"
#include "ops/norm/norm.h"

namespace strop::ops {

std::span<const Operator* const> norm_operators() {
  static constexpr std::array kOperators = {&kLayerNorm, &kGroupNorm, &kBatchNorm, &kLocalResponseNorm};
  return kOperators;
}

}  // namespace strop::ops
