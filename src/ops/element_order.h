/// How elements of every dtype compare.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace strop::ops {

/// Each element's place in the ascending order of the tensor's distinct values, from 0: equal elements share it. NaNs
/// are equal and above all numbers; -0 equals 0; strings compare by their bytes. Real numeric types, bool and strings.
std::vector<int64_t> ranks_of_elements(const Tensor& tensor);

}  // namespace strop::ops
