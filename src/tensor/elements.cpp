// Loops over whole tensors: conversion, gathering, copying.
#include <algorithm>
#include <cstring>

#include "tensor/codec.h"
#include "tensor/tensor.h"

namespace strop {
namespace {

// Constructing from a range converts in one pass; sizing the vector first would write the memory twice.
template <class To, class From>
std::vector<To> converted(const Tensor& tensor) {
  const auto values = tensor.span<From>();
  return std::vector<To>(values.begin(), values.end());
}

template <class T>
Tensor gather_plain(const Tensor& source, std::vector<int64_t> dims, std::span<const int64_t> index,
                    const Tensor* fill) {
  Tensor result = Tensor::uninitialized(source.dtype(), std::move(dims));
  T replacement{};
  if (fill != nullptr) std::memcpy(&replacement, fill->raw(), sizeof(T));
  // Bytes are moved, whatever the dtype: char access keeps that within the aliasing rules.
  const auto* from = static_cast<const char*>(source.raw());
  auto* to = static_cast<char*>(result.mutable_raw());
  for (const int64_t i : index) {
    if (i < 0) {
      std::memcpy(to, &replacement, sizeof(T));
    } else {
      STROP_CHECK(i < source.count(), "element {} of {}", i, source.count());
      std::memcpy(to, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    }
    to += sizeof(T);
  }
  return result;
}

template <int Bits>
Tensor gather_packed(const Tensor& source, std::vector<int64_t> dims, std::span<const int64_t> index,
                     const Tensor* fill) {
  Tensor result(source.dtype(), std::move(dims));
  const uint32_t replacement = fill != nullptr ? codec::read_packed<Bits>(fill->raw(), 0) : 0;
  void* to = result.mutable_raw();
  for (size_t i = 0; i < index.size(); ++i) {
    STROP_CHECK(index[i] < source.count(), "element {} of {}", index[i], source.count());
    const uint32_t code = index[i] < 0 ? replacement : codec::read_packed<Bits>(source.raw(), index[i]);
    codec::write_packed<Bits>(to, static_cast<int64_t>(i), code);
  }
  return result;
}

Tensor gather_strings(const Tensor& source, std::vector<int64_t> dims, std::span<const int64_t> index,
                      const Tensor* fill) {
  std::vector<std::string> values;
  values.reserve(index.size());
  for (const int64_t i : index) {
    STROP_CHECK(i < source.count(), "element {} of {}", i, source.count());
    if (i >= 0) {
      values.push_back(source.strings()[static_cast<size_t>(i)]);
    } else {
      values.push_back(fill != nullptr ? fill->strings().front() : std::string());
    }
  }
  return Tensor::of_strings(std::move(dims), std::move(values));
}

struct Bytes16 {
  uint64_t low, high;
};

// Copies elements narrower than a byte, forwards.
template <int Bits>
void copy_packed(void* to, int64_t to_index, const void* from, int64_t from_index, int64_t count) {
  constexpr int64_t kPerByte = 8 / Bits;
  int64_t done = 0;
  if (to_index % kPerByte == 0 && from_index % kPerByte == 0) {
    const int64_t whole = count / kPerByte;
    std::memmove(static_cast<char*>(to) + to_index / kPerByte, static_cast<const char*>(from) + from_index / kPerByte,
                 static_cast<size_t>(whole));
    done = whole * kPerByte;
  }
  for (; done < count; ++done) {
    codec::write_packed<Bits>(to, to_index + done, codec::read_packed<Bits>(from, from_index + done));
  }
}

}  // namespace

std::vector<double> load_f64(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::F32: return converted<double, float>(tensor);
    case DType::F64: return converted<double, double>(tensor);
    case DType::I32: return converted<double, int32_t>(tensor);
    case DType::I64: return converted<double, int64_t>(tensor);
    case DType::U8: return converted<double, uint8_t>(tensor);
    default: break;
  }
  return codec::with_codec(tensor.dtype(), [&]<class C>(C) {
    std::vector<double> values(static_cast<size_t>(tensor.count()));
    const void* data = tensor.raw();
    for (int64_t i = 0; i < tensor.count(); ++i) values[static_cast<size_t>(i)] = C::load(data, i);
    return values;
  });
}

std::vector<int64_t> load_i64(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  STROP_CHECK(is_integer(dtype) || dtype == DType::Bool, "{} is not an integer type", to_string(dtype));
  if (dtype == DType::I64) return converted<int64_t, int64_t>(tensor);
  if (dtype == DType::I32) return converted<int64_t, int32_t>(tensor);
  return codec::with_codec(dtype, [&]<class C>(C) {
    std::vector<int64_t> values(static_cast<size_t>(tensor.count()));
    const void* data = tensor.raw();
    for (int64_t i = 0; i < tensor.count(); ++i) values[static_cast<size_t>(i)] = C::load_int(data, i);
    return values;
  });
}

Tensor store_f64(DType dtype, std::vector<int64_t> dims, std::span<const double> values) {
  Tensor tensor = is_sub_byte(dtype) ? Tensor(dtype, std::move(dims)) : Tensor::uninitialized(dtype, std::move(dims));
  STROP_CHECK(tensor.count() == static_cast<int64_t>(values.size()), "{} values given", values.size());
  codec::with_codec(dtype, [&]<class C>(C) {
    void* data = tensor.mutable_raw();
    for (size_t i = 0; i < values.size(); ++i) C::store(data, static_cast<int64_t>(i), values[i], true);
  });
  return tensor;
}

Tensor store_i64(DType dtype, std::vector<int64_t> dims, std::span<const int64_t> values) {
  Tensor tensor = is_sub_byte(dtype) ? Tensor(dtype, std::move(dims)) : Tensor::uninitialized(dtype, std::move(dims));
  STROP_CHECK(tensor.count() == static_cast<int64_t>(values.size()), "{} values given", values.size());
  codec::with_codec(dtype, [&]<class C>(C) {
    void* data = tensor.mutable_raw();
    for (size_t i = 0; i < values.size(); ++i) C::store_int(data, static_cast<int64_t>(i), values[i]);
  });
  return tensor;
}

Tensor gather_elements(const Tensor& source, std::vector<int64_t> dims, std::span<const int64_t> index,
                       const Tensor* fill) {
  STROP_CHECK(element_count(dims) == static_cast<int64_t>(index.size()), "{} indices given", index.size());
  STROP_CHECK(fill == nullptr || (fill->dtype() == source.dtype() && fill->count() == 1));
  if (source.dtype() == DType::String) return gather_strings(source, std::move(dims), index, fill);
  switch (bit_width(source.dtype())) {
    case 2: return gather_packed<2>(source, std::move(dims), index, fill);
    case 4: return gather_packed<4>(source, std::move(dims), index, fill);
    case 8: return gather_plain<uint8_t>(source, std::move(dims), index, fill);
    case 16: return gather_plain<uint16_t>(source, std::move(dims), index, fill);
    case 32: return gather_plain<uint32_t>(source, std::move(dims), index, fill);
    case 64: return gather_plain<uint64_t>(source, std::move(dims), index, fill);
    case 128: return gather_plain<Bytes16>(source, std::move(dims), index, fill);
    default: break;
  }
  STROP_UNREACHABLE("elements of {} bits", bit_width(source.dtype()));
}

void copy_elements(const Tensor& to, int64_t to_index, const Tensor& from, int64_t from_index, int64_t count) {
  STROP_CHECK(to.dtype() == from.dtype(), "{} copied to {}", to_string(from.dtype()), to_string(to.dtype()));
  STROP_CHECK(count >= 0 && to_index >= 0 && from_index >= 0 && count <= to.count() - to_index &&
                  count <= from.count() - from_index,
              "{} elements from {} of {} to {} of {}", count, from_index, from.count(), to_index, to.count());
  if (count == 0) return;
  if (to.dtype() == DType::String) {
    const std::string* first = from.data<std::string>() + from_index;
    std::copy(first, first + count, to.mutable_data<std::string>() + to_index);
    return;
  }
  const int bits = bit_width(to.dtype());
  if (bits == 2) return copy_packed<2>(to.mutable_raw(), to_index, from.raw(), from_index, count);
  if (bits == 4) return copy_packed<4>(to.mutable_raw(), to_index, from.raw(), from_index, count);
  const int64_t width = bits / 8;
  std::memmove(to.mutable_data<char>() + to_index * width, from.data<char>() + from_index * width,
               static_cast<size_t>(count * width));
}

}  // namespace strop
