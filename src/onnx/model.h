/// ONNX's messages as plain structs, as far as the importer reads them. Every string_view points into the file's bytes,
/// which must outlive the structs; tensors stay undecoded (see tensor_proto.h).
/// Source: onnx.proto of ONNX 1.22 (IR version 13); field numbers are in model.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace strop::onnx {

using KeyValues = std::vector<std::pair<std::string_view, std::string_view>>;

struct TensorProto {
  std::string_view name;
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  std::string_view raw_data;
  bool has_raw_data = false;
  bool is_external = false;
  bool has_segment = false;
  KeyValues external_data;
  std::string_view message;  ///< the whole message: typed data (float_data, …) are decoded from it when asked for
};

struct SparseTensorProto {
  TensorProto values;  ///< its name is the sparse tensor's
  TensorProto indices;
  std::vector<int64_t> dims;
};

struct DimProto {
  std::optional<int64_t> value;
  std::string_view param;  ///< "" if none
};

struct TypeProto {
  enum class Kind : uint8_t { None, Tensor, Sequence, Optional, Map, SparseTensor, Opaque };
  Kind kind = Kind::None;
  int32_t elem_type = 0;                       ///< Tensor
  std::optional<std::vector<DimProto>> shape;  ///< Tensor; nullopt: rank not given
  std::shared_ptr<const TypeProto> element;    ///< Sequence, Optional
};

struct ValueInfoProto {
  std::string_view name;
  TypeProto type;
};

struct GraphProto;

enum class AttrKind : int32_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  Type = 13,
  Types = 14,
};

struct AttributeProto {
  std::string_view name;
  std::string_view ref_attr_name;  ///< of the enclosing function's attribute; "" if none
  AttrKind kind = AttrKind::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::shared_ptr<const TensorProto> tensor;
  std::shared_ptr<const SparseTensorProto> sparse_tensor;
  std::shared_ptr<GraphProto> graph;
  std::shared_ptr<const TypeProto> type;
};

struct NodeProto {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;  ///< "ai.onnx" is written ""
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeProto> attributes;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfoProto> inputs;
  std::vector<ValueInfoProto> outputs;
  std::vector<ValueInfoProto> value_infos;
};

struct OpsetImport {
  std::string_view domain;  ///< "ai.onnx" is written ""
  int64_t version = 0;
};

struct FunctionProto {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;  ///< names without defaults
  std::vector<AttributeProto> attribute_defaults;
  std::vector<NodeProto> nodes;
  std::vector<OpsetImport> opsets;
};

struct ModelProto {
  std::optional<int64_t> ir_version;
  std::vector<OpsetImport> opsets;
  std::string_view producer_name;
  std::string_view producer_version;
  std::string_view domain;
  int64_t model_version = 0;
  KeyValues metadata;
  bool has_graph = false;
  GraphProto graph;
  std::vector<FunctionProto> functions;
};

/// Parses a whole model. Error: invalid_model with the byte offset of the damage; deeper nesting than 32 graphs.
Result<ModelProto> parse_model(std::string_view bytes);
/// Parses a single tensor, as the .pb files of test data hold it.
Result<TensorProto> parse_tensor_proto(std::string_view bytes);

}  // namespace strop::onnx
