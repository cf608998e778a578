#include "ops/families.h"

namespace strop::ops {

std::span<const Operator* const> pointwise_operators() { return {}; }

}  // namespace strop::ops
