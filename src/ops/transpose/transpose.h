/// Permutation of axes.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// Axis i of the result is axis perm[i] of the operand. Empty: all axes in reverse order.
struct TransposeAttrs {
  std::vector<int64_t> perm;
  static constexpr auto fields = std::make_tuple(field("perm", &TransposeAttrs::perm));
};
extern const Operator kTranspose;

/// The permutation that `perm` means for an operand of `rank`, checked: (C1).
Result<std::vector<int64_t>> full_permutation(const std::vector<int64_t>& perm, int64_t rank);

}  // namespace strop::ops
