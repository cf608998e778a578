#include "plan/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace strop::plan {
namespace {

void expect_disjoint(const std::vector<Lifetime>& items, const ArenaPlan& plan) {
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kArenaAlignment, 0);
    EXPECT_LE(plan.offsets[i] + items[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = items[i].first <= items[j].last && items[j].first <= items[i].last;
      const bool overlap =
          plan.offsets[i] < plan.offsets[j] + items[j].bytes && plan.offsets[j] < plan.offsets[i] + items[i].bytes;
      EXPECT_FALSE(together && overlap) << i << " and " << j;
    }
  }
}

TEST(Arena, AChainNeedsItsTwoLargestNeighbours) {
  const std::vector<Lifetime> items = {{640, 0, 1}, {128, 1, 2}, {1280, 2, 3}, {64, 3, 4}};
  const ArenaPlan plan = pack_arena(items);
  expect_disjoint(items, plan);
  EXPECT_EQ(plan.lower_bound_bytes, 1408);
  EXPECT_EQ(plan.bytes, 1408);
  EXPECT_EQ(plan.total_bytes, 2112);
}

TEST(Arena, NothingNeedsNothing) {
  const ArenaPlan plan = pack_arena({});
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_EQ(plan.lower_bound_bytes, 0);
}

TEST(Arena, RandomLifetimesNeverOverlapAndStayNearTheBound) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> items;
    for (int i = 0; i < 150; ++i) {
      const auto first = static_cast<int32_t>(random() % 200);
      items.push_back(
          {static_cast<int64_t>(1 + random() % 100000), first, first + static_cast<int32_t>(random() % 12)});
    }
    const ArenaPlan plan = pack_arena(items);
    expect_disjoint(items, plan);
    EXPECT_GE(plan.bytes, plan.lower_bound_bytes);
    EXPECT_LE(static_cast<double>(plan.bytes), 1.10 * static_cast<double>(plan.lower_bound_bytes)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace strop::plan
