// check_operators: which operators of a model have no importer, said in one message.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "onnx/names.h"
#include "onnx/structure.h"

namespace strop::onnx {
namespace {

/// The first node of one unsupported operator type.
struct Missing {
  const NodeProto* node = nullptr;
  std::string label;
  int64_t opset = 0;
};

class OperatorCheck {
 public:
  OperatorCheck(const Structure& structure, const ImporterTable& importers)
      : structure_(structure), importers_(importers) {}

  void visit(std::span<const NodeProto> nodes, const Opsets& opsets) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      visit_node(nodes[i], i, opsets);
      for (const AttributeProto& attr : nodes[i].attributes) {
        if (attr.graph) visit(attr.graph->nodes, opsets);
      }
    }
  }

  const std::vector<Missing>& missing() const { return missing_; }

 private:
  void visit_node(const NodeProto& node, size_t index, const Opsets& opsets) {
    if (const auto called = structure_.functions.find(function_key(node)); called != structure_.functions.end()) {
      const FunctionProto& function = *called->second;
      if (visited_.insert(&function).second) visit(function.nodes, structure_.function_opsets.at(&function));
      return;
    }
    const int64_t opset = opsets.at(node.domain);
    if (importers_.find(node.domain, node.op_type, opset) != nullptr) return;
    if (reported_.emplace(node.domain, node.op_type).second)
      missing_.push_back({&node, node_label(node, index), opset});
  }

  const Structure& structure_;
  const ImporterTable& importers_;
  std::set<const FunctionProto*> visited_;
  std::set<std::pair<std::string_view, std::string_view>> reported_;
  std::vector<Missing> missing_;
};

/// "opset 7 to 12 and from 13"
std::string supported_versions(std::span<const Importer* const> importers) {
  std::vector<std::pair<int, int>> ranges;
  for (const Importer* importer : importers) ranges.emplace_back(importer->since, importer->until);
  std::sort(ranges.begin(), ranges.end());
  std::string text;
  for (size_t i = 0; i < ranges.size();) {
    auto [first, last] = ranges[i];
    for (++i; i < ranges.size() && ranges[i].first == last + 1; ++i) last = ranges[i].second;
    text += text.empty() ? "" : ", ";
    if (last >= kNewestOpset) {
      text += fmt::format("{} and later", first);
    } else {
      text += first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
    }
  }
  return text;
}

Error one_missing(const Missing& missing, const ImporterTable& importers) {
  const NodeProto& node = *missing.node;
  const std::string op = quote(node.op_type);
  const std::string where =
      fmt::format("node {} ({}, domain {})", quote(missing.label), op.substr(1, op.size() - 2), quote(node.domain));
  if (const auto others = importers.find_all(node.domain, node.op_type); !others.empty()) {
    return error(ErrorCode::Unsupported, "{}: opset {} of this operator is not supported, only {}", where,
                 missing.opset, supported_versions(others));
  }
  const auto candidates = importers.op_types(node.domain);
  const std::string hint = node.op_type.size() > 100 ? "" : did_you_mean(node.op_type, candidates);
  return error(ErrorCode::Unsupported, "{}: operator is not supported{}", where, hint);
}

}  // namespace

Result<void> check_operators(const ModelProto& model, const Structure& structure, const ImporterTable& importers) {
  constexpr size_t kMaxListed = 20;
  OperatorCheck check(structure, importers);
  check.visit(model.graph.nodes, structure.opsets);
  const std::vector<Missing>& missing = check.missing();
  if (missing.empty()) return {};
  if (missing.size() == 1) return one_missing(missing[0], importers);
  std::string list;
  for (size_t i = 0; i < std::min(missing.size(), kMaxListed); ++i) {
    const NodeProto& node = *missing[i].node;
    const std::string op = quote(node.op_type);
    list += fmt::format("{}{} (domain {}, opset {}, node {})", i == 0 ? "" : ", ", op.substr(1, op.size() - 2),
                        quote(node.domain), missing[i].opset, quote(missing[i].label));
  }
  if (missing.size() > kMaxListed) list += fmt::format(" and {} more", missing.size() - kMaxListed);
  return error(ErrorCode::Unsupported, "{} operators are not supported: {}", missing.size(), list);
}

}  // namespace strop::onnx
