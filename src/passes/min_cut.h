/// Minimum cuts of flow networks, for choosing one of two forms for every node of a graph at least cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strop::passes {

/// A directed network with a source and a sink. Dinic's method: E. A. Dinits, "Algorithm for solution of a problem of
/// maximum flow in a network with power estimation" (1970); O(V²E), near linear on the sparse networks met here.
class FlowNetwork {
 public:
  static constexpr int32_t kSource = 0;
  static constexpr int32_t kSink = 1;
  /// More than any sum of costs: an edge that is never cut.
  static constexpr int64_t kUncut = int64_t{1} << 60;

  FlowNetwork() : edges_of_(2) {}
  int32_t add_node();
  /// An edge that costs `capacity` (not negative) if `from` ends on the source's side and `to` on the sink's.
  void add_edge(int32_t from, int32_t to, int64_t capacity);
  /// The cost of the cheapest cut. Call once.
  int64_t solve();
  /// After solve(): whether the node is on the source's side. Of several cheapest cuts it is the one with the fewest
  /// nodes on the source's side.
  bool on_source_side(int32_t node) const { return level_[static_cast<size_t>(node)] >= 0; }

 private:
  struct Edge {
    int32_t to = 0;
    int64_t left = 0;  // capacity that is not used
  };
  bool find_levels();
  int64_t augment();

  std::vector<Edge> edges_;  // edge i and i ^ 1 are each other's reverse
  std::vector<std::vector<int32_t>> edges_of_;
  std::vector<int32_t> level_;
  std::vector<size_t> next_;
};

}  // namespace strop::passes
