// The tactic that never refuses: the operator's own evaluation, between the caller's buffers.
#include <cstring>

#include "tactics/tactic.h"

namespace strop::tactics {
namespace {

/// Rows of the last dimension: where a pitch applies.
struct Rows {
  int64_t count = 1;
  int64_t length = 1;
};

Rows rows_of(const std::vector<int64_t>& dims) {
  Rows rows;
  if (dims.empty()) return rows;
  rows.length = dims.back();
  for (size_t i = 0; i + 1 < dims.size(); ++i) rows.count *= dims[i];
  return rows;
}

bool is_pitched(const Buffer& buffer, const Rows& rows) {
  return buffer.pitch != 0 && buffer.pitch != rows.length && rows.count > 1;
}

int64_t element_bytes(DType dtype) {
  STROP_CHECK(!is_sub_byte(dtype), "a pitch in elements of {}", to_string(dtype));
  return dtype == DType::String ? static_cast<int64_t>(sizeof(std::string)) : bit_width(dtype) / 8;
}

Tensor strings_from(const Buffer& buffer, const std::vector<int64_t>& dims, const Rows& rows) {
  Tensor tensor(DType::String, dims);
  const int64_t pitch = buffer.pitch == 0 ? rows.length : buffer.pitch;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int64_t at = i / rows.length * pitch + i % rows.length;
    tensor.mutable_strings()[static_cast<size_t>(i)] = buffer.as<const std::string>()[at];
  }
  return tensor;
}

Tensor read_buffer(const Buffer& buffer, DType dtype, const std::vector<int64_t>& dims) {
  const Rows rows = rows_of(dims);
  if (dtype == DType::String) return strings_from(buffer, dims, rows);
  if (!is_pitched(buffer, rows)) return Tensor::view(dtype, dims, buffer.data, nullptr);
  Tensor tensor = Tensor::uninitialized(dtype, dims);
  const int64_t size = element_bytes(dtype);
  for (int64_t row = 0; row < rows.count; ++row) {
    std::memcpy(tensor.mutable_data<char>() + row * rows.length * size, buffer.as<char>() + row * buffer.pitch * size,
                static_cast<size_t>(rows.length * size));
  }
  return tensor;
}

void write_buffer(const Buffer& buffer, const Tensor& tensor) {
  if (tensor.count() == 0) return;
  const Rows rows = rows_of(tensor.dims());
  const int64_t pitch = buffer.pitch == 0 ? rows.length : buffer.pitch;
  if (tensor.dtype() == DType::String) {
    for (int64_t i = 0; i < tensor.count(); ++i) {
      buffer.as<std::string>()[i / rows.length * pitch + i % rows.length] = tensor.strings()[static_cast<size_t>(i)];
    }
    return;
  }
  if (!is_pitched(buffer, rows)) {
    std::memmove(buffer.data, tensor.raw(), static_cast<size_t>(tensor.bytes()));
    return;
  }
  const int64_t size = element_bytes(tensor.dtype());
  for (int64_t row = 0; row < rows.count; ++row) {
    std::memcpy(buffer.as<char>() + row * pitch * size, tensor.data<char>() + row * rows.length * size,
                static_cast<size_t>(rows.length * size));
  }
}

class ReferenceLaunch final : public Launch {
 public:
  explicit ReferenceLaunch(const Problem& problem)
      : op_(*problem.op), attrs_(problem.attrs), inputs_(problem.inputs), outputs_(problem.outputs) {
    for (const Type& type : inputs_) input_dims_.push_back(dims_of(type));
    for (const Type& type : outputs_) output_dims_.push_back(dims_of(type));
  }

  Result<void> run(const LaunchArgs& args) const override {
    std::vector<Value> values(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_none()) values[i] = read_buffer(args.inputs[i], inputs_[i].tensor.dtype, input_dims_[i]);
    }
    STROP_ASSIGN(const auto results,
                 ops::evaluate({op_, attrs_, {}, values, outputs_.size(), args.threads, nullptr, args.memory}));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (i >= args.outputs.size() || args.outputs[i].data == nullptr) continue;
      const Tensor& result = results[i].tensor();
      if (result.dtype() != outputs_[i].tensor.dtype || result.dims() != output_dims_[i]) {
        return error(ErrorCode::InvalidArgument, "{} result {} is {}, where {} was planned", op_.name, i,
                     to_string(result.type()), to_string(outputs_[i]));
      }
      write_buffer(args.outputs[i], result);
    }
    return {};
  }

 private:
  std::vector<int64_t> dims_of(const Type& type) const {
    if (type.is_none()) return {};
    STROP_CHECK(type.is_tensor() && type.tensor.is_static(), "{}: buffers cannot hold {}", op_.name, to_string(type));
    return *as_constants(type.tensor.dims());
  }

  const ops::Operator& op_;
  ops::Attrs attrs_;
  std::vector<Type> inputs_;
  std::vector<Type> outputs_;
  std::vector<std::vector<int64_t>> input_dims_;
  std::vector<std::vector<int64_t>> output_dims_;
};

}  // namespace

std::string reference_tactic_name(std::string_view op) { return fmt::format("{}.cpu.reference", op); }

std::unique_ptr<Launch> make_reference_launch(const Problem& problem) {
  return std::make_unique<ReferenceLaunch>(problem);
}

}  // namespace strop::tactics
