/// Batch normalisation with constant parameters as what it is: a scale and a shift per channel.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace strop::passes {

/// y = scale * x + shift, one value per channel, in double. `sources` are the constants that they came from.
struct ChannelAffine {
  std::vector<double> scale, shift;
  std::vector<const ir::Constant*> sources;
};

/// Of a BatchNorm node. Nullopt: a parameter is not constant, or they differ in size.
std::optional<ChannelAffine> batch_norm_affine(const ir::Graph& graph, const ir::Node& node);

/// Adds the sources' origins to the constant's, each once.
void add_origins(ir::Constant& constant, const std::vector<const ir::Constant*>& sources);

}  // namespace strop::passes
