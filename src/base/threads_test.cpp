#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace strop {
namespace {

TEST(Threads, EveryTaskRunsOnceWithAValidWorker) {
  auto pool = make_thread_pool(4);
  ASSERT_EQ(pool->count(), 4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> hits(97);
    std::atomic<bool> bad_worker{false};
    pool->run(97, [&](int64_t index, int worker) {
      hits[index].fetch_add(1);
      if (worker < 0 || worker >= 4) bad_worker = true;
    });
    EXPECT_FALSE(bad_worker);
    for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
  }
}

TEST(Threads, RangesCoverTheCountWithoutOverlap) {
  auto pool = make_thread_pool(3);
  for (int64_t count : {0, 1, 2, 7, 100, 1001}) {
    std::vector<std::atomic<int>> hits(count);
    parallel_for(*pool, count, 8, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) hits[i].fetch_add(1);
    });
    for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
  }
}

TEST(Threads, ASleepingPoolWakesUp) {
  auto pool = make_thread_pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> sum{0};
    pool->run(10, [&](int64_t index, int) { sum += static_cast<int>(index); });
    EXPECT_EQ(sum.load(), 45);
  }
}

TEST(Threads, CallsFromSeveralThreadsAreSerialised) {
  auto pool = make_thread_pool(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) pool->run(8, [&](int64_t, int) { total += 1; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 100 * 8);
}

}  // namespace
}  // namespace strop
