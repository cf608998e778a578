/// Copies between two strided layouts of the same elements: transposition, slicing, joining, repeating, padding are all
/// this. The plan is made once per shape; running it allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/threads.h"

namespace strop::kernels {

/// One axis of a copy: `size` steps, each of so many elements in the source (any, 0 repeats, negative reverses) and in
/// the destination (positive).
struct CopyAxis {
  int64_t size = 1;
  int64_t src_stride = 0;
  int64_t dst_stride = 0;
};

class StridedCopy {
 public:
  /// More axes than this remain only if nothing can be merged; the constructor checks.
  static constexpr size_t kMaxAxes = 16;

  StridedCopy() = default;
  /// Element (i, j, …) of the destination, at dst_offset + i * dst_stride + …, becomes the source's element at
  /// src_offset + i * src_stride + …. Elements of 1, 2, 4, 8 or 16 bytes. Destinations must not overlap each other; the
  /// source may lie in the same buffer where no byte is both read and written.
  StridedCopy(std::vector<CopyAxis> axes, int64_t element_bytes, int64_t src_offset = 0, int64_t dst_offset = 0);

  /// Merges and reorders axes so far that this many axes remain.
  static size_t merged_axes(std::vector<CopyAxis> axes);

  void run(const void* src, void* dst, Threads& threads) const;

  bool empty() const { return method_ == Method::Nothing; }

 private:
  enum class Method : uint8_t { Nothing, Runs, Fill, Elements, Transposed };

  void choose_method();
  bool widen_elements();
  void copy_items(int64_t begin, int64_t end, const char* src, char* dst) const;
  void copy_pieces(const char* src, char* dst, Threads& threads) const;

  Method method_ = Method::Nothing;
  int64_t element_bytes_ = 1;
  int64_t src_offset_ = 0;  // bytes from here on
  int64_t dst_offset_ = 0;
  std::vector<CopyAxis> outer_;  // strides in bytes
  int64_t items_ = 1;            // product of outer sizes
  CopyAxis inner_;               // strides in elements
  CopyAxis rows_;                // Transposed only: the axis whose source is contiguous; strides in elements
};

/// The axes of a row-major `dims` copied between dense layouts, for callers that change some of them: strides of both
/// sides are those of `dims`.
std::vector<CopyAxis> dense_axes(const std::vector<int64_t>& dims);

}  // namespace strop::kernels
