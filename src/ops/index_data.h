/// Checking index tensors at evaluation.
#pragma once

#include "ops/late.h"
#include "tensor/tensor.h"

namespace strop::ops {

/// `index` in [-size, size) made non-negative, or -1.
inline int64_t wrap_index(int64_t index, int64_t size) {
  const int64_t wrapped = index < 0 ? index + size : index;
  return wrapped >= 0 && wrapped < size ? wrapped : -1;
}

/// All indices into an axis of `size`, made non-negative; or the user's error that names the operator and index.
Result<std::vector<int64_t>> load_indices(const Tensor& indices, int64_t size, std::string_view op);

/// The error for an index outside an axis.
Error index_error(std::string_view op, int64_t index, int64_t size);

}  // namespace strop::ops
