/// What ops/*/onnx.cpp sees: one ONNX node being imported, and the row that says which importer serves it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "ops/operator.h"

namespace strop::onnx {

class NodeContext;

/// Serves ONNX operator `domain`::`op_type` for opset versions [since, until]. Versions in between that changed nothing
/// need no row of their own; the importer may ask ctx.opset().
struct Importer {
  std::string_view op_type;
  Result<void> (*import)(NodeContext& ctx) = nullptr;
  int since = 1;
  int until = 1 << 20;
  std::string_view domain = "";
};

/// What an emitted node may have besides operands.
struct EmitExtras {
  std::vector<ops::LateField> late = {};
  std::vector<std::shared_ptr<ir::Graph>> regions = {};
};

/// One ONNX node while it is translated. Everything it emits carries the node's name as its source.
class NodeContext {
 public:
  virtual ~NodeContext() = default;

  virtual std::string_view op_type() const = 0;
  virtual std::string_view node_name() const = 0;  ///< the node's name, or a made one that says its position
  virtual int opset() const = 0;                   ///< version of the node's domain

  // Operands. Absent optional ones are kNone.
  virtual size_t input_count() const = 0;
  virtual ir::ValueId input(size_t index) const = 0;  ///< kNone beyond the end
  bool has_input(size_t index) const { return input(index) != ir::kNone; }
  const Type& type(size_t index) const;
  /// The operand as a tensor, or an error naming node and operand.
  Result<TensorType> tensor(size_t index) const;
  /// The operand's value if it is constant now.
  const Tensor* constant(size_t index) const;
  /// The operand's integers (rank 0 or 1) if known, symbolically.
  std::optional<Dims> known(size_t index) const;
  /// The operand's integers if constant.
  std::optional<std::vector<int64_t>> constant_ints(size_t index) const;

  // Attributes: a wrong type or a missing required one is an error that names the node.
  virtual bool has_attr(std::string_view name) const = 0;
  virtual Result<int64_t> attr_int(std::string_view name, std::optional<int64_t> fallback = {}) const = 0;
  virtual Result<double> attr_float(std::string_view name, std::optional<double> fallback = {}) const = 0;
  virtual Result<std::string> attr_string(std::string_view name, std::optional<std::string> fallback = {}) const = 0;
  virtual Result<std::vector<int64_t>> attr_ints(std::string_view name,
                                                 std::optional<std::vector<int64_t>> fallback = {}) const = 0;
  virtual Result<std::vector<double>> attr_floats(std::string_view name,
                                                  std::optional<std::vector<double>> fallback = {}) const = 0;
  virtual Result<std::vector<std::string>> attr_strings(
      std::string_view name, std::optional<std::vector<std::string>> fallback = {}) const = 0;
  virtual Result<Tensor> attr_tensor(std::string_view name) const = 0;
  virtual Result<Type> attr_type(std::string_view name) const = 0;
  /// A dtype given as a TensorProto code; the fallback where the attribute is absent.
  Result<DType> attr_dtype(std::string_view name, DType fallback) const;

  /// One graph attribute and the types of its own parameters (empty: as the ONNX graph declares them).
  struct RegionSpec {
    std::string_view attribute;
    std::vector<Type> parameters;
  };
  /// Imported regions: each graph's inputs are its own parameters followed by one parameter per entry of `captures`,
  /// the outer values that any of them uses (constants are not captured: they are repeated inside). The node takes the
  /// captures as its last operands, in this order, and passes them to every region.
  struct Regions {
    std::vector<std::shared_ptr<ir::Graph>> graphs;
    std::vector<ir::ValueId> captures;
  };
  /// The node that takes the regions must be the next one emitted: symbols inside are named after it.
  virtual Result<Regions> attr_graphs(const std::vector<RegionSpec>& specs) = 0;
  /// Imports a graph attribute without parameters in place of the node: the values that it returns.
  virtual Result<std::vector<ir::ValueId>> inline_graph(std::string_view attribute) = 0;

  // Emitting. All infer types and report a failure with the node's name.
  virtual ir::Graph& graph() = 0;
  virtual const ir::Graph& graph() const = 0;
  virtual const ops::Catalogue& catalogue() const = 0;
  /// Adds a node with one output.
  Result<ir::ValueId> emit(const ops::Operator& op, ops::Attrs attrs, std::vector<ir::ValueId> inputs,
                           EmitExtras more = {});
  Result<std::vector<ir::ValueId>> emit_many(const ops::Operator& op, ops::Attrs attrs, std::vector<ir::ValueId> inputs,
                                             size_t output_count, EmitExtras more = {});
  ir::ValueId constant_value(Tensor tensor) { return graph().add_constant(std::move(tensor)); }

  virtual size_t output_count() const = 0;            ///< up to the last named one
  virtual bool wants_output(size_t index) const = 0;  ///< the output is named
  virtual Result<void> set_output(size_t index, ir::ValueId value) = 0;
  Result<void> set_outputs(const std::vector<ir::ValueId>& values);

  /// Errors, worded alike: "node 'conv1' (Conv): <message>".
  template <class... Args>
  Error invalid(fmt::format_string<Args...> format, Args&&... args) const {
    return node_error(ErrorCode::InvalidModel, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  Error unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return node_error(ErrorCode::Unsupported, fmt::format(format, std::forward<Args>(args)...));
  }
  Error node_error(ErrorCode code, const std::string& message) const;
};

}  // namespace strop::onnx
