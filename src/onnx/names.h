/// How names from a model appear in messages.
#pragma once

#include <string>
#include <string_view>

#include "onnx/model.h"

namespace strop::onnx {

/// 'name' for a message: control characters become \xNN, what exceeds 100 bytes is cut, so that a message stays one
/// line.
std::string quote(std::string_view name);

/// The node's name, or "#<index>" for one without.
std::string node_label(const NodeProto& node, size_t index);

/// "node 'conv1' (Conv)"
std::string describe_node(std::string_view label, std::string_view op_type);

}  // namespace strop::onnx
