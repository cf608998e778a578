#include "kernels/copy/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "kernels/copy/element_types.h"
#include "kernels/transpose/transpose.h"

namespace strop::kernels {
namespace {

// What one worker should copy at least, and the pieces that a long run is cut into.
constexpr int64_t kGrainBytes = 64 * 1024;

// Size-1 axes dropped, the destination's largest stride first, neighbours that continue each other on both sides
// merged.
std::vector<CopyAxis> merged(std::vector<CopyAxis> axes) {
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.size == 1; });
  std::stable_sort(axes.begin(), axes.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.dst_stride > b.dst_stride; });
  std::vector<CopyAxis> result;
  for (const CopyAxis& axis : axes) {
    if (!result.empty() && result.back().src_stride == axis.src_stride * axis.size &&
        result.back().dst_stride == axis.dst_stride * axis.size) {
      result.back() = {result.back().size * axis.size, axis.src_stride, axis.dst_stride};
    } else {
      result.push_back(axis);
    }
  }
  return result;
}

// Walks the outer axes in row-major order from any item.
class Cursor {
 public:
  Cursor(const std::vector<CopyAxis>& axes, int64_t item) : axes_(axes) {
    for (size_t i = axes.size(); i-- > 0;) {
      at_[i] = item % axes[i].size;
      item /= axes[i].size;
      src += at_[i] * axes[i].src_stride;
      dst += at_[i] * axes[i].dst_stride;
    }
  }
  void next() {
    for (size_t i = axes_.size(); i-- > 0;) {
      src += axes_[i].src_stride;
      dst += axes_[i].dst_stride;
      if (++at_[i] < axes_[i].size) return;
      src -= axes_[i].size * axes_[i].src_stride;
      dst -= axes_[i].size * axes_[i].dst_stride;
      at_[i] = 0;
    }
  }
  int64_t src = 0;
  int64_t dst = 0;

 private:
  const std::vector<CopyAxis>& axes_;
  std::array<int64_t, StridedCopy::kMaxAxes> at_{};
};

template <class T>
void fill(char* dst, const char* value, int64_t count, int64_t stride) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  T element;
  std::memcpy(&element, value, sizeof(T));
  if (stride == 1) {  // apart, so that it becomes vector stores
    for (int64_t i = 0; i < count; ++i) std::memcpy(dst + i * kBytes, &element, sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) std::memcpy(dst + i * stride * kBytes, &element, sizeof(T));
  }
}

template <class T>
void copy_elements(char* dst, const char* src, const CopyAxis& axis) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < axis.size; ++i) {
    std::memcpy(dst + i * axis.dst_stride * kBytes, src + i * axis.src_stride * kBytes, sizeof(T));
  }
}

}  // namespace

size_t StridedCopy::merged_axes(std::vector<CopyAxis> axes) { return merged(std::move(axes)).size(); }

StridedCopy::StridedCopy(std::vector<CopyAxis> axes, int64_t element_bytes, int64_t src_offset, int64_t dst_offset)
    : element_bytes_(element_bytes), src_offset_(src_offset * element_bytes), dst_offset_(dst_offset * element_bytes) {
  if (std::any_of(axes.begin(), axes.end(), [](const CopyAxis& axis) { return axis.size == 0; })) return;
  for (const CopyAxis& axis : axes) {
    STROP_CHECK(axis.size > 0 && (axis.dst_stride > 0 || axis.size == 1), "axis of {} by {}", axis.size,
                axis.dst_stride);
  }
  outer_ = merged(std::move(axes));
  STROP_CHECK(outer_.size() <= kMaxAxes, "{} axes after merging", outer_.size());
  while (widen_elements()) {
  }
  choose_method();
  for (CopyAxis& axis : outer_) {
    axis.src_stride *= element_bytes_;
    axis.dst_stride *= element_bytes_;
    items_ *= axis.size;
  }
}

// A short contiguous innermost run becomes one wider element, so that the axis outside it can be the inner one.
bool StridedCopy::widen_elements() {
  if (outer_.size() < 2 || outer_.back().src_stride != 1 || outer_.back().dst_stride != 1) return false;
  const int64_t run = outer_.back().size;
  const int64_t bytes = run * element_bytes_;
  if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) return false;
  const auto multiple = [&](const CopyAxis& axis) { return axis.src_stride % run == 0 && axis.dst_stride % run == 0; };
  if (!std::all_of(outer_.begin(), outer_.end() - 1, multiple)) return false;
  outer_.pop_back();
  element_bytes_ = bytes;
  for (CopyAxis& axis : outer_) {
    axis.src_stride /= run;
    axis.dst_stride /= run;
  }
  return true;
}

void StridedCopy::choose_method() {
  if (outer_.empty()) outer_.push_back({1, 1, 1});
  inner_ = outer_.back();
  outer_.pop_back();
  if (inner_.dst_stride == 1 && (inner_.src_stride == 1 || inner_.size == 1)) {
    method_ = Method::Runs;
  } else if (inner_.src_stride == 0) {
    method_ = Method::Fill;
  } else {
    method_ = Method::Elements;
    // An axis along which the source is contiguous makes it a transposition of matrices.
    const auto contiguous =
        std::find_if(outer_.begin(), outer_.end(), [](const CopyAxis& axis) { return axis.src_stride == 1; });
    if (contiguous == outer_.end() || inner_.dst_stride != 1 || inner_.src_stride < 0 || element_bytes_ > 8) return;
    method_ = Method::Transposed;
    rows_ = *contiguous;
    outer_.erase(contiguous);
  }
}

void StridedCopy::copy_items(int64_t begin, int64_t end, const char* src, char* dst) const {
  Cursor cursor(outer_, begin);
  const auto each = [&](auto&& body) {
    for (int64_t item = begin; item < end; ++item, cursor.next()) body(dst + cursor.dst, src + cursor.src);
  };
  switch (method_) {
    case Method::Nothing: return;
    case Method::Runs: return with_fixed_copy(inner_.size * element_bytes_, [&](const auto& copy) { each(copy); });
    case Method::Fill:
      return with_element_type(element_bytes_, [&]<class T>(T) {
        each([&](char* to, const char* from) { fill<T>(to, from, inner_.size, inner_.dst_stride); });
      });
    case Method::Elements:
      return with_element_type(element_bytes_, [&]<class T>(T) {
        each([&](char* to, const char* from) { copy_elements<T>(to, from, inner_); });
      });
    case Method::Transposed: {
      SingleThread here;
      const TransposeProblem problem{1, inner_.size, rows_.size, inner_.src_stride, rows_.dst_stride, 0, 0};
      each(
          [&](char* to, const char* from) { transpose(problem, static_cast<size_t>(element_bytes_), from, to, here); });
    }
  }
}

// Few long lines, cut into pieces that workers share.
void StridedCopy::copy_pieces(const char* src, char* dst, Threads& threads) const {
  const int64_t length = kGrainBytes / element_bytes_;
  const int64_t pieces = (inner_.size + length - 1) / length;
  parallel_for(threads, items_ * pieces, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end; ++index) {
      const Cursor cursor(outer_, index / pieces);
      const int64_t first = index % pieces * length;
      const CopyAxis piece{std::min(length, inner_.size - first), inner_.src_stride, inner_.dst_stride};
      char* to = dst + cursor.dst + first * inner_.dst_stride * element_bytes_;
      const char* from = src + cursor.src + first * inner_.src_stride * element_bytes_;
      if (method_ == Method::Runs) {
        std::memcpy(to, from, static_cast<size_t>(piece.size * element_bytes_));
        continue;
      }
      with_element_type(element_bytes_, [&]<class T>(T) {
        if (method_ == Method::Fill)
          fill<T>(to, from, piece.size, piece.dst_stride);
        else
          copy_elements<T>(to, from, piece);
      });
    }
  });
}

void StridedCopy::run(const void* src, void* dst, Threads& threads) const {
  if (method_ == Method::Nothing) return;
  const char* from = static_cast<const char*>(src) + src_offset_;
  char* to = static_cast<char*>(dst) + dst_offset_;
  const int64_t item_bytes = inner_.size * element_bytes_ * (method_ == Method::Transposed ? rows_.size : 1);
  if (method_ == Method::Transposed && items_ < threads.count() * 4 && item_bytes >= 4 * kGrainBytes) {
    const TransposeProblem problem{1, inner_.size, rows_.size, inner_.src_stride, rows_.dst_stride, 0, 0};
    Cursor cursor(outer_, 0);
    for (int64_t item = 0; item < items_; ++item, cursor.next()) {
      transpose(problem, static_cast<size_t>(element_bytes_), from + cursor.src, to + cursor.dst, threads);
    }
    return;
  }
  if (method_ != Method::Transposed && item_bytes >= 2 * kGrainBytes) return copy_pieces(from, to, threads);
  parallel_for(threads, items_, kGrainBytes / item_bytes,
               [&](int64_t begin, int64_t end, int) { copy_items(begin, end, from, to); });
}

std::vector<CopyAxis> dense_axes(const std::vector<int64_t>& dims) {
  std::vector<CopyAxis> axes(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    axes[i] = {dims[i], stride, stride};
    stride *= dims[i];
  }
  return axes;
}

}  // namespace strop::kernels
