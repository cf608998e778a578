/// Where elements come from: the index arithmetic that the reference evaluations of all data movement share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "base/threads.h"
#include "tensor/tensor.h"

namespace strop::ops {

/// Row-major strides in elements.
std::vector<int64_t> strides_of(const std::vector<int64_t>& dims);

/// Calls body(coordinates, linear index) for every element of `dims` in row-major order.
void for_each_element(const std::vector<int64_t>& dims,
                      FunctionRef<void(const std::vector<int64_t>& at, int64_t linear)> body);

/// Per axis of the result, for each coordinate, what it adds to the source's element index; negative: the element is
/// not in the source and the fill is taken.
using AxisTables = std::vector<std::vector<int64_t>>;

/// The result whose dimensions are the tables' lengths and whose element at (i, j, …) is source's element
/// tables[0][i] + tables[1][j] + …, or `fill`'s only element (null: zero, the empty string). Any dtype.
Tensor gather_by_axes(const Tensor& source, const AxisTables& tables, Threads& threads, const Tensor* fill = nullptr);

/// [0, 1, …, count) * stride.
std::vector<int64_t> affine_table(int64_t count, int64_t stride, int64_t offset = 0);

/// dims[from] * … * dims[to - 1].
int64_t count_between(const std::vector<int64_t>& dims, int64_t from, int64_t to);

}  // namespace strop::ops
