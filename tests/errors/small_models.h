/// Small models that the hostile ones are made from.
#pragma once

#include "onnx/model_writer.h"

namespace strop::tests {

/// y = x, of f32[2].
inline onnx::testing::GraphSpec identity_graph() {
  using namespace onnx::testing;  // NOLINT: the model writer's vocabulary
  return {.nodes = {node("Identity", {"x"}, {"y"}, {}, "copy")},
          .initializers = {},
          .inputs = {value_info("x", DType::F32, {2})},
          .outputs = {value_info("y", DType::F32, {2})}};
}

/// identity_graph with other nodes.
inline onnx::testing::GraphSpec graph_of(std::vector<onnx::testing::Message> nodes) {
  onnx::testing::GraphSpec spec = identity_graph();
  spec.nodes = std::move(nodes);
  return spec;
}

/// identity_graph with an initializer 'w' written as given.
inline onnx::testing::GraphSpec graph_with(onnx::testing::Message initializer) {
  onnx::testing::GraphSpec spec = identity_graph();
  spec.initializers = {std::move(initializer)};
  return spec;
}

}  // namespace strop::tests
