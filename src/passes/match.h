/// Small helpers that patterns are made of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace strop::passes {

/// How often each value is used (graph outputs count), as of construction.
class UseCounts {
 public:
  explicit UseCounts(const ir::Graph& graph);
  int operator[](ir::ValueId id) const {
    return static_cast<size_t>(id) < counts_.size() ? counts_[static_cast<size_t>(id)] : 0;
  }
  bool single(ir::ValueId id) const { return (*this)[id] == 1; }

 private:
  std::vector<int> counts_;
};

/// The node that computes the value; kNone for inputs, constants and absent operands.
ir::NodeId producer(const ir::Graph& graph, ir::ValueId value);
/// The same if it is `op`'s node, else kNone.
ir::NodeId producer(const ir::Graph& graph, ir::ValueId value, const ops::Operator& op);

/// The number that a constant of one element (any rank, real or integer) holds.
std::optional<double> constant_scalar(const ir::Graph& graph, ir::ValueId value);
/// A constant of one element that is exactly `number` in its own dtype (rounded to it).
bool is_constant_scalar(const ir::Graph& graph, ir::ValueId value, double number);

/// The tensor type of a value whose rank is known; null otherwise.
const TensorType* ranked(const ir::Graph& graph, ir::ValueId value);
/// Every dimension of the value is known before the data are.
bool has_backed_dims(const ir::Graph& graph, ir::ValueId value);
bool is_backed(const Dims& dims);

/// First one's names, then those of the other that are missing.
std::vector<std::string> merged_sources(const std::vector<std::string>& first, const std::vector<std::string>& second);

/// Redirects all uses of the node's outputs to `values` (in order), gives the producers of `values` the node's sources,
/// and erases the node.
void replace_node(ir::Graph& graph, ir::NodeId id, const std::vector<ir::ValueId>& values);

}  // namespace strop::passes
