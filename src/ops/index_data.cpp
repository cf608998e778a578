#include "ops/index_data.h"

namespace strop::ops {

Error index_error(std::string_view op, int64_t index, int64_t size) {
  return bad_data("{}: index {} is outside an axis of {} elements", op, index, size);
}

Result<std::vector<int64_t>> load_indices(const Tensor& indices, int64_t size, std::string_view op) {
  auto values = load_i64(indices);
  for (int64_t& value : values) {
    const int64_t wrapped = wrap_index(value, size);
    if (wrapped < 0) return index_error(op, value, size);
    value = wrapped;
  }
  return values;
}

}  // namespace strop::ops
