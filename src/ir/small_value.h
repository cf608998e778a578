/// The value that a small tensor has whatever the inputs hold, found without running the graph.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace strop::ir {

/// Evaluates the value from constants and known contents (shapes that are constant), through at most a few dozen
/// deterministic nodes of at most 64 elements each. Nullopt: it depends on inputs, is too large or too far away.
std::optional<Tensor> small_value(const Graph& graph, ValueId value);

}  // namespace strop::ir
