#include "passes/min_cut.h"

#include <algorithm>

#include "base/check.h"

namespace strop::passes {

int32_t FlowNetwork::add_node() {
  edges_of_.emplace_back();
  return static_cast<int32_t>(edges_of_.size() - 1);
}

void FlowNetwork::add_edge(int32_t from, int32_t to, int64_t capacity) {
  STROP_CHECK(capacity >= 0, "a capacity of {}", capacity);
  edges_of_[static_cast<size_t>(from)].push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[static_cast<size_t>(to)].push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

// Distances from the source along edges that have capacity left.
bool FlowNetwork::find_levels() {
  level_.assign(edges_of_.size(), -1);
  level_[kSource] = 0;
  std::vector<int32_t> queue = {kSource};
  for (size_t head = 0; head < queue.size(); ++head) {
    const auto node = static_cast<size_t>(queue[head]);
    for (const int32_t index : edges_of_[node]) {
      const Edge& edge = edges_[static_cast<size_t>(index)];
      int32_t& level = level_[static_cast<size_t>(edge.to)];
      if (edge.left == 0 || level >= 0) continue;
      level = level_[node] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

// One path from the source to the sink along rising levels, without recursion: networks can be deep. 0: none is left.
int64_t FlowNetwork::augment() {
  std::vector<int32_t> path;
  int32_t node = kSource;
  while (node != kSink) {
    const auto& edges = edges_of_[static_cast<size_t>(node)];
    size_t& next = next_[static_cast<size_t>(node)];
    while (next < edges.size()) {
      const Edge& edge = edges_[static_cast<size_t>(edges[next])];
      if (edge.left > 0 && level_[static_cast<size_t>(edge.to)] == level_[static_cast<size_t>(node)] + 1) break;
      ++next;
    }
    if (next < edges.size()) {
      path.push_back(edges[next]);
      node = edges_[static_cast<size_t>(edges[next])].to;
      continue;
    }
    if (path.empty()) return 0;
    node = edges_[static_cast<size_t>(path.back() ^ 1)].to;
    ++next_[static_cast<size_t>(node)];
    path.pop_back();
  }
  int64_t flow = INT64_MAX;
  for (const int32_t index : path) flow = std::min(flow, edges_[static_cast<size_t>(index)].left);
  for (const int32_t index : path) {
    edges_[static_cast<size_t>(index)].left -= flow;
    edges_[static_cast<size_t>(index ^ 1)].left += flow;
  }
  return flow;
}

int64_t FlowNetwork::solve() {
  int64_t total = 0;
  while (find_levels()) {
    next_.assign(edges_of_.size(), 0);
    while (const int64_t flow = augment()) total += flow;
  }
  return total;
}

}  // namespace strop::passes
