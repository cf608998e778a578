/// The typed graph: operators and values in topological order. Regions (branches of If, bodies of Loop and Scan) are
/// graphs of their own that see nothing of the outside: what a region needs arrives as parameters, because the node
/// takes the captured values as operands.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/operator.h"
#include "tensor/type.h"

namespace strop::ir {

class Graph;

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr int32_t kNone = -1;

/// A constant tensor and where it came from: the initializers it was computed from and the recipe, so that refit and
/// weights outside the engine are possible.
struct Constant {
  Tensor tensor;
  std::vector<std::string> origins;  ///< ONNX initializer names; empty if made by the compiler
  std::string recipe;  ///< "" for the initializer itself, else what was done, for example "transpose(1,0)"
};

/// One value. It has exactly one source: a graph input, a node's output, or a constant.
struct ValueInfo {
  Type type;
  std::string name;  ///< the ONNX tensor's name where there is one, else ""
  NodeId producer = kNone;
  std::shared_ptr<const Constant> constant;
  std::optional<Dims> known;  ///< symbolic contents of a small integer tensor (rank 0 or 1)
};

struct Node {
  const ops::Operator* op = nullptr;
  ops::Attrs attrs;
  std::vector<ValueId> inputs;   ///< kNone for an absent optional operand
  std::vector<ValueId> outputs;  ///< all exist; unused ones simply have no uses
  std::vector<ops::LateField> late;
  std::vector<std::shared_ptr<Graph>> regions;
  std::vector<std::string> sources;  ///< names of the ONNX nodes it came from; never empty after import
  int32_t unbacked_number = kNone;   ///< names the unbacked symbols that its inference makes; the graph assigns it
  bool alive = true;
};

struct Port {
  std::string name;  ///< ONNX name of the graph input or output
  ValueId value = kNone;
};

class Graph {
 public:
  std::string name;
  std::vector<Port> inputs;
  std::vector<Port> outputs;  ///< one value may serve several outputs; an input may be an output

  // Values and nodes are addressed by index, which stays valid until compact().
  ValueInfo& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  const ValueInfo& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  size_t value_count() const { return values_.size(); }
  size_t node_count() const { return nodes_.size(); }  ///< dead ones included
  /// Ids of live nodes in topological order.
  const std::vector<NodeId>& order() const { return order_; }

  ValueId add_input(std::string input_name, Type type);
  ValueId add_constant(Constant constant, std::string value_name = "");
  ValueId add_constant(Tensor tensor) { return add_constant(Constant{std::move(tensor), {}, ""}); }

  /// What add_node needs. Outputs are created; their types come from inference.
  struct NewNode {
    const ops::Operator* op = nullptr;
    ops::Attrs attrs;
    std::vector<ValueId> inputs;
    size_t output_count = 1;
    std::vector<ops::LateField> late;
    std::vector<std::shared_ptr<Graph>> regions;
    std::vector<std::string> sources;
    int32_t unbacked_number = kNone;  ///< kNone: the next one
  };
  /// Infers the output types, appends the node at the end of the order and returns it. Error: inference failed.
  Result<NodeId> add_node(NewNode node);
  /// add_node for one output: the output's id.
  Result<ValueId> add(NewNode node);
  /// Appends without inferring: the caller sets output types. For rewrites that keep types.
  NodeId add_node_with_types(NewNode node, std::vector<Type> output_types);

  /// Runs the node's inference again and updates its outputs' types and known contents (what is more specific stays).
  /// True if something changed. Error: inference failed, or contradicts the types; it names the node.
  Result<bool> reinfer(NodeId id);
  /// reinfer for every node in order; so that a type that became more specific reaches all that depend on it.
  Result<bool> reinfer_all();
  /// Types from scratch for these parameters (one per graph input): how a region is inferred. Returns the types of the
  /// graph's outputs. Nothing is kept from before (unless the parameters are the same), so that Loop may call it with
  /// ever wider types until they hold.
  Result<std::vector<Type>> infer_region(const std::vector<Type>& parameters);

  /// Redirects every use of `from` (operands and graph outputs) to `to`. Keeps the more specific type; moves the name
  /// if `to` has none.
  void replace_uses(ValueId from, ValueId to);
  /// Marks the node dead. Its outputs must have no uses left.
  void erase(NodeId id);
  /// Operand positions that use each value, in order; graph outputs count as node kNone. Computed at each call.
  struct Use {
    NodeId node = kNone;
    int32_t operand = 0;
  };
  std::vector<std::vector<Use>> uses() const;
  /// Restores topological order after nodes were appended out of order (stable). A cycle is a bug.
  void sort();
  /// Drops dead nodes and unused values; ids change.
  void compact();
  std::shared_ptr<Graph> clone() const;

  /// A fresh symbol name for an unbacked dimension of this graph.
  std::string next_unbacked();
  /// What the unbacked symbols of this graph start with: "?" for the outermost, more for a region, so that the names of
  /// a region never mean something else outside. add_node sets it for its regions.
  const std::string& unbacked_scope() const { return unbacked_scope_; }
  void set_unbacked_scope(std::string scope);
  /// The prefix for a node's inference, for example "?12".
  std::string unbacked_prefix(const Node& node) const;
  /// The prefix that the next node added will have, so that its regions can be built with the names they will keep.
  std::string next_node_prefix() const;

  bool is_constant(ValueId id) const { return id != kNone && value(id).constant != nullptr; }
  const Tensor* constant_tensor(ValueId id) const { return is_constant(id) ? &value(id).constant->tensor : nullptr; }

 private:
  std::vector<ValueInfo> values_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  NodeId append(NewNode node);
  void set_types(NodeId id, const std::vector<Type>& types);

  int unbacked_count_ = 0;
  std::string unbacked_scope_ = "?";
};

/// "node 'conv1' (Conv)": how every message names a node: by its ONNX nodes, else by its first output.
std::string describe(const Graph& graph, NodeId id);

/// Checks every invariant: ids in range, one producer each, order topological, types as inference gives them (or more
/// specific), regions match their node. The error names the node.
Result<void> verify(const Graph& graph);

/// Text form (ir/text.h shows it); parse_text reads it back, against a catalogue, and printing that gives the
/// same text. Constants above `max_constant_elements` print as a digest; reading those back takes the table of
/// constants.
struct TextOptions {
  int64_t max_constant_elements = 16;
  bool sources = false;
};
std::string to_text(const Graph& graph, const TextOptions& options = {});
/// Digest → tensor.
using ConstantTable = std::map<std::string, Tensor>;
/// The constants of the graph and its regions, by the digest that the text form shows.
ConstantTable constant_table(const Graph& graph);
/// Error: the line, and what is wrong there. A digest that `constants` does not have is one.
Result<std::shared_ptr<Graph>> parse_text(std::string_view text, const ops::Catalogue& catalogue,
                                          const ConstantTable& constants = {});

/// The reference interpreter: evaluates every node in order with its operator's meaning.
struct InterpretOptions {
  /// Called after each node with its outputs, for bisecting and calibration; may be empty.
  std::optional<FunctionRef<void(const Graph&, NodeId, const std::vector<Value>&)>> observe;
  const MemoryLimit* memory = nullptr;  ///< asked before results are made; null: none
};
/// `inputs` in the order of graph.inputs; their dtypes and shapes are checked against the declared ones first (the
/// error names the input). Results in the order of graph.outputs. A value is dropped after its last use.
Result<std::vector<Value>> interpret(const Graph& graph, std::vector<Value> inputs, Threads& threads,
                                     const InterpretOptions& options = {});

}  // namespace strop::ir
