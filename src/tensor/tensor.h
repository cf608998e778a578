/// Host tensors and values: what the interpreter computes with, what constants are, what tools read and write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "tensor/dtype.h"
#include "tensor/type.h"

namespace strop {

/// A dense row-major tensor in host memory. Copies share the bytes (a handle, like shared_ptr); `clone` copies them.
/// The bytes may belong to someone else (a memory-mapped file): `owner` keeps that alive, and they are then read-only.
/// Sub-byte types are packed as ONNX packs them (first element in the low bits). Strings are std::string objects.
class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled (empty strings). Throws std::bad_alloc when memory is short.
  Tensor(DType dtype, std::vector<int64_t> dims);
  /// Not initialised; for the kernel that is about to write all of it.
  static Tensor uninitialized(DType dtype, std::vector<int64_t> dims);
  /// A read-only view of `data` (byte_size(dtype, count) bytes), kept alive by `owner`. Data misaligned for their type
  /// (as initializers inside a file may be) are copied instead.
  static Tensor view(DType dtype, std::vector<int64_t> dims, const void* data, std::shared_ptr<const void> owner);
  /// A writable view; the caller guarantees the lifetime and the alignment of the type.
  static Tensor borrow(DType dtype, std::vector<int64_t> dims, void* data);
  template <class T>
  static Tensor of(DType dtype, std::vector<int64_t> dims, std::span<const T> values);
  static Tensor scalar(DType dtype, double value);    ///< value converted as store_f64 does
  static Tensor of_i64(std::vector<int64_t> values);  ///< 1-D i64
  static Tensor of_strings(std::vector<int64_t> dims, std::vector<std::string> values);

  bool defined() const { return dtype_ != DType::Undefined; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t dim(int64_t axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t count() const { return count_; }
  int64_t bytes() const { return byte_size(dtype_, count_); }
  TensorType type() const { return {dtype_, to_dims(dims_), {}}; }

  const void* raw() const { return data_; }
  void* mutable_raw() const {
    STROP_CHECK(!read_only_, "writing to read-only bytes");
    return data_;
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  template <class T>
  T* mutable_data() const {
    return static_cast<T*>(mutable_raw());
  }
  template <class T>
  std::span<const T> span() const {
    return {data<T>(), static_cast<size_t>(count_)};
  }
  const std::vector<std::string>& strings() const { return *strings_; }
  std::vector<std::string>& mutable_strings() const { return *strings_; }

  /// The same bytes under other dimensions of the same count.
  Tensor reshaped(std::vector<int64_t> dims) const;
  Tensor clone() const;
  /// Keeps the bytes' owner alive beyond this handle.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  DType dtype_ = DType::Undefined;
  bool read_only_ = false;
  std::vector<int64_t> dims_;
  int64_t count_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<std::vector<std::string>> strings_;  // String only
};

/// Number of elements; checks for overflow.
int64_t element_count(const std::vector<int64_t>& dims);

/// Converts all elements exactly to double (real numeric types and bool). i64/u64 beyond 2^53 lose bits: use load_i64.
std::vector<double> load_f64(const Tensor& tensor);
/// Converts all elements of an integer or bool tensor; u64 keeps its bit pattern.
std::vector<int64_t> load_i64(const Tensor& tensor);
/// A new tensor, each value converted as convert.h's store_scalar does with saturate: rounded once to a floating type;
/// truncated, then taken modulo 2^n, for an integer type; compared with zero for bool.
Tensor store_f64(DType dtype, std::vector<int64_t> dims, std::span<const double> values);
/// A new tensor of an integer, bool or floating type; integers wrap modulo 2^n.
Tensor store_i64(DType dtype, std::vector<int64_t> dims, std::span<const int64_t> values);

/// A new tensor of `dims` whose element i is source's element index[i], or a zero/empty element (or `fill`'s only
/// element) where index[i] is negative. Works for every type: the one primitive of all data movement in the reference.
Tensor gather_elements(const Tensor& source, std::vector<int64_t> dims, std::span<const int64_t> index,
                       const Tensor* fill = nullptr);
/// Copies `count` elements. The tensors have one dtype; ranges must be in bounds. Works for strings and packed types.
void copy_elements(const Tensor& to, int64_t to_index, const Tensor& from, int64_t from_index, int64_t count);

/// A run-time value: a tensor, a sequence, an optional (empty or holding one), or nothing (absent operand).
class Value;
struct SequenceValue {
  Type element;
  std::vector<Value> items;
};
struct OptionalValue {
  Type element;
  std::shared_ptr<const Value> held;  ///< null: empty
};
class Value {
 public:
  Value() = default;
  Value(Tensor tensor) : state_(std::move(tensor)) {}             // NOLINT(google-explicit-constructor)
  Value(SequenceValue sequence) : state_(std::move(sequence)) {}  // NOLINT(google-explicit-constructor)
  Value(OptionalValue optional) : state_(std::move(optional)) {}  // NOLINT(google-explicit-constructor)

  bool is_none() const { return std::holds_alternative<std::monostate>(state_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(state_); }
  bool is_sequence() const { return std::holds_alternative<SequenceValue>(state_); }
  bool is_optional() const { return std::holds_alternative<OptionalValue>(state_); }
  const Tensor& tensor() const { return std::get<Tensor>(state_); }
  const SequenceValue& sequence() const { return std::get<SequenceValue>(state_); }
  const OptionalValue& optional() const { return std::get<OptionalValue>(state_); }
  /// The concrete type (all dimensions constant).
  Type type() const;

 private:
  std::variant<std::monostate, Tensor, SequenceValue, OptionalValue> state_;
};

template <class T>
Tensor Tensor::of(DType dtype, std::vector<int64_t> dims, std::span<const T> values) {
  Tensor tensor = uninitialized(dtype, std::move(dims));
  STROP_CHECK(tensor.bytes() == static_cast<int64_t>(values.size_bytes()), "{} bytes given", values.size_bytes());
  std::copy(values.begin(), values.end(), tensor.mutable_data<T>());
  return tensor;
}

}  // namespace strop
