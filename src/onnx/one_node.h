/// For tests of the importers beside the operators: what the import of one ONNX node makes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnx/import.h"
#include "onnx/model_writer.h"
#include "ops/testing.h"

namespace strop::onnx::testing {

/// A model of one node whose outputs are the model's.
struct OneNode {
  Message node;
  int64_t opset = 17;
  std::vector<Message> inputs = {};        ///< value_info(…)
  std::vector<Message> initializers = {};  ///< tensor(…)
  std::vector<std::string> outputs = {"y"};
  DType dtype = DType::F32;  ///< of the outputs
};

/// The nodes in order, joined by "; ": "Slice(axes=[1], …) f32[2, s]"; a constant output as "= i64[2] 3 4"; an output
/// that is an input as "= x". Or "error: …".
inline std::string imported(const OneNode& one) {
  std::vector<Message> outputs;
  for (const std::string& name : one.outputs) {
    outputs.push_back(value_info(name, unranked_type(one.dtype)));
  }
  const GraphSpec spec{.nodes = {one.node}, .initializers = one.initializers, .inputs = one.inputs, .outputs = outputs};
  const auto bytes = std::make_shared<const std::string>(model({graph(spec), {}, {opset("", one.opset)}}));
  const auto imported_model = import_bytes(*bytes, bytes);
  if (!imported_model.ok()) return "error: " + imported_model.error().message;
  const ir::Graph& made = *imported_model->graph;
  std::string result;
  const auto add = [&](const std::string& item) { result += (result.empty() ? "" : "; ") + item; };
  for (const ir::NodeId id : made.order()) {
    const ir::Node& made_node = made.node(id);
    std::string line = fmt::format("{}({})", made_node.op->name, made_node.attrs.to_string());
    for (const ops::LateField& late : made_node.late) line += fmt::format(" late {}", late.field);
    for (const ir::ValueId output : made_node.outputs) line += " " + to_string(made.value(output).type);
    add(line);
  }
  for (const ir::Port& port : made.outputs) {
    if (const Tensor* constant = made.constant_tensor(port.value)) add("= " + ops::testing::text(*constant));
    for (const ir::Port& input : made.inputs) {
      if (input.value == port.value) add("= " + input.name);
    }
  }
  return result;
}

}  // namespace strop::onnx::testing
