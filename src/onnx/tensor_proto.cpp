#include "onnx/tensor_proto.h"

#include <limits>

#include "onnx/wire.h"
#include "tensor/convert.h"

namespace strop::onnx {
namespace {

// A dense form far larger than the file would be an easy way to exhaust memory.
constexpr int64_t kMaxDenseElements = int64_t{1} << 28;

enum TypedField : uint32_t {
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kDoubleData = 10,
  kUint64Data = 11,
};

/// Which typed field holds elements of a dtype, as onnx.proto says.
TypedField field_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::C64: return kFloatData;
    case DType::F64:
    case DType::C128: return kDoubleData;
    case DType::I64: return kInt64Data;
    case DType::U32:
    case DType::U64: return kUint64Data;
    case DType::String: return kStringData;
    default: return kInt32Data;
  }
}

/// A tensor about to be decoded.
struct Decoding {
  const TensorProto& proto;
  DType dtype = DType::Undefined;
  int64_t count = 0;
};

Error wrong_amount(int64_t found, int64_t needed, std::string_view unit) {
  return error(ErrorCode::InvalidModel, "has {} {} of data where its type and shape need {}", found, unit, needed);
}

/// Calls visit(reader) at every occurrence of the field.
template <class Visit>
Result<void> for_field(const TensorProto& proto, uint32_t field, Visit&& visit) {
  WireStatus status{proto.message.data(), "", 0};
  WireReader reader(proto.message, "TensorProto", status);
  while (reader.next()) {
    if (reader.field() == field) {
      visit(reader);
    } else {
      reader.skip();
    }
  }
  if (!status.ok()) return error(ErrorCode::InvalidModel, "is {}", status.error);
  return {};
}

/// float_data or double_data; complex numbers are pairs.
template <class T>
Result<Tensor> decode_fixed(const Decoding& d, TensorSource& source) {
  const int64_t bytes_needed = byte_size(d.dtype, d.count);
  const auto needed = bytes_needed / static_cast<int64_t>(sizeof(T));
  int64_t found = 0;
  std::string_view only_run;
  int runs = 0;
  const TypedField field = field_of(d.dtype);
  STROP_TRY(for_field(d.proto, field, [&](WireReader& reader) {
    ++runs;
    if (reader.wire_type() == WireType::Bytes) {
      only_run = reader.bytes();
      found += static_cast<int64_t>(only_run.size() / sizeof(T));
      if (only_run.size() % sizeof(T) != 0) reader.fail("a packed run that ends inside a number");
    } else {
      reader.fixed<T>([&](T) { ++found; });
    }
  }));
  if (found != needed) return wrong_amount(found, needed, "numbers");
  if (runs == 1 && only_run.size() == static_cast<size_t>(bytes_needed)) {
    return Tensor::view(d.dtype, d.proto.dims, only_run.data(), source.owner);
  }
  Tensor tensor = Tensor::uninitialized(d.dtype, d.proto.dims);
  T* at = tensor.mutable_data<T>();
  STROP_TRY(for_field(d.proto, field, [&](WireReader& reader) { reader.fixed<T>([&](T value) { *at++ = value; }); }));
  return tensor;
}

/// int32_data, int64_data, uint64_data. Elements of fewer than 8 bits are packed: each number is one byte of them.
/// float16 and narrower floats travel as their bits.
Result<Tensor> decode_integers(const Decoding& d) {
  const bool packed = is_sub_byte(d.dtype);
  const int64_t needed = packed ? byte_size(d.dtype, d.count) : d.count;
  const TypedField field = field_of(d.dtype);
  int64_t found = 0;
  STROP_TRY(for_field(d.proto, field, [&](WireReader& reader) { reader.integers([&](int64_t) { ++found; }); }));
  if (found != needed) return wrong_amount(found, needed, "numbers");
  Tensor tensor = Tensor::uninitialized(d.dtype, d.proto.dims);
  const int bytes_each = packed ? 1 : bit_width(d.dtype) / 8;
  auto* at = tensor.mutable_data<char>();
  const bool is_bool = d.dtype == DType::Bool;
  STROP_TRY(for_field(d.proto, field, [&](WireReader& reader) {
    reader.integers([&](int64_t value) {
      if (is_bool) value = value != 0 ? 1 : 0;
      std::memcpy(at, &value, static_cast<size_t>(bytes_each));  // little-endian: the low bytes
      at += bytes_each;
    });
  }));
  return tensor;
}

Result<Tensor> decode_strings(const Decoding& d) {
  std::vector<std::string> strings;
  STROP_TRY(for_field(d.proto, kStringData, [&](WireReader& reader) { strings.emplace_back(reader.bytes()); }));
  const auto found = static_cast<int64_t>(strings.size());
  if (found != d.count) return wrong_amount(found, d.count, "strings");
  return Tensor::of_strings(d.proto.dims, std::move(strings));
}

Result<Tensor> decode_external(const Decoding& d, TensorSource& source) {
  if (d.dtype == DType::String) return error(ErrorCode::InvalidModel, "strings cannot be external data");
  STROP_ASSIGN(const ExternalBytes bytes, source.external.find(d.proto.external_data, byte_size(d.dtype, d.count)));
  if (d.count == 0) return Tensor(d.dtype, d.proto.dims);
  return Tensor::view(d.dtype, d.proto.dims, bytes.data, bytes.owner);
}

/// Linear positions of the values in the dense tensor: given so, or one coordinate per dimension.
Result<std::vector<int64_t>> dense_positions(const SparseTensorProto& proto, const Tensor& indices,
                                             int64_t dense_count) {
  const auto rank = static_cast<int64_t>(proto.dims.size());
  const int64_t value_count = proto.values.dims.empty() ? 0 : proto.values.dims[0];
  const bool linear = indices.rank() == 1;
  const bool right = indices.dtype() == DType::I64 && proto.values.dims.size() == 1 && indices.rank() >= 1 &&
                     indices.rank() <= 2 && indices.dim(0) == value_count && (linear || indices.dim(1) == rank);
  if (!right) return error(ErrorCode::InvalidModel, "sparse indices must be i64 of [values] or [values, rank]");
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < value_count; ++i) {
    int64_t position = 0;
    for (int64_t axis = 0; !linear && axis < rank; ++axis) {
      const int64_t coordinate = load_integer(DType::I64, indices.raw(), i * rank + axis);
      const int64_t limit = proto.dims[static_cast<size_t>(axis)];
      if (coordinate < 0 || coordinate >= limit) {
        return error(ErrorCode::InvalidModel, "sparse index {} is outside [0, {})", coordinate, limit);
      }
      position = position * limit + coordinate;
    }
    if (linear) position = load_integer(DType::I64, indices.raw(), i);
    if (position < 0 || position >= dense_count) {
      return error(ErrorCode::InvalidModel, "sparse index {} is outside [0, {})", position, dense_count);
    }
    positions.push_back(position);
  }
  return positions;
}

}  // namespace

Result<int64_t> checked_count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  bool too_large = false;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return error(ErrorCode::InvalidModel, "has a negative dimension, {}", dim);
    if (dim == 0) {
      empty = true;
      continue;
    }
    too_large |= dim > kMaxElements / count;
    if (!too_large) count *= dim;
  }
  if (too_large) return error(ErrorCode::InvalidModel, "has more than 2^40 elements");
  return empty ? 0 : count;
}

Result<DType> checked_dtype(int64_t code) {
  if (code <= 0 || code >= kDTypeCount) {
    return error(ErrorCode::InvalidModel, "has element type {}, which ONNX does not define", code);
  }
  return static_cast<DType>(code);
}

Result<Tensor> to_tensor(const TensorProto& proto, TensorSource& source) {
  Decoding d{proto};
  STROP_ASSIGN(d.dtype, checked_dtype(proto.data_type));
  STROP_ASSIGN(d.count, checked_count(proto.dims));
  if (proto.has_segment) return error(ErrorCode::Unsupported, "is stored in segments");
  if (proto.is_external) return decode_external(d, source);
  if (proto.has_raw_data) {
    if (d.dtype == DType::String) return error(ErrorCode::InvalidModel, "strings cannot be raw data");
    const int64_t needed = byte_size(d.dtype, d.count);
    const auto found = static_cast<int64_t>(proto.raw_data.size());
    if (found != needed) return wrong_amount(found, needed, "bytes");
    if (d.count == 0) return Tensor(d.dtype, proto.dims);
    return Tensor::view(d.dtype, proto.dims, proto.raw_data.data(), source.owner);
  }
  if (d.count == 0) return Tensor(d.dtype, proto.dims);
  switch (field_of(d.dtype)) {
    case kFloatData: return decode_fixed<float>(d, source);
    case kDoubleData: return decode_fixed<double>(d, source);
    case kStringData: return decode_strings(d);
    default: return decode_integers(d);
  }
}

Result<Tensor> to_tensor(const SparseTensorProto& proto, TensorSource& source) {
  STROP_ASSIGN(const int64_t count, checked_count(proto.dims));
  if (count > kMaxDenseElements) {
    return error(ErrorCode::Unsupported, "is sparse with {} elements; at most {} are made dense", count,
                 kMaxDenseElements);
  }
  STROP_ASSIGN(const Tensor values, to_tensor(proto.values, source));
  STROP_ASSIGN(const Tensor indices, to_tensor(proto.indices, source));
  STROP_ASSIGN(const std::vector<int64_t> positions, dense_positions(proto, indices, count));
  Tensor dense(values.dtype(), proto.dims);
  for (size_t i = 0; i < positions.size(); ++i) {
    copy_elements(dense, positions[i], values, static_cast<int64_t>(i), 1);
  }
  return dense;
}

}  // namespace strop::onnx
