#include "ops/pointwise/op_broadcast.h"

#include <cstddef>

namespace strop::ops {

std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& operand_dims, const std::vector<int64_t>& dims,
                                       int64_t pitch) {
  std::vector<int64_t> strides(dims.size(), 0);
  const size_t offset = dims.size() - operand_dims.size();
  int64_t stride = 1;
  for (size_t axis = operand_dims.size(); axis-- > 0;) {
    strides[offset + axis] = operand_dims[axis] == 1 ? 0 : stride;
    const bool last = axis + 1 == operand_dims.size();
    stride = last && pitch != 0 ? pitch : stride * operand_dims[axis];
  }
  return strides;
}

BroadcastLoop collapsed(const BroadcastLoop& loop) {
  BroadcastLoop result;
  result.strides.resize(loop.strides.size());
  for (size_t axis = 0; axis < loop.dims.size(); ++axis) {
    if (loop.dims[axis] == 1) continue;
    bool merges = !result.dims.empty();
    for (size_t k = 0; merges && k < loop.strides.size(); ++k) {
      merges = result.strides[k].back() == loop.strides[k][axis] * loop.dims[axis];
    }
    if (merges) {
      result.dims.back() *= loop.dims[axis];
    } else {
      result.dims.push_back(loop.dims[axis]);
    }
    for (size_t k = 0; k < loop.strides.size(); ++k) {
      if (merges) {
        result.strides[k].back() = loop.strides[k][axis];
      } else {
        result.strides[k].push_back(loop.strides[k][axis]);
      }
    }
  }
  if (result.dims.empty()) {
    result.dims.push_back(1);
    for (auto& strides : result.strides) strides.push_back(0);
  }
  return result;
}

}  // namespace strop::ops
