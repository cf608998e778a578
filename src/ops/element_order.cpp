#include "ops/element_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strop::ops {
namespace {

template <class T, class Less>
std::vector<int64_t> ranks(const std::vector<T>& values, Less less) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return less(values[a], values[b]); });
  std::vector<int64_t> result(values.size());
  int64_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && less(values[order[i - 1]], values[order[i]])) ++rank;
    result[order[i]] = rank;
  }
  return result;
}

}  // namespace

std::vector<int64_t> ranks_of_elements(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::String) return ranks(tensor.strings(), std::less<std::string>());
  if (dtype == DType::U64) {
    return ranks(load_i64(tensor),
                 [](int64_t a, int64_t b) { return static_cast<uint64_t>(a) < static_cast<uint64_t>(b); });
  }
  if (is_integer(dtype) || dtype == DType::Bool) return ranks(load_i64(tensor), std::less<int64_t>());
  return ranks(load_f64(tensor), [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
}

}  // namespace strop::ops
