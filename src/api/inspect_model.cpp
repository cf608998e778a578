// The document of `strop inspect` for models.
#include <map>

#include "api/compile_options.h"
#include "api/impl.h"
#include "api/json.h"
#include "base/files.h"
#include "onnx/importer_table.h"
#include "onnx/structure.h"

namespace strop {
namespace api {
namespace {

/// Counts operators by name; functions of the model count by what they are made of.
class OperatorCount {
 public:
  explicit OperatorCount(const onnx::Structure& structure) : structure_(structure) {}

  void visit(std::span<const onnx::NodeProto> nodes, const onnx::Opsets& opsets) {
    for (const onnx::NodeProto& node : nodes) {
      if (const auto called = structure_.functions.find(onnx::function_key(node));
          called != structure_.functions.end()) {
        visit(called->second->nodes, structure_.function_opsets.at(called->second));
        continue;
      }
      ++nodes_;
      Entry& entry = entries_[{std::string(node.domain), std::string(node.op_type)}];
      ++entry.count;
      entry.opset = opsets.at(node.domain);
      for (const onnx::AttributeProto& attr : node.attributes) {
        if (attr.graph) visit(attr.graph->nodes, opsets);
      }
    }
  }

  void describe(Json& json) const {
    json["nodes"] = nodes_;
    json["operators"] = Json::object();
    json["unsupported"] = Json::array();
    for (const auto& [key, entry] : entries_) {
      const auto& [domain, op] = key;
      json["operators"][domain.empty() ? op : domain + "::" + op] = entry.count;
      if (onnx::builtin_importers().find(domain, op, entry.opset) != nullptr) continue;
      json["unsupported"].push_back({{"op", op}, {"domain", domain}, {"opset", entry.opset}, {"count", entry.count}});
    }
  }

 private:
  struct Entry {
    int64_t count = 0;
    int64_t opset = 0;
  };
  const onnx::Structure& structure_;
  std::map<std::pair<std::string, std::string>, Entry> entries_;
  int64_t nodes_ = 0;
};

PortInfo port_info(const std::string& name, Type type) {
  PortInfo info;
  info.name = name;
  if (!type.is_tensor()) info.kind = type.kind == TypeKind::Sequence ? "sequence" : "optional";
  while (type.element) type = Type(*type.element);
  info.dtype = type.tensor.dtype;
  info.known_rank = type.tensor.has_rank();
  if (info.known_rank) {
    for (const Dim& dim : type.tensor.dims()) info.shape.push_back(dim.to_string());
  }
  return info;
}

std::vector<PortInfo> port_infos(const ir::Graph& graph, const std::vector<ir::Port>& ports) {
  std::vector<PortInfo> infos;
  for (const ir::Port& port : ports) infos.push_back(port_info(port.name, graph.value(port.value).type));
  return infos;
}

void describe_import(const onnx::ImportedModel& model, Json& json) {
  const ir::Graph& graph = *model.graph;
  json["inputs"] = ports_json(port_infos(graph, graph.inputs));
  json["outputs"] = ports_json(port_infos(graph, graph.outputs));
  json["imported_nodes"] = graph.order().size();
  json["initializers"] = model.initializers.size();
  json["metadata"] = Json::object();
  for (const auto& [key, value] : model.metadata) json["metadata"][key] = value;
}

}  // namespace
}  // namespace api

Result<std::string> inspect_model_json(const Model& source, const BuildOptions& options, const Runtime&) {
  return api::guarded([&]() -> Result<std::string> {
    std::shared_ptr<const MappedFile> file;
    if (!source.bytes()) {
      STROP_ASSIGN(file, MappedFile::open(source.path()));
    }
    const std::string where = api::source_of(source).name();
    auto model = onnx::parse_model(file ? file->text() : *source.bytes());
    if (!model.ok()) return in_context(model.error(), where);
    auto structure = onnx::check_structure(*model);
    if (!structure.ok()) return in_context(structure.error(), where);
    api::Json json{{"kind", "model"}, {"ir_version", model->ir_version.value_or(0)}};
    json["opsets"] = api::Json::object();
    for (const onnx::OpsetImport& opset : model->opsets)
      json["opsets"][opset.domain.empty() ? "ai.onnx" : std::string(opset.domain)] = opset.version;
    json["producer"] = std::string(model->producer_name);
    api::OperatorCount count(*structure);
    count.visit(model->graph.nodes, structure->opsets);
    count.describe(json);
    STROP_ASSIGN(const compiler::CompileOptions compile, api::compile_options(options));
    const auto imported = compiler::import_for(api::source_of(source), compile);
    if (imported.ok()) {
      STROP_TRY(compiler::apply_io(*imported->graph, compile.io));
      api::describe_import(*imported, json);
    } else if (imported.error().code == ErrorCode::Unsupported) {
      json["import_error"] = imported.error().message;  // a legal model: what can be said of it is said
    } else {
      return imported.error();
    }
    return api::to_text(json);
  });
}

}  // namespace strop
