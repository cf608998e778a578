#include "onnx/import.h"

#include <new>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "onnx/graph_import.h"
#include "onnx/names.h"
#include "onnx/structure.h"
#include "ops/sequence/sequence.h"
#include "tensor/dim_overflow.h"

namespace strop::onnx {
namespace {

/// The inputs that the caller of the graph supplies: those without an initializer.
std::vector<const ValueInfoProto*> supplied_inputs(const GraphProto& graph) {
  std::set<std::string_view> initialized;
  for (const TensorProto& tensor : graph.initializers) initialized.insert(tensor.name);
  for (const SparseTensorProto& sparse : graph.sparse_initializers) initialized.insert(sparse.values.name);
  std::vector<const ValueInfoProto*> result;
  for (const ValueInfoProto& input : graph.inputs) {
    if (!initialized.contains(input.name)) result.push_back(&input);
  }
  return result;
}

Result<void> import_inputs(Scope& scope, const GraphProto& graph, const FixedShapes& shapes) {
  const auto infos = supplied_inputs(graph);
  STROP_ASSIGN(const InputTypes types, InputTypes::make(infos, shapes));
  for (size_t i = 0; i < infos.size(); ++i) {
    const ir::ValueId id = scope.graph.add_input(std::string(infos[i]->name), types.types()[i]);
    STROP_TRY(bind_name(scope, infos[i]->name, id));
  }
  return {};
}

Error unknown_output(const Scope& scope, const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& [known, id] : scope.values) names.push_back(known);
  return error(ErrorCode::InvalidArgument, "output {}: the model has no value of that name{}", quote(name),
               did_you_mean(name, names));
}

/// A model may declare as an output what an optional holds; the output is then the content, and an empty optional the
/// run's error.
Result<ir::ValueId> as_declared(Scope& scope, std::string_view name, ir::ValueId id) {
  const auto declared = scope.declared.find(name);
  const bool holds = scope.graph.value(id).type.kind == TypeKind::Optional;
  if (!holds || declared == scope.declared.end() || declared->second->kind == TypeProto::Kind::Optional) return id;
  if (declared->second->kind == TypeProto::Kind::None) return id;
  return scope.graph.add({.op = &ops::kOptionalGetElement, .inputs = {id}, .sources = {std::string(name)}});
}

/// Declared sizes that cannot be right. Where one of the two is not known, a run will tell.
bool has_other_sizes(const TypeProto& declared, const Type& type) {
  if (declared.kind != TypeProto::Kind::Tensor || !declared.shape || !type.is_tensor() || !type.tensor.has_rank())
    return false;
  const Dims& dims = type.tensor.dims();
  if (dims.size() != declared.shape->size()) return false;  // bind_name has said what there is to say
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto& value = (*declared.shape)[i].value;
    if (value && *value >= 0 && dims[i].is_constant() && dims[i].constant() != *value) return true;
  }
  return false;
}

void warn_of_sizes(const Scope& scope, const GraphProto& graph, std::vector<std::string>& warnings) {
  for (const ValueInfoProto& output : graph.outputs) {
    const Type& type = scope.graph.value(scope.find(output.name)).type;
    if (!has_other_sizes(output.type, type)) continue;
    std::string declared;
    for (const DimProto& dim : *output.type.shape) {
      declared += declared.empty() ? "" : ", ";
      declared += dim.value ? std::to_string(*dim.value) : dim.param.empty() ? "?" : std::string(dim.param);
    }
    warnings.push_back(fmt::format("output {} is declared with shape [{}], but is {}: the declaration is ignored",
                                   quote(output.name), declared, to_string(type)));
  }
}

/// An input whose rank nobody knows makes operators impossible that need one: the user can give it.
Error with_advice(const Error& cause, const Scope& scope) {
  if (cause.code != ErrorCode::Unsupported) return cause;
  for (const ir::Port& input : scope.graph.inputs) {
    const Type& type = scope.graph.value(input.value).type;
    if (!type.is_tensor() || type.tensor.has_rank()) continue;
    return error(cause.code, "{}; the model does not say the shape of input {}: give it one, --shapes {}:1x3x224x224",
                 cause.message, quote(input.name), input.name);
  }
  return cause;
}

Result<void> import_outputs(Scope& scope, const GraphProto& graph, const std::vector<std::string>& wanted) {
  const auto add = [&](std::string_view name) -> Result<void> {
    const ir::ValueId id = scope.find(name);
    if (id == ir::kNone) return unknown_output(scope, std::string(name));
    STROP_ASSIGN(const ir::ValueId value, as_declared(scope, name, id));
    scope.graph.outputs.push_back({std::string(name), value});
    return {};
  };
  std::set<std::string_view> seen;
  for (const std::string& name : wanted) {
    if (!seen.insert(name).second)
      return error(ErrorCode::InvalidArgument, "output {} is asked for twice", quote(name));
    STROP_TRY(add(name));
  }
  if (!wanted.empty()) return {};
  for (const ValueInfoProto& output : graph.outputs) STROP_TRY(add(output.name));
  return {};
}

void describe_model(const ModelProto& model, const Structure& structure, ImportedModel& result) {
  result.ir_version = *model.ir_version;
  for (const auto& [domain, version] : structure.opsets) result.opsets.emplace(domain, version);
  result.producer_name = model.producer_name;
  result.producer_version = model.producer_version;
  result.domain = model.domain;
  result.model_version = model.model_version;
  for (const auto& [key, value] : model.metadata) result.metadata.emplace_back(key, value);
  std::set<std::string_view> initialized;
  const auto add = [&](std::string_view name) {
    result.initializers.emplace_back(name);
    initialized.insert(name);
  };
  for (const TensorProto& tensor : model.graph.initializers) add(tensor.name);
  for (const SparseTensorProto& sparse : model.graph.sparse_initializers) add(sparse.values.name);
  for (const ValueInfoProto& input : model.graph.inputs) {
    if (initialized.contains(input.name)) result.defaulted_inputs.emplace_back(input.name);
  }
}

/// The bytes of a model and where its external data lie.
struct Source {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
  std::optional<std::filesystem::path> folder;
};

Result<ImportedModel> import_source(Source source, const ImportOptions& options) {
  STROP_ASSIGN(const ModelProto model, parse_model(source.bytes));
  STROP_ASSIGN(const Structure structure, check_structure(model));
  const ImporterTable& importers = options.importers != nullptr ? *options.importers : builtin_importers();
  STROP_TRY(check_operators(model, structure, importers));

  ImportedModel result;
  describe_model(model, structure, result);
  result.bytes = source.bytes;
  result.owner = source.owner;
  result.graph = std::make_shared<ir::Graph>();
  result.graph->name = std::string(model.graph.name);
  const ops::Catalogue& catalogue = options.catalogue != nullptr ? *options.catalogue : ops::builtin_operators();
  ImportState state{structure,
                    catalogue,
                    importers,
                    {std::move(source.owner), ExternalFiles(std::move(source.folder))},
                    options.max_nodes};
  Scope scope{state, *result.graph, structure.opsets};
  collect_declared(scope, model.graph);
  STROP_TRY(import_inputs(scope, model.graph, options.shapes));
  STROP_TRY(import_initializers(scope, model.graph));
  const auto imported = import_nodes(scope, model.graph.nodes);
  if (!imported.ok()) return with_advice(imported.error(), scope);
  if (options.outputs.empty()) warn_of_sizes(scope, model.graph, result.warnings);
  STROP_TRY(import_outputs(scope, model.graph, options.outputs));
  return result;
}

/// Memory that a model asks for and the machine does not have is the model's fault, not a bug.
Result<ImportedModel> import_guarded(Source source, const ImportOptions& options) {
  try {
    return import_source(std::move(source), options);
  } catch (const std::bad_alloc&) {
    return error(ErrorCode::OutOfMemory, "importing the model needs more memory than there is");
  } catch (const DimOverflow& overflow) {
    return error(ErrorCode::InvalidModel, "the sizes of the model's inputs are absurd: {}", overflow.what());
  }
}

}  // namespace

Result<ImportedModel> import_model(const std::filesystem::path& path, const ImportOptions& options) {
  STROP_ASSIGN(const auto file, MappedFile::open(path.string()));
  return import_guarded({file->text(), file, options.folder ? *options.folder : path.parent_path()}, options);
}

Result<ImportedModel> import_bytes(std::string_view bytes, std::shared_ptr<const void> owner,
                                   const ImportOptions& options) {
  return import_guarded({bytes, std::move(owner), options.folder}, options);
}

}  // namespace strop::onnx
