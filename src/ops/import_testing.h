/// For tests: what the import of one ONNX node makes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnx/import.h"
#include "onnx/model_writer.h"
#include "ops/testing.h"

namespace strop::ops::testing {

/// A model of one node whose outputs are the model's.
struct OneNode {
  onnx::testing::Message node;
  int64_t opset = 17;
  std::vector<onnx::testing::Message> inputs = {};        ///< value_info(…)
  std::vector<onnx::testing::Message> initializers = {};  ///< tensor(…)
  std::vector<std::string> outputs = {"y"};
  DType dtype = DType::F32;  ///< of the outputs
};

/// The nodes in order, joined by "; ": "Slice(axes=[1], …) f32[2, s]"; a constant output as "= i64[2] 3 4"; an output
/// that is an input as "= x". Or "error: …".
inline std::string imported(const OneNode& one) {
  std::vector<onnx::testing::Message> outputs;
  for (const std::string& name : one.outputs) {
    outputs.push_back(onnx::testing::value_info(name, onnx::testing::unranked_type(one.dtype)));
  }
  const onnx::testing::GraphSpec spec{
      .nodes = {one.node}, .initializers = one.initializers, .inputs = one.inputs, .outputs = outputs};
  const auto bytes = std::make_shared<const std::string>(
      onnx::testing::model({onnx::testing::graph(spec), {}, {onnx::testing::opset("", one.opset)}}));
  const auto model = onnx::import_bytes(*bytes, bytes);
  if (!model.ok()) return "error: " + model.error().message;
  const ir::Graph& graph = *model->graph;
  std::string result;
  const auto add = [&](const std::string& item) { result += (result.empty() ? "" : "; ") + item; };
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    std::string line = fmt::format("{}({})", node.op->name, node.attrs.to_string());
    for (const LateField& late : node.late) line += fmt::format(" late {}", late.field);
    for (const ir::ValueId output : node.outputs) line += " " + to_string(graph.value(output).type);
    add(line);
  }
  for (const ir::Port& port : graph.outputs) {
    if (const Tensor* constant = graph.constant_tensor(port.value)) add("= " + text(*constant));
    for (const ir::Port& input : graph.inputs) {
      if (input.value == port.value) add("= " + input.name);
    }
  }
  return result;
}

}  // namespace strop::ops::testing
