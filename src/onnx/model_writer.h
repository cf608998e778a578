/// For tests: writes ONNX models by hand, byte by byte, so that damaged ones can be written too.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/dtype.h"

namespace strop::onnx::testing {

/// A protobuf message under construction.
class Message {
 public:
  Message& tag(uint32_t field, uint32_t wire_type) { return raw_varint(uint64_t{field} << 3 | wire_type); }
  Message& raw_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  Message& integer(uint32_t field, int64_t value) { return tag(field, 0).raw_varint(static_cast<uint64_t>(value)); }
  Message& text(uint32_t field, std::string_view value) {
    tag(field, 2).raw_varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(uint32_t field, const Message& value) { return text(field, value.bytes_); }
  Message& f32(uint32_t field, float value) {
    tag(field, 5);
    return raw(value);
  }
  template <class T>
  Message& raw(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Message& packed(uint32_t field, const std::vector<int64_t>& values) {
    Message run;
    for (const int64_t value : values) run.raw_varint(static_cast<uint64_t>(value));
    return text(field, run.bytes_);
  }
  Message& append(const Message& other) {
    bytes_ += other.bytes_;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A dimension: a number, a name, or neither.
struct DimSpec {
  int64_t value = -2;  ///< -2: none
  std::string name;
  DimSpec() = default;
  DimSpec(int64_t number) : value(number) {}     // NOLINT(google-explicit-constructor)
  DimSpec(int number) : value(number) {}         // NOLINT(google-explicit-constructor)
  DimSpec(const char* symbol) : name(symbol) {}  // NOLINT(google-explicit-constructor)
};
using Shape = std::vector<DimSpec>;

inline Message tensor_type(DType dtype, const Shape& shape) {
  Message dims;
  for (const DimSpec& dim : shape) {
    Message one;
    if (dim.value != -2) one.integer(1, dim.value);
    if (!dim.name.empty()) one.text(2, dim.name);
    dims.message(1, one);
  }
  return Message().message(1, Message().integer(1, static_cast<int64_t>(dtype)).message(2, dims));
}
inline Message unranked_type(DType dtype) {
  return Message().message(1, Message().integer(1, static_cast<int64_t>(dtype)));
}
inline Message sequence_type(const Message& element) { return Message().message(4, Message().message(1, element)); }

inline Message value_info(std::string_view name, const Message& type) {
  return Message().text(1, name).message(2, type);
}
inline Message value_info(std::string_view name, DType dtype, const Shape& shape) {
  return value_info(name, tensor_type(dtype, shape));
}

/// A tensor with raw_data.
template <class T>
Message tensor(std::string_view name, DType dtype, const std::vector<int64_t>& dims, const std::vector<T>& values) {
  Message raw;
  for (const T value : values) raw.raw(value);
  return Message().packed(1, dims).integer(2, static_cast<int64_t>(dtype)).text(8, name).text(9, raw.bytes());
}
inline Message f32_tensor(std::string_view name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return tensor<float>(name, DType::F32, dims, values);
}
inline Message i64_tensor(std::string_view name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  return tensor<int64_t>(name, DType::I64, dims, values);
}
inline Message external_tensor(std::string_view name, const std::vector<int64_t>& dims, std::string_view location,
                               std::string_view offset = "", std::string_view length = "") {
  Message result = Message().packed(1, dims).integer(2, 1).text(8, name).integer(14, 1);
  const auto entry = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) result.message(13, Message().text(1, key).text(2, value));
  };
  entry("location", location);
  entry("offset", offset);
  entry("length", length);
  return result;
}

inline Message int_attr(std::string_view name, int64_t value) {
  return Message().text(1, name).integer(3, value).integer(20, 2);
}
inline Message float_attr(std::string_view name, float value) {
  return Message().text(1, name).f32(2, value).integer(20, 1);
}
inline Message string_attr(std::string_view name, std::string_view value) {
  return Message().text(1, name).text(4, value).integer(20, 3);
}
inline Message tensor_attr(std::string_view name, const Message& value) {
  return Message().text(1, name).message(5, value).integer(20, 4);
}
inline Message graph_attr(std::string_view name, const Message& value) {
  return Message().text(1, name).message(6, value).integer(20, 5);
}
inline Message ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  return Message().text(1, name).packed(8, values).integer(20, 7);
}
inline Message reference_attr(std::string_view name, std::string_view of, int64_t kind) {
  return Message().text(1, name).integer(20, kind).text(21, of);
}

using Names = std::vector<std::string>;

inline Message node(std::string_view op, const Names& inputs, const Names& outputs,
                    const std::vector<Message>& attrs = {}, std::string_view name = "") {
  Message result;
  for (const std::string& input : inputs) result.text(1, input);
  for (const std::string& output : outputs) result.text(2, output);
  if (!name.empty()) result.text(3, name);
  result.text(4, op);
  for (const Message& attr : attrs) result.message(5, attr);
  return result;
}
/// The node with another operator domain than the default one.
inline Message in_domain(std::string_view domain, Message node) { return node.text(7, domain); }

struct GraphSpec {
  std::vector<Message> nodes;
  std::vector<Message> initializers;
  std::vector<Message> inputs;
  std::vector<Message> outputs;
  std::vector<Message> value_infos = {};
  std::vector<Message> sparse_initializers = {};
  std::string name = "g";
};

inline Message graph(const GraphSpec& spec) {
  Message result;
  for (const Message& item : spec.nodes) result.message(1, item);
  result.text(2, spec.name);
  for (const Message& item : spec.initializers) result.message(5, item);
  for (const Message& item : spec.inputs) result.message(11, item);
  for (const Message& item : spec.outputs) result.message(12, item);
  for (const Message& item : spec.value_infos) result.message(13, item);
  for (const Message& item : spec.sparse_initializers) result.message(15, item);
  return result;
}

inline Message opset(std::string_view domain, int64_t version) { return Message().text(1, domain).integer(2, version); }

struct FunctionSpec {
  std::string name;
  std::string domain;
  Names inputs;
  Names outputs;
  std::vector<Message> nodes;
  Names attributes = {};
  std::vector<Message> attribute_defaults = {};
};

inline Message function(const FunctionSpec& spec) {
  Message result;
  result.text(1, spec.name).text(10, spec.domain).message(9, opset("", 17)).message(9, opset("local", 1));
  for (const std::string& name : spec.inputs) result.text(4, name);
  for (const std::string& name : spec.outputs) result.text(5, name);
  for (const std::string& name : spec.attributes) result.text(6, name);
  for (const Message& item : spec.nodes) result.message(7, item);
  for (const Message& item : spec.attribute_defaults) result.message(11, item);
  return result;
}

struct ModelSpec {
  Message graph;
  std::vector<Message> functions = {};
  std::vector<Message> opsets = {opset("", 17), opset("local", 1)};
  int64_t ir_version = 8;
};

/// The bytes of a model.
inline std::string model(const ModelSpec& spec) {
  Message result = Message().integer(1, spec.ir_version);
  for (const Message& item : spec.opsets) result.message(8, item);
  for (const Message& item : spec.functions) result.message(25, item);
  return result.message(7, spec.graph).bytes();
}
inline std::string model(const GraphSpec& spec) { return model(ModelSpec{graph(spec)}); }

}  // namespace strop::onnx::testing
