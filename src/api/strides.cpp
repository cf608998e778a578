#include "api/strides.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/impl.h"

namespace strop::api {
namespace {

/// Axes that have more than one index.
struct Axis {
  int64_t size = 1;
  int64_t stride = 0;  // bytes here
};

/// Bytes of a tensor: `length` consecutive ones at base + i * stride + … for all indices.
struct Footprint {
  int64_t base = 0;
  int64_t length = 0;
  std::vector<Axis> axes;  // strides positive, largest first; each steps over all that the later ones cover, unless
                           // `nested` is false
  bool nested = true;

  int64_t extent(size_t from = 0) const {
    int64_t bytes = length;
    for (size_t i = from; i < axes.size(); ++i) bytes += (axes[i].size - 1) * axes[i].stride;
    return bytes;
  }
};

int64_t element_bytes(DType dtype) { return bit_width(dtype) / 8; }

Footprint footprint(const TensorView& tensor) {
  Footprint result;
  result.base = static_cast<int64_t>(reinterpret_cast<intptr_t>(tensor.data));
  if (tensor.strides.empty()) {
    result.length = byte_size(tensor.dtype, tensor.count());
    return result;
  }
  result.length = element_bytes(tensor.dtype);
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const int64_t stride = tensor.strides[i] * element_bytes(tensor.dtype);
    if (tensor.shape[i] == 1 || stride == 0) continue;
    if (stride < 0) result.base += (tensor.shape[i] - 1) * stride;
    result.axes.push_back({tensor.shape[i], std::abs(stride)});
  }
  std::sort(result.axes.begin(), result.axes.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  // The innermost axes of a tensor usually lie one after another.
  while (!result.axes.empty() && result.axes.back().stride == result.length) {
    result.length *= result.axes.back().size;
    result.axes.pop_back();
  }
  for (size_t i = 0; i < result.axes.size(); ++i)
    result.nested = result.nested && result.axes[i].stride >= result.extent(i + 1);
  return result;
}

/// Whether two nested footprints share a byte.
class Meeting {
 public:
  Meeting(const Footprint& a, const Footprint& b) : a_(a), b_(b) {}
  bool happens() { return from(0, 0, b_.base - a_.base); }

 private:
  // From axis `i` of a and `j` of b on, b's part lying `distance` bytes behind a's. The larger stride is stepped over
  // first, in both where they are equal: only the difference of the indices matters, and only few differences bring the
  // remaining parts within reach of each other.
  bool from(size_t i, size_t j, int64_t distance) {
    if (distance >= a_.extent(i) || -distance >= b_.extent(j)) return false;
    if ((i == a_.axes.size() && j == b_.axes.size()) || --budget_ < 0) return true;
    const bool step_a = i < a_.axes.size() && (j == b_.axes.size() || a_.axes[i].stride >= b_.axes[j].stride);
    const bool step_b = j < b_.axes.size() && (i == a_.axes.size() || b_.axes[j].stride >= a_.axes[i].stride);
    const int64_t stride = step_a ? a_.axes[i].stride : b_.axes[j].stride;
    const size_t next_i = step_a ? i + 1 : i;
    const size_t next_j = step_b ? j + 1 : j;
    const int64_t reach = std::max(a_.extent(next_i), b_.extent(next_j)) / stride + 1;
    const int64_t first = std::max(step_b ? 1 - b_.axes[j].size : 0, distance / stride - reach);
    const int64_t last = std::min(step_a ? a_.axes[i].size - 1 : 0, distance / stride + reach);
    for (int64_t difference = first; difference <= last; ++difference) {
      if (from(next_i, next_j, distance - difference * stride)) return true;
    }
    return false;
  }

  const Footprint& a_;
  const Footprint& b_;
  int64_t budget_ = 1 << 20;
};

std::vector<kernels::CopyAxis> axes_of(const TensorView& tensor, bool from_dense) {
  std::vector<kernels::CopyAxis> axes = kernels::dense_axes(tensor.shape);
  for (size_t i = 0; i < axes.size(); ++i) (from_dense ? axes[i].dst_stride : axes[i].src_stride) = tensor.strides[i];
  std::erase_if(axes, [](const kernels::CopyAxis& axis) { return axis.size == 1; });
  return axes;
}

Result<kernels::StridedCopy> make_copy(const TensorView& tensor, bool from_dense) {
  std::vector<kernels::CopyAxis> axes = axes_of(tensor, from_dense);
  if (tensor.count() == 0) return kernels::StridedCopy();
  if (kernels::StridedCopy::merged_axes(axes) > kernels::StridedCopy::kMaxAxes)
    return error(ErrorCode::Unsupported, "a strided tensor with more than {} axes", kernels::StridedCopy::kMaxAxes);
  return kernels::StridedCopy(std::move(axes), element_bytes(tensor.dtype));
}

}  // namespace

Result<void> check_shape(const TensorView& tensor) {
  int64_t bits = 128;  // of the widest element
  bool overflow = false;
  for (const int64_t dim : tensor.shape) {
    if (dim < 0) return error(ErrorCode::InvalidArgument, "a dimension cannot be {}", dim);
    overflow = overflow || __builtin_mul_overflow(bits, std::max<int64_t>(dim, 1), &bits);
  }
  if (overflow) return error(ErrorCode::InvalidArgument, "a tensor cannot have so many elements");
  return {};
}

Result<void> check_strides(std::string_view port, const TensorView& tensor, Access access) {
  if (tensor.strides.empty()) return {};
  if (tensor.strides.size() != tensor.shape.size()) {
    return error(ErrorCode::InvalidArgument, "'{}' has {} dimensions and {} strides were given", port,
                 tensor.shape.size(), tensor.strides.size());
  }
  if (tensor.dtype == DType::String || bit_width(tensor.dtype) < 8) {
    return error(ErrorCode::InvalidArgument, "'{}' is of {}, which cannot have strides: give a dense tensor", port,
                 to_string(tensor.dtype));
  }
  if (tensor.count() == 0) return {};
  constexpr int64_t kMost = int64_t{1} << 57;  // elements of up to 16 bytes then stay within 2^62 bytes
  int64_t extent = 1;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    int64_t step = 0;
    const int64_t stride = tensor.strides[i];
    const bool too_far = stride == INT64_MIN || __builtin_mul_overflow(tensor.shape[i] - 1, std::abs(stride), &step) ||
                         __builtin_add_overflow(extent, step, &extent) || extent > kMost;
    if (too_far) {
      return error(ErrorCode::InvalidArgument, "'{}': stride {} of dimension {} leads outside of the memory", port,
                   stride, i);
    }
    if (access == Access::Write && tensor.shape[i] > 1 && stride <= 0) {
      return error(ErrorCode::InvalidArgument, "output '{}': stride {} of dimension {} must be positive", port, stride,
                   i);
    }
  }
  if (access == Access::Write && !footprint(tensor).nested) {
    return error(ErrorCode::InvalidArgument,
                 "output '{}': strides [{}] fold elements of shape {} onto each other: each stride must reach beyond "
                 "all that smaller ones cover",
                 port, fmt::join(tensor.strides, ", "), to_string(to_dims(tensor.shape)));
  }
  return {};
}

bool is_dense(const TensorView& tensor) {
  if (tensor.strides.empty() || tensor.count() == 0) return true;
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] > 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

bool overlap(const TensorView& a, const TensorView& b) {
  if (a.dtype == DType::String || b.dtype == DType::String || a.count() == 0 || b.count() == 0) return false;
  const Footprint one = footprint(a);
  const Footprint two = footprint(b);
  const int64_t distance = two.base - one.base;
  if (one.nested && two.nested) return Meeting(one, two).happens();
  return distance < one.extent() && -distance < two.extent();
}

Result<kernels::StridedCopy> copy_to_dense(const TensorView& tensor) { return make_copy(tensor, false); }
Result<kernels::StridedCopy> copy_from_dense(const TensorView& tensor) { return make_copy(tensor, true); }

Result<Tensor> densify(const TensorView& tensor) {
  STROP_TRY(check_strides("tensor", tensor, Access::Read));
  Tensor dense = Tensor::uninitialized(tensor.dtype, tensor.shape);
  STROP_ASSIGN(const kernels::StridedCopy copy, copy_to_dense(tensor));
  SingleThread here;
  copy.run(tensor.data, dense.mutable_raw(), here);
  return dense;
}

}  // namespace strop::api
