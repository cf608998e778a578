/// Parts of the Pointwise operator.
#pragma once

#include <vector>

#include "ops/operator.h"

namespace strop::ops {

Result<void> evaluate_pointwise(EvalContext& ctx);
std::vector<WorkedCase> pointwise_cases();

}  // namespace strop::ops
