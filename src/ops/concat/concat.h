/// Joining tensors along an existing axis.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// All operands one after the other along `axis`; their other dimensions are equal.
struct ConcatAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::make_tuple(field("axis", &ConcatAttrs::axis));
};
extern const Operator kConcat;

}  // namespace strop::ops
