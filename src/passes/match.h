/// Small helpers that patterns are made of.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/scalar_program.h"

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

/// A pointwise node that applies one scalar function to its operands and numbers.
struct Application {
  /// A value, and its number if it is a constant of one element; or only a number.
  struct Operand {
    ir::ValueId value = ir::kNone;
    std::optional<double> number;
  };
  ir::NodeId node = ir::kNone;
  ops::Fn fn = ops::Fn::Copy;
  DType dtype = DType::Undefined;
  std::vector<Operand> operands;  ///< in the function's order
};
/// The application that computes the value; nullopt if it is computed by more than one function, or otherwise.
std::optional<Application> application(const ir::Graph& graph, ir::ValueId value);

/// The nodes between `leaves` and `value`: all that it is computed from, down to leaves and constants. Nullopt: there
/// are more than `limit`, or graph inputs among what it is computed from.
std::optional<std::set<ir::NodeId>> nodes_between(const ir::Graph& graph, const std::vector<ir::ValueId>& leaves,
                                                  ir::ValueId value, size_t limit);
/// Whether `value` is computed from one of `sources`, or is one.
bool depends_on(const ir::Graph& graph, ir::ValueId value, const std::set<ir::ValueId>& sources);

/// The tensor type of a value whose rank is known; null otherwise.
const TensorType* ranked(const ir::Graph& graph, ir::ValueId value);
/// Every dimension of the value is known before the data are.
bool has_backed_dims(const ir::Graph& graph, ir::ValueId value);
bool is_backed(const Dims& dims);

/// The permutation that undoes `perm`.
std::vector<int64_t> inverse_permutation(const std::vector<int64_t>& perm);

/// First one's names, then those of the other that are missing.
std::vector<std::string> merged_sources(const std::vector<std::string>& first, const std::vector<std::string>& second);

/// Redirects all uses of the node's outputs to `values` (in order), gives the producers of `values` the node's sources,
/// and erases the node.
void replace_node(ir::Graph& graph, ir::NodeId id, const std::vector<ir::ValueId>& values);

}  // namespace strop::passes
