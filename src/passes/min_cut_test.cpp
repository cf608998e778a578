#include "passes/min_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace strop::passes {
namespace {

TEST(FlowNetwork, CutsTheCheaperSide) {
  FlowNetwork network;
  const int32_t a = network.add_node();
  const int32_t b = network.add_node();
  network.add_edge(FlowNetwork::kSource, a, 10);
  network.add_edge(a, b, 3);
  network.add_edge(b, FlowNetwork::kSink, 7);
  EXPECT_EQ(network.solve(), 3);
  EXPECT_TRUE(network.on_source_side(a));
  EXPECT_FALSE(network.on_source_side(b));
}

TEST(FlowNetwork, NothingToCutCostsNothing) {
  FlowNetwork network;
  const int32_t alone = network.add_node();
  network.add_edge(FlowNetwork::kSource, alone, 5);
  EXPECT_EQ(network.solve(), 0);
  EXPECT_TRUE(network.on_source_side(alone));
}

TEST(FlowNetwork, NeverCutsWhatMustNotBe) {
  FlowNetwork network;
  const int32_t a = network.add_node();
  const int32_t b = network.add_node();
  network.add_edge(FlowNetwork::kSource, a, 4);
  network.add_edge(a, b, FlowNetwork::kUncut);
  network.add_edge(b, FlowNetwork::kSink, 9);
  EXPECT_EQ(network.solve(), 4);
  EXPECT_FALSE(network.on_source_side(a));
}

// Against all 2^n assignments of small random networks.
TEST(FlowNetwork, IsTheCheapestOfAllAssignments) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    constexpr int kNodes = 7;
    FlowNetwork network;
    for (int i = 0; i < kNodes; ++i) network.add_node();
    std::vector<std::tuple<int, int, int64_t>> edges;
    for (int i = 0; i < 18; ++i) {
      const int from = static_cast<int>(random() % (kNodes + 2));
      const int to = static_cast<int>(random() % (kNodes + 2));
      if (from == to) continue;
      edges.emplace_back(from, to, random() % 20);
      network.add_edge(from, to, std::get<2>(edges.back()));
    }
    const auto cost = [&](const auto& on_source_side) {
      int64_t sum = 0;
      for (const auto& [from, to, capacity] : edges) sum += on_source_side(from) && !on_source_side(to) ? capacity : 0;
      return sum;
    };
    int64_t best = INT64_MAX;
    for (int mask = 0; mask < 1 << kNodes; ++mask) {
      best = std::min(best, cost([&](int node) {
                        return node == FlowNetwork::kSource || (node != FlowNetwork::kSink && (mask >> (node - 2) & 1));
                      }));
    }
    EXPECT_EQ(network.solve(), best);
    EXPECT_EQ(cost([&](int node) { return network.on_source_side(node); }), best);
  }
}

}  // namespace
}  // namespace strop::passes
