/// Translating lists of ONNX nodes into an ir::Graph: what the model's graph, subgraphs and functions have in common.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "onnx/importer_table.h"
#include "onnx/model.h"
#include "onnx/structure.h"
#include "onnx/tensor_proto.h"

namespace strop::onnx {

/// Bodies of loops in bodies of loops: each level is inferred several times over, until its types hold.
inline constexpr int kMaxLoopDepth = 6;

/// What one import shares.
struct ImportState {
  const Structure& structure;
  const ops::Catalogue& catalogue;
  const ImporterTable& importers;
  TensorSource source;
  int64_t max_nodes;  ///< ImportOptions::max_nodes
  int64_t nodes = 0;  ///< imported so far, bodies of functions each time they are written out
  int loop_depth = 0;
};

/// A function's attributes at one call.
using FunctionAttributes = std::map<std::string_view, const AttributeProto*>;

/// Where names mean something: the model's graph, a subgraph, or the body of a function at one call.
struct Scope {
  ImportState& state;
  ir::Graph& graph;
  const Opsets& opsets;
  const FunctionAttributes* attributes = nullptr;                 ///< null outside functions
  std::string path;                                               ///< prefix of node and value names: "" or "call/"
  std::unordered_map<std::string_view, ir::ValueId> values = {};  ///< kNone for a function's absent operand
  std::unordered_map<std::string_view, const TypeProto*> declared = {};
  const Scope* outer = nullptr;  ///< names that are not here are looked up there: a branch written out in place

  /// The value that a name means; kNone if absent or unknown.
  ir::ValueId find(std::string_view name) const;
};

/// The attribute itself, or what it refers to among the function's attributes; null if that is absent.
const AttributeProto* resolve(const AttributeProto& attribute, const Scope& scope);

/// Adds the graph's initializers as constants, except those that `scope` has already.
Result<void> import_initializers(Scope& scope, const GraphProto& graph);

/// Adds the nodes in order. The scope gets their results' names.
Result<void> import_nodes(Scope& scope, const std::vector<NodeProto>& nodes);

/// The value_info entries and output types of a graph, to be checked as the values come into being.
void collect_declared(Scope& scope, const GraphProto& graph);

/// Gives a value its ONNX name and holds its type against the declared one, which may give it a rank.
Result<void> bind_name(Scope& scope, std::string_view name, ir::ValueId value);
/// As bind_name, for a value that came from `inner`, written out in place: what it was called there is forgotten.
Result<void> bind_result(Scope& scope, std::string_view name, ir::ValueId value, const Scope& inner);

}  // namespace strop::onnx
