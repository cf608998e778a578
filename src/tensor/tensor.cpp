#include "tensor/tensor.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "tensor/convert.h"

namespace strop {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector register

struct Allocation {
  void* data = nullptr;
  std::shared_ptr<const void> owner;
};

// The first touch of a page costs about as much as reading it. Large tensors are asked for in pages of 2 MiB, of which
// only whole ones within the tensor are: it takes no more memory than with small ones.
void ask_for_huge_pages(void* base, size_t size) {
  constexpr uintptr_t kHuge = uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<uintptr_t>(base) + kHuge - 1) / kHuge * kHuge;
  const auto end = (reinterpret_cast<uintptr_t>(base) + size) / kHuge * kHuge;
  if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // or as they were
}

// calloc and malloc rather than aligned_alloc and memset: for large sizes the system hands out zero pages that cost
// nothing until they are touched.
Allocation allocate(int64_t bytes, bool zero) {
  const size_t size = static_cast<size_t>(bytes) + kAlignment;
  void* base = zero ? std::calloc(size, 1) : std::malloc(size);
  if (base == nullptr) throw std::bad_alloc();
  ask_for_huge_pages(base, size);
  const auto address = reinterpret_cast<uintptr_t>(base);
  void* aligned = static_cast<char*>(base) + (kAlignment - address % kAlignment) % kAlignment;
  return {aligned, std::shared_ptr<const void>(base, [](void* pointer) { std::free(pointer); })};
}

bool is_aligned_for(DType dtype, const void* data) {
  return reinterpret_cast<uintptr_t>(data) % alignment_of(dtype) == 0;
}

}  // namespace

int64_t element_count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  bool overflow = false;
  for (const int64_t dim : dims) {
    STROP_CHECK(dim >= 0, "negative dimension {}", dim);
    if (dim == 0) return 0;
    overflow |= __builtin_mul_overflow(count, dim, &count);
  }
  STROP_CHECK(!overflow, "more than 2^63 elements");
  return count;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> dims) : dtype_(dtype), dims_(std::move(dims)) {
  STROP_CHECK(dtype != DType::Undefined);
  count_ = element_count(dims_);
  if (count_ > std::numeric_limits<int64_t>::max() / 256) throw std::bad_alloc();
  if (dtype == DType::String) {
    strings_ = std::make_shared<std::vector<std::string>>(static_cast<size_t>(count_));
    data_ = strings_->data();
    return;
  }
  auto [data, owner] = allocate(bytes(), true);
  data_ = data;
  owner_ = std::move(owner);
}

Tensor Tensor::uninitialized(DType dtype, std::vector<int64_t> dims) {
  if (dtype == DType::String) return Tensor(dtype, std::move(dims));
  STROP_CHECK(dtype != DType::Undefined);
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  tensor.count_ = element_count(tensor.dims_);
  if (tensor.count_ > std::numeric_limits<int64_t>::max() / 256) throw std::bad_alloc();
  auto [data, owner] = allocate(tensor.bytes(), false);
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::view(DType dtype, std::vector<int64_t> dims, const void* data, std::shared_ptr<const void> owner) {
  STROP_CHECK(dtype != DType::Undefined && dtype != DType::String);
  if (!is_aligned_for(dtype, data)) {
    Tensor copy = uninitialized(dtype, std::move(dims));
    std::memcpy(copy.data_, data, static_cast<size_t>(copy.bytes()));
    copy.read_only_ = true;
    return copy;
  }
  Tensor tensor = borrow(dtype, std::move(dims), const_cast<void*>(data));
  tensor.read_only_ = true;
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::borrow(DType dtype, std::vector<int64_t> dims, void* data) {
  STROP_CHECK(dtype != DType::Undefined && dtype != DType::String);
  STROP_CHECK(is_aligned_for(dtype, data), "data of {} at a misaligned address", to_string(dtype));
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  tensor.count_ = element_count(tensor.dims_);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::scalar(DType dtype, double value) { return store_f64(dtype, {}, std::span<const double>(&value, 1)); }

Tensor Tensor::of_i64(std::vector<int64_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  return of<int64_t>(DType::I64, {count}, values);
}

Tensor Tensor::of_strings(std::vector<int64_t> dims, std::vector<std::string> values) {
  STROP_CHECK(element_count(dims) == static_cast<int64_t>(values.size()), "{} strings given", values.size());
  Tensor tensor;
  tensor.dtype_ = DType::String;
  tensor.dims_ = std::move(dims);
  tensor.count_ = static_cast<int64_t>(values.size());
  tensor.strings_ = std::make_shared<std::vector<std::string>>(std::move(values));
  tensor.data_ = tensor.strings_->data();
  return tensor;
}

Tensor Tensor::reshaped(std::vector<int64_t> dims) const {
  STROP_CHECK(defined() && element_count(dims) == count_, "{} elements reshaped", count_);
  Tensor result = *this;
  result.dims_ = std::move(dims);
  return result;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  if (dtype_ == DType::String) return of_strings(dims_, *strings_);
  Tensor copy = uninitialized(dtype_, dims_);
  if (bytes() > 0) std::memcpy(copy.data_, data_, static_cast<size_t>(bytes()));
  return copy;
}

Type Value::type() const {
  if (is_tensor()) return tensor().type();
  if (is_sequence()) return Type::sequence(sequence().element);
  if (is_optional()) return Type::optional(optional().element);
  return {};
}

}  // namespace strop
