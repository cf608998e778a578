/// The nodes of a region become nodes of the graph around it.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace strop::passes {

/// Appends copies of the region's nodes (out of order: sort the graph afterwards), with `arguments` for its inputs.
/// Returns the values of its outputs. Nodes keep their sources and get `more_sources` too. Error: inference failed.
Result<std::vector<ir::ValueId>> inline_region(ir::Graph& graph, const ir::Graph& region,
                                               const std::vector<ir::ValueId>& arguments,
                                               const std::vector<std::string>& more_sources);

}  // namespace strop::passes
