/// Dropout whose mode is known only at run time.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// Operands x, ratio (a float, or none: 0.5), training (a bool). Results: x, and bool of x's shape, all true. Training with
/// a ratio other than 0 is the user's error: engines infer. Import makes nothing of a Dropout known to infer.
extern const Operator kDropout;

}  // namespace strop::ops
