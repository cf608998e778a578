/// What must hold of a model before its nodes are looked at one by one.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "onnx/importer_table.h"
#include "onnx/model.h"

namespace strop::onnx {

inline constexpr int64_t kNewestIrVersion = 13;
inline constexpr int64_t kNewestOpset = 27;  ///< of the default domain

/// Domain → version.
using Opsets = std::map<std::string_view, int64_t>;
/// The model's functions by domain, name and overload.
using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;
using Functions = std::map<FunctionKey, const FunctionProto*>;

inline FunctionKey function_key(const NodeProto& node) { return {node.domain, node.op_type, node.overload}; }

/// What the checks find out on their way.
struct Structure {
  Opsets opsets;
  Functions functions;
  std::map<const FunctionProto*, Opsets> function_opsets;
};

/// IR version and opset imports; names defined once and before they are used; no cycles; no recursive functions; graph
/// outputs that exist. The error names the node.
Result<Structure> check_structure(const ModelProto& model);

/// Every operator that can be reached has an importer for its version. One error names all that have none.
Result<void> check_operators(const ModelProto& model, const Structure& structure, const ImporterTable& importers);

/// Names that the graph or its subgraphs use but nothing in it defines, in the order of their first use, each once.
std::vector<std::string_view> free_names(const GraphProto& graph);

}  // namespace strop::onnx
