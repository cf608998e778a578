#include "kernels/copy/gather.h"

#include <gtest/gtest.h>

#include <numeric>

namespace strop::kernels {
namespace {

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(GatherRows, PicksRowsOfEveryWidth) {
  SingleThread thread;
  for (const int64_t width : {1, 2, 4, 5, 16}) {
    const auto src = counting(static_cast<size_t>(2 * 3 * width));
    const std::vector<int32_t> picks = {2, -3, 1, 1};
    std::vector<float> dst(static_cast<size_t>(2 * 4 * width));
    ASSERT_FALSE(gather_rows({2, 3, 4, width * 4}, src.data(), {picks.data(), false}, dst.data(), thread));
    const int64_t rows[] = {2, 0, 1, 1, 5, 3, 4, 4};
    for (int64_t i = 0; i < 8 * width; ++i) {
      EXPECT_EQ(dst[static_cast<size_t>(i)], static_cast<float>(rows[i / width] * width + i % width));
    }
  }
}

TEST(GatherRows, ReportsTheFirstBadIndexAndWritesNothing) {
  SingleThread thread;
  const auto src = counting(3);
  const std::vector<int64_t> picks = {0, 3, -4};
  std::vector<float> dst(3, -1);
  const auto bad = gather_rows({1, 3, 3, 4}, src.data(), {picks.data(), true}, dst.data(), thread);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->index, 3);
  EXPECT_EQ(bad->size, 3);
  EXPECT_EQ(dst, std::vector<float>(3, -1));
}

TEST(GatherElements, BothAxes) {
  SingleThread thread;
  const auto src = counting(9);
  const std::vector<int64_t> picks = {1, 2, 0, -1, 0, 0};
  std::vector<float> dst(6);
  ASSERT_FALSE(gather_elements({{2, 3}, {3, 1}, 3, 0, 4}, src.data(), {picks.data(), true}, dst.data(), thread));
  EXPECT_EQ(dst, (std::vector<float>{3, 7, 2, 6, 1, 2}));
  ASSERT_FALSE(gather_elements({{2, 3}, {3, 1}, 3, 1, 4}, src.data(), {picks.data(), true}, dst.data(), thread));
  EXPECT_EQ(dst, (std::vector<float>{1, 2, 0, 5, 3, 3}));
}

TEST(Tuples, GatherAndScatter) {
  SingleThread thread;
  const auto src = counting(12);  // [2, 3, 2]
  const std::vector<int64_t> picks = {1, -1, 0, 1};
  const IndexTuples tuples{2, {2, 3}, {24, 8}, 2, 0};
  std::vector<float> dst(4);
  ASSERT_FALSE(gather_tuples(tuples, 8, src.data(), {picks.data(), true}, dst.data(), thread));
  EXPECT_EQ(dst, (std::vector<float>{10, 11, 2, 3}));
  std::vector<float> data(12, 0);
  ASSERT_FALSE(scatter_tuples(tuples, 8, dst.data(), {picks.data(), true}, data.data()));
  EXPECT_EQ(data, (std::vector<float>{0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 10, 11}));
}

}  // namespace
}  // namespace strop::kernels
