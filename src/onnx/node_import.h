/// The NodeContext of one ONNX node.
#pragma once

#include "onnx/graph_import.h"
#include "onnx/importer.h"

namespace strop::onnx {

class NodeImport final : public NodeContext {
 public:
  /// `label`: the node's name or place.
  NodeImport(Scope& scope, const NodeProto& node, const std::string& label, int opset);

  std::string_view op_type() const override { return node_.op_type; }
  std::string_view node_name() const override { return label_; }
  int opset() const override { return opset_; }

  size_t input_count() const override { return node_.inputs.size(); }
  ir::ValueId input(size_t index) const override;

  bool has_attr(std::string_view name) const override { return find(name) != nullptr; }
  Result<int64_t> attr_int(std::string_view name, std::optional<int64_t> fallback) const override;
  Result<double> attr_float(std::string_view name, std::optional<double> fallback) const override;
  Result<std::string> attr_string(std::string_view name, std::optional<std::string> fallback) const override;
  Result<std::vector<int64_t>> attr_ints(std::string_view name,
                                         std::optional<std::vector<int64_t>> fallback) const override;
  Result<std::vector<double>> attr_floats(std::string_view name,
                                          std::optional<std::vector<double>> fallback) const override;
  Result<std::vector<std::string>> attr_strings(std::string_view name,
                                                std::optional<std::vector<std::string>> fallback) const override;
  Result<Tensor> attr_tensor(std::string_view name) const override;
  Result<Type> attr_type(std::string_view name) const override;
  Result<Regions> attr_graphs(const std::vector<RegionSpec>& specs) override;
  Result<std::vector<ir::ValueId>> inline_graph(std::string_view attribute) override;

  ir::Graph& graph() override { return scope_.graph; }
  const ir::Graph& graph() const override { return scope_.graph; }
  const ops::Catalogue& catalogue() const override { return scope_.state.catalogue; }

  size_t output_count() const override { return output_count_; }
  bool wants_output(size_t index) const override;
  Result<void> set_output(size_t index, ir::ValueId value) override;

  /// Every result that the node names has been set; that it was not is a bug of the importer.
  Result<void> check_results() const;

 private:
  const AttributeProto* find(std::string_view name) const;
  /// The attribute if it is there and of this kind; null if absent. Error: another kind.
  Result<const AttributeProto*> find(std::string_view name, AttrKind kind) const;
  Error missing(std::string_view name) const;
  Result<std::shared_ptr<ir::Graph>> import_region(const GraphProto& proto, const RegionSpec& spec,
                                                   const std::vector<std::string_view>& captured, std::string scope);

  Scope& scope_;
  const NodeProto& node_;
  const std::string& label_;
  int opset_;
  size_t output_count_ = 0;
  std::vector<bool> is_set_;
};

}  // namespace strop::onnx
