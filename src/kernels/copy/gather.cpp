#include "kernels/copy/gather.h"

#include <algorithm>

#include "kernels/copy/element_types.h"

namespace strop::kernels {
namespace {

constexpr int64_t kGrainBytes = 32 * 1024;

}  // namespace

std::optional<BadIndex> check_indices(const Indices& indices, int64_t count, int64_t size) {
  const auto outside = [&]<class T>(const T* values) -> std::optional<BadIndex> {
    bool good = true;
    for (int64_t i = 0; i < count; ++i) good &= values[i] >= -size && values[i] < size;
    if (good) return std::nullopt;
    const T* bad = std::find_if(values, values + count, [&](T value) { return value < -size || value >= size; });
    return BadIndex{*bad, size};
  };
  return indices.wide ? outside(static_cast<const int64_t*>(indices.data))
                      : outside(static_cast<const int32_t*>(indices.data));
}

std::optional<BadIndex> gather_rows(const GatherRows& p, const void* src, const Indices& indices, void* dst,
                                    Threads& threads) {
  if (auto bad = check_indices(indices, p.count, p.size)) return bad;
  const auto* from = static_cast<const char*>(src);
  auto* to = static_cast<char*>(dst);
  if (p.row_bytes == 0) return std::nullopt;
  with_fixed_copy(p.row_bytes, [&](const auto& copy) {
    parallel_for(threads, p.outer * p.count, kGrainBytes / p.row_bytes, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t index = indices.at(row % p.count);
        copy(to + row * p.row_bytes, from + (row / p.count * p.size + index + (index < 0 ? p.size : 0)) * p.row_bytes);
      }
    });
  });
  return std::nullopt;
}

std::optional<BadIndex> gather_elements(const GatherElements& p, const void* src, const Indices& indices, void* dst,
                                        Threads& threads) {
  int64_t count = 1;
  for (const int64_t dim : p.dims) count *= dim;
  if (count == 0) return std::nullopt;
  if (auto bad = check_indices(indices, count, p.size)) return bad;
  const size_t last = p.dims.size() - 1;
  const int64_t length = p.dims[last];
  const int64_t last_stride = p.axis == last ? 0 : p.src_strides[last];
  const int64_t stride = p.src_strides[p.axis];
  with_element_type(p.element_bytes, [&]<class T>(T) {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
    const auto* from = static_cast<const char*>(src);
    auto* to = static_cast<char*>(dst);
    parallel_for(threads, count / length, kGrainBytes / (length * kBytes), [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t base = 0;
        int64_t rest = row;
        for (size_t i = last; i-- > 0;) {
          if (i != p.axis) base += rest % p.dims[i] * p.src_strides[i];
          rest /= p.dims[i];
        }
        for (int64_t j = 0; j < length; ++j) {
          const int64_t index = indices.at(row * length + j);
          const int64_t at = base + (index + (index < 0 ? p.size : 0)) * stride + j * last_stride;
          std::memcpy(to + (row * length + j) * kBytes, from + at * kBytes, sizeof(T));
        }
      }
    });
  });
  return std::nullopt;
}

int64_t IndexTuples::offset(const Indices& indices, int64_t t) const {
  const auto length = static_cast<int64_t>(sizes.size());
  int64_t sum = t / tuples_per_batch * batch_stride;
  for (int64_t k = 0; k < length; ++k) {
    const int64_t index = indices.at(t * length + k);
    sum += (index + (index < 0 ? sizes[static_cast<size_t>(k)] : 0)) * strides[static_cast<size_t>(k)];
  }
  return sum;
}

std::optional<BadIndex> IndexTuples::check(const Indices& indices) const {
  const auto length = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < count * length; ++i) {
    const int64_t size = sizes[static_cast<size_t>(i % length)];
    const int64_t index = indices.at(i);
    if (index < -size || index >= size) return BadIndex{index, size};
  }
  return std::nullopt;
}

std::optional<BadIndex> gather_tuples(const IndexTuples& tuples, int64_t slice_bytes, const void* src,
                                      const Indices& indices, void* dst, Threads& threads) {
  if (auto bad = tuples.check(indices)) return bad;
  if (slice_bytes == 0) return std::nullopt;
  with_fixed_copy(slice_bytes, [&](const auto& copy) {
    parallel_for(threads, tuples.count, kGrainBytes / slice_bytes, [&](int64_t begin, int64_t end, int) {
      for (int64_t t = begin; t < end; ++t) {
        copy(static_cast<char*>(dst) + t * slice_bytes, static_cast<const char*>(src) + tuples.offset(indices, t));
      }
    });
  });
  return std::nullopt;
}

std::optional<BadIndex> scatter_tuples(const IndexTuples& tuples, int64_t slice_bytes, const void* src,
                                       const Indices& indices, void* dst) {
  if (auto bad = tuples.check(indices)) return bad;
  with_fixed_copy(slice_bytes, [&](const auto& copy) {
    for (int64_t t = 0; t < tuples.count; ++t) {
      copy(static_cast<char*>(dst) + tuples.offset(indices, t), static_cast<const char*>(src) + t * slice_bytes);
    }
  });
  return std::nullopt;
}

}  // namespace strop::kernels
