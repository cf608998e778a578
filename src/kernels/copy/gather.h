/// Copies driven by index tensors. Indices lie in [-size, size) of their axis, negative ones counting from the end; the
/// functions check them before they copy and return the first one that does not, or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/threads.h"

namespace strop::kernels {

/// i32 or i64 indices.
struct Indices {
  const void* data = nullptr;
  bool wide = true;  ///< i64
  int64_t at(int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

struct BadIndex {
  int64_t index = 0;
  int64_t size = 0;
};

/// The first of `count` indices outside an axis of `size`.
std::optional<BadIndex> check_indices(const Indices& indices, int64_t count, int64_t size);

/// dst[o, k, row] = src[o, indices[k], row].
struct GatherRows {
  int64_t outer = 1;
  int64_t size = 0;   ///< of the source's axis
  int64_t count = 0;  ///< of indices
  int64_t row_bytes = 0;
};
std::optional<BadIndex> gather_rows(const GatherRows& problem, const void* src, const Indices& indices, void* dst,
                                    Threads& threads);

/// dst[i…] = src[i… with coordinate `axis` replaced by indices[i…]], elements of `element_bytes` (1, 2, 4, 8, 16).
struct GatherElements {
  std::vector<int64_t> dims;         ///< of indices and result
  std::vector<int64_t> src_strides;  ///< in elements
  int64_t size = 0;                  ///< of the source's axis
  size_t axis = 0;
  int64_t element_bytes = 0;
};
std::optional<BadIndex> gather_elements(const GatherElements& problem, const void* src, const Indices& indices,
                                        void* dst, Threads& threads);

/// Index tuples: tuple t names the slice at sum over k of indices[t, k] * strides[k], within batch
/// t / tuples_per_batch.
struct IndexTuples {
  int64_t count = 0;
  std::vector<int64_t> sizes;    ///< of the axes indexed
  std::vector<int64_t> strides;  ///< of the axes indexed, in bytes
  int64_t tuples_per_batch = 1;
  int64_t batch_stride = 0;  ///< in bytes

  /// The byte offset of tuple t's slice; the indices must have been checked.
  int64_t offset(const Indices& indices, int64_t t) const;
  std::optional<BadIndex> check(const Indices& indices) const;
};

/// dst[t] = the slice of src that tuple t names.
std::optional<BadIndex> gather_tuples(const IndexTuples& tuples, int64_t slice_bytes, const void* src,
                                      const Indices& indices, void* dst, Threads& threads);

/// The slice of dst that tuple t names = src[t], in order: of equal tuples the last one stays.
std::optional<BadIndex> scatter_tuples(const IndexTuples& tuples, int64_t slice_bytes, const void* src,
                                       const Indices& indices, void* dst);

}  // namespace strop::kernels
