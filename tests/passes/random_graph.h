/// Small random graphs of what networks are made of, legal by construction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace strop::passes {

struct RandomGraph {
  std::shared_ptr<ir::Graph> graph;
  std::vector<Value> inputs;  ///< for its inputs, in order
};

/// The same graph for the same seed, everywhere. Most have convolutions; a dimension "n" of the first input may be
/// symbolic. Several values, not only the last one, are outputs.
RandomGraph make_random_graph(uint32_t seed);

/// Where the tensors differ by more than rounding, which is measured by the largest element; nullopt: nowhere.
std::optional<std::string> difference(const Tensor& expected, const Tensor& actual);

}  // namespace strop::passes
