#include "ops/element_map.h"

namespace strop::ops {
namespace {

// Below this many elements threads cost more than they save.
constexpr int64_t kGrain = 1 << 15;

// Writes the source index of elements [begin, end) of the result.
void fill_indices(const AxisTables& tables, int64_t begin, int64_t end, int64_t* index) {
  const size_t rank = tables.size();
  std::vector<size_t> at(rank, 0);
  int64_t rest = begin;
  for (size_t axis = rank; axis-- > 0;) {
    const auto size = static_cast<int64_t>(tables[axis].size());
    at[axis] = static_cast<size_t>(rest % size);
    rest /= size;
  }
  for (int64_t i = begin; i < end; ++i) {
    int64_t sum = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t offset = tables[axis][at[axis]];
      if (offset < 0) {
        sum = -1;
        break;
      }
      sum += offset;
    }
    index[i] = sum;
    for (size_t axis = rank; axis-- > 0;) {
      if (++at[axis] < tables[axis].size()) break;
      at[axis] = 0;
    }
  }
}

}  // namespace

std::vector<int64_t> strides_of(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

void for_each_element(const std::vector<int64_t>& dims,
                      FunctionRef<void(const std::vector<int64_t>& at, int64_t linear)> body) {
  const int64_t count = element_count(dims);
  std::vector<int64_t> at(dims.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    body(at, i);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++at[axis] < dims[axis]) break;
      at[axis] = 0;
    }
  }
}

Tensor gather_by_axes(const Tensor& source, const AxisTables& tables, Threads& threads, const Tensor* fill) {
  std::vector<int64_t> dims;
  for (const auto& table : tables) dims.push_back(static_cast<int64_t>(table.size()));
  std::vector<int64_t> index(static_cast<size_t>(element_count(dims)));
  parallel_for(threads, static_cast<int64_t>(index.size()), kGrain,
               [&](int64_t begin, int64_t end, int) { fill_indices(tables, begin, end, index.data()); });
  return gather_elements(source, std::move(dims), index, fill);
}

std::vector<int64_t> affine_table(int64_t count, int64_t stride, int64_t offset) {
  std::vector<int64_t> table(static_cast<size_t>(count));
  for (size_t i = 0; i < table.size(); ++i) table[i] = offset + static_cast<int64_t>(i) * stride;
  return table;
}

int64_t count_between(const std::vector<int64_t>& dims, int64_t from, int64_t to) {
  int64_t count = 1;
  for (int64_t axis = from; axis < to; ++axis) count *= dims[static_cast<size_t>(axis)];
  return count;
}

}  // namespace strop::ops
