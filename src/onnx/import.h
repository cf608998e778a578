/// ONNX models become typed graphs.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "ir/graph.h"
#include "onnx/importer_table.h"
#include "onnx/symbols.h"
#include "ops/operator.h"

namespace strop::onnx {

struct ImportOptions {
  const ops::Catalogue* catalogue = nullptr;  ///< null: builtin_operators()
  const ImporterTable* importers = nullptr;   ///< null: builtin_importers()
  FixedShapes shapes;
  /// Names of values of the model's graph (intermediates too) that become the outputs; empty: the model's own.
  std::vector<std::string> outputs;
  /// Functions are written out in place, which can double a model with each: more nodes than this are refused.
  int64_t max_nodes = 1'000'000;
  /// Where external data lie, for import_bytes; a file's own folder otherwise.
  std::optional<std::filesystem::path> folder;
};

struct ImportedModel {
  std::shared_ptr<ir::Graph> graph;  ///< unused nodes and constants are still there
  std::string_view bytes;            ///< the model file's, kept by `owner`; external data are not part of it
  std::shared_ptr<const void> owner;
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  ///< domain ("" is the default one) → version
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> initializers;  ///< names, in the model's order
  /// Graph inputs that have an initializer of the same name, ONNX's default values: they are constants, not inputs.
  std::vector<std::string> defaulted_inputs;
  /// What the user should know although the model can be built: outputs declared with other sizes than they have.
  std::vector<std::string> warnings;
};

/// Imports a model file, mapped into memory: initializers that are aligned for their type stay there, for as long as a
/// tensor uses them. The file must not be changed meanwhile.
/// Errors: io and not_found for the file; invalid_model where the model is damaged or breaks ONNX's rules; unsupported
/// where it needs something that is not there; invalid_argument where the options do not fit the model. The message
/// names the node or value.
Result<ImportedModel> import_model(const std::filesystem::path& path, const ImportOptions& options = {});

/// As import_model, for bytes in memory, which `owner` keeps alive (tensors hold on to it).
Result<ImportedModel> import_bytes(std::string_view bytes, std::shared_ptr<const void> owner,
                                   const ImportOptions& options = {});

}  // namespace strop::onnx
