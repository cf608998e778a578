#include "onnx/model.h"

#include <algorithm>
#include <cctype>

#include "onnx/wire.h"

namespace strop::onnx {
namespace {

// Graphs in graphs, types in types. Protobuf's own readers stop at 100 messages, three of which make one nested graph.
constexpr int kMaxDepth = 32;

/// Counts the nesting of messages while one is read.
class Nested {
 public:
  Nested(WireReader& reader, WireStatus& status) : status_(status) {
    if (++status.depth > kMaxDepth) reader.fail("messages nested too deeply");
  }
  ~Nested() { --status_.depth; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  WireStatus& status_;
};

std::string_view canonical_domain(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

void parse_key_value(std::string_view bytes, WireStatus& status, KeyValues& into) {
  WireReader r(bytes, "StringStringEntryProto", status);
  std::pair<std::string_view, std::string_view> entry;
  while (r.next()) {
    switch (r.field()) {
      case 1: entry.first = r.text(); break;
      case 2: entry.second = r.text(); break;
      default: r.skip();
    }
  }
  into.push_back(entry);
}

void parse_opset(std::string_view bytes, WireStatus& status, std::vector<OpsetImport>& into) {
  WireReader r(bytes, "OperatorSetIdProto", status);
  OpsetImport opset;
  while (r.next()) {
    switch (r.field()) {
      case 1: opset.domain = canonical_domain(r.text()); break;
      case 2: opset.version = r.integer(); break;
      default: r.skip();
    }
  }
  into.push_back(opset);
}

void parse_tensor(std::string_view bytes, WireStatus& status, TensorProto& tensor) {
  WireReader r(bytes, "TensorProto", status);
  tensor.message = bytes;
  while (r.next()) {
    switch (r.field()) {
      case 1: r.integers([&](int64_t dim) { tensor.dims.push_back(dim); }); break;
      case 2: tensor.data_type = r.integer32(); break;
      case 3:
        tensor.has_segment = true;
        r.skip();
        break;
      case 8: tensor.name = r.text(); break;
      case 9:
        tensor.raw_data = r.bytes();
        tensor.has_raw_data = true;
        break;
      case 13: parse_key_value(r.bytes(), status, tensor.external_data); break;
      case 14: tensor.is_external = r.integer() == 1; break;
      default: r.skip();
    }
  }
}

void parse_sparse_tensor(std::string_view bytes, WireStatus& status, SparseTensorProto& sparse) {
  WireReader r(bytes, "SparseTensorProto", status);
  while (r.next()) {
    switch (r.field()) {
      case 1: parse_tensor(r.bytes(), status, sparse.values); break;
      case 2: parse_tensor(r.bytes(), status, sparse.indices); break;
      case 3: r.integers([&](int64_t dim) { sparse.dims.push_back(dim); }); break;
      default: r.skip();
    }
  }
}

void parse_dim(std::string_view bytes, WireStatus& status, std::vector<DimProto>& into) {
  WireReader r(bytes, "TensorShapeProto.Dimension", status);
  DimProto dim;
  while (r.next()) {
    switch (r.field()) {
      case 1: dim.value = r.integer(); break;
      case 2:
        dim.param = r.text();
        // "?" and the like say that a dimension is unknown, not that two of them are equal.
        if (std::none_of(dim.param.begin(), dim.param.end(), [](unsigned char c) { return std::isalnum(c); }))
          dim.param = {};
        break;
      default: r.skip();
    }
  }
  into.push_back(dim);
}

void parse_tensor_type(std::string_view bytes, WireStatus& status, TypeProto& type) {
  WireReader r(bytes, "TypeProto.Tensor", status);
  while (r.next()) {
    switch (r.field()) {
      case 1: type.elem_type = r.integer32(); break;
      case 2: {
        type.shape.emplace();
        WireReader shape(r.bytes(), "TensorShapeProto", status);
        while (shape.next()) {
          if (shape.field() == 1) {
            parse_dim(shape.bytes(), status, *type.shape);
          } else {
            shape.skip();
          }
        }
        break;
      }
      default: r.skip();
    }
  }
}

void parse_type(std::string_view bytes, WireStatus& status, TypeProto& type);

/// TypeProto.Sequence or TypeProto.Optional: one field, the element's type.
void parse_element(std::string_view bytes, WireStatus& status, TypeProto& type) {
  WireReader r(bytes, "TypeProto.Sequence", status);
  auto element = std::make_shared<TypeProto>();
  while (r.next()) {
    if (r.field() == 1) {
      parse_type(r.bytes(), status, *element);
    } else {
      r.skip();
    }
  }
  type.element = std::move(element);
}

void parse_type(std::string_view bytes, WireStatus& status, TypeProto& type) {
  WireReader r(bytes, "TypeProto", status);
  const Nested nested(r, status);
  while (r.next()) {
    switch (r.field()) {
      case 1:
        type.kind = TypeProto::Kind::Tensor;
        parse_tensor_type(r.bytes(), status, type);
        break;
      case 4:
        type.kind = TypeProto::Kind::Sequence;
        parse_element(r.bytes(), status, type);
        break;
      case 5:
        type.kind = TypeProto::Kind::Map;
        r.skip();
        break;
      case 7:
        type.kind = TypeProto::Kind::Opaque;
        r.skip();
        break;
      case 8:
        type.kind = TypeProto::Kind::SparseTensor;
        r.skip();
        break;
      case 9:
        type.kind = TypeProto::Kind::Optional;
        parse_element(r.bytes(), status, type);
        break;
      default: r.skip();
    }
  }
}

void parse_value_info(std::string_view bytes, WireStatus& status, std::vector<ValueInfoProto>& into) {
  WireReader r(bytes, "ValueInfoProto", status);
  ValueInfoProto& info = into.emplace_back();
  while (r.next()) {
    switch (r.field()) {
      case 1: info.name = r.text(); break;
      case 2: parse_type(r.bytes(), status, info.type); break;
      default: r.skip();
    }
  }
}

void parse_graph(std::string_view bytes, WireStatus& status, GraphProto& graph);

template <class T>
std::shared_ptr<T> parse_shared(std::string_view bytes, WireStatus& status,
                                void (*parse)(std::string_view, WireStatus&, T&)) {
  auto result = std::make_shared<T>();
  parse(bytes, status, *result);
  return result;
}

/// Old writers leave the type out: then the field that is there says it.
AttrKind kind_of_field(uint32_t field) {
  switch (field) {
    case 2: return AttrKind::Float;
    case 3: return AttrKind::Int;
    case 4: return AttrKind::String;
    case 5: return AttrKind::Tensor;
    case 6: return AttrKind::Graph;
    case 7: return AttrKind::Floats;
    case 8: return AttrKind::Ints;
    case 9: return AttrKind::Strings;
    case 10: return AttrKind::Tensors;
    case 11: return AttrKind::Graphs;
    case 14: return AttrKind::Type;
    case 15: return AttrKind::Types;
    case 22: return AttrKind::SparseTensor;
    case 23: return AttrKind::SparseTensors;
    default: return AttrKind::Undefined;
  }
}

void parse_attribute(std::string_view bytes, WireStatus& status, std::vector<AttributeProto>& into) {
  WireReader r(bytes, "AttributeProto", status);
  AttributeProto attr;
  AttrKind found = AttrKind::Undefined;
  while (r.next()) {
    if (const AttrKind kind = kind_of_field(r.field()); kind != AttrKind::Undefined) found = kind;
    switch (r.field()) {
      case 1: attr.name = r.text(); break;
      case 2: attr.f = r.fixed_f32(); break;
      case 3: attr.i = r.integer(); break;
      case 4: attr.s = r.bytes(); break;
      case 5: attr.tensor = parse_shared<TensorProto>(r.bytes(), status, parse_tensor); break;
      case 6: attr.graph = parse_shared<GraphProto>(r.bytes(), status, parse_graph); break;
      case 7: r.fixed<float>([&](float value) { attr.floats.push_back(value); }); break;
      case 8: r.integers([&](int64_t value) { attr.ints.push_back(value); }); break;
      case 9: attr.strings.push_back(r.bytes()); break;
      case 14: attr.type = parse_shared<TypeProto>(r.bytes(), status, parse_type); break;
      case 20: attr.kind = static_cast<AttrKind>(r.integer32()); break;
      case 21: attr.ref_attr_name = r.text(); break;
      case 22: attr.sparse_tensor = parse_shared<SparseTensorProto>(r.bytes(), status, parse_sparse_tensor); break;
      default: r.skip();
    }
  }
  if (attr.kind == AttrKind::Undefined) attr.kind = found;
  into.push_back(std::move(attr));
}

void parse_node(std::string_view bytes, WireStatus& status, std::vector<NodeProto>& into) {
  WireReader r(bytes, "NodeProto", status);
  NodeProto& node = into.emplace_back();
  while (r.next()) {
    switch (r.field()) {
      case 1: node.inputs.push_back(r.text()); break;
      case 2: node.outputs.push_back(r.text()); break;
      case 3: node.name = r.text(); break;
      case 4: node.op_type = r.text(); break;
      case 5: parse_attribute(r.bytes(), status, node.attributes); break;
      case 7: node.domain = canonical_domain(r.text()); break;
      case 8: node.overload = r.text(); break;
      default: r.skip();
    }
  }
}

void parse_graph(std::string_view bytes, WireStatus& status, GraphProto& graph) {
  WireReader r(bytes, "GraphProto", status);
  const Nested nested(r, status);
  while (r.next()) {
    switch (r.field()) {
      case 1: parse_node(r.bytes(), status, graph.nodes); break;
      case 2: graph.name = r.text(); break;
      case 5: parse_tensor(r.bytes(), status, graph.initializers.emplace_back()); break;
      case 11: parse_value_info(r.bytes(), status, graph.inputs); break;
      case 12: parse_value_info(r.bytes(), status, graph.outputs); break;
      case 13: parse_value_info(r.bytes(), status, graph.value_infos); break;
      case 15: parse_sparse_tensor(r.bytes(), status, graph.sparse_initializers.emplace_back()); break;
      default: r.skip();
    }
  }
}

void parse_function(std::string_view bytes, WireStatus& status, std::vector<FunctionProto>& into) {
  WireReader r(bytes, "FunctionProto", status);
  FunctionProto& function = into.emplace_back();
  while (r.next()) {
    switch (r.field()) {
      case 1: function.name = r.text(); break;
      case 4: function.inputs.push_back(r.text()); break;
      case 5: function.outputs.push_back(r.text()); break;
      case 6: function.attributes.push_back(r.text()); break;
      case 7: parse_node(r.bytes(), status, function.nodes); break;
      case 9: parse_opset(r.bytes(), status, function.opsets); break;
      case 10: function.domain = canonical_domain(r.text()); break;
      case 11: parse_attribute(r.bytes(), status, function.attribute_defaults); break;
      case 13: function.overload = r.text(); break;
      default: r.skip();
    }
  }
}

}  // namespace

Result<ModelProto> parse_model(std::string_view bytes) {
  WireStatus status{bytes.data(), "", 0};
  WireReader r(bytes, "ModelProto", status);
  ModelProto model;
  while (r.next()) {
    switch (r.field()) {
      case 1: model.ir_version = r.integer(); break;
      case 2: model.producer_name = r.text(); break;
      case 3: model.producer_version = r.text(); break;
      case 4: model.domain = r.text(); break;
      case 5: model.model_version = r.integer(); break;
      case 7:
        model.has_graph = true;
        parse_graph(r.bytes(), status, model.graph);
        break;
      case 8: parse_opset(r.bytes(), status, model.opsets); break;
      case 14: parse_key_value(r.bytes(), status, model.metadata); break;
      case 25: parse_function(r.bytes(), status, model.functions); break;
      default: r.skip();
    }
  }
  if (!status.ok()) return error(ErrorCode::InvalidModel, "the model file is {}", status.error);
  return model;
}

Result<TensorProto> parse_tensor_proto(std::string_view bytes) {
  WireStatus status{bytes.data(), "", 0};
  TensorProto tensor;
  parse_tensor(bytes, status, tensor);
  if (!status.ok()) return error(ErrorCode::InvalidModel, "the tensor file is {}", status.error);
  return tensor;
}

}  // namespace strop::onnx
