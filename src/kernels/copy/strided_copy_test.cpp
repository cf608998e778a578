#include "kernels/copy/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>

namespace strop::kernels {
namespace {

struct Copy {
  std::vector<CopyAxis> axes;
  int64_t src_offset = 0;
  int64_t dst_offset = 0;
};

// Every element by itself, straight from the definition.
std::vector<uint8_t> expected(const Copy& copy, int64_t bytes, const std::vector<uint8_t>& src, size_t dst_bytes) {
  std::vector<uint8_t> dst(dst_bytes, 0xEE);
  int64_t count = 1;
  for (const CopyAxis& axis : copy.axes) count *= axis.size;
  for (int64_t item = 0; item < count; ++item) {
    int64_t rest = item;
    int64_t from = copy.src_offset;
    int64_t to = copy.dst_offset;
    for (size_t i = copy.axes.size(); i-- > 0;) {
      from += rest % copy.axes[i].size * copy.axes[i].src_stride;
      to += rest % copy.axes[i].size * copy.axes[i].dst_stride;
      rest /= copy.axes[i].size;
    }
    for (int64_t b = 0; b < bytes; ++b)
      dst.at(static_cast<size_t>(to * bytes + b)) = src.at(static_cast<size_t>(from * bytes + b));
  }
  return dst;
}

void check(const Copy& copy, int64_t src_count, int64_t dst_count) {
  const auto pool = make_thread_pool(2);
  for (const int64_t bytes : {1, 2, 4, 8, 16}) {
    std::vector<uint8_t> src(static_cast<size_t>(src_count * bytes));
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
    std::vector<uint8_t> dst(static_cast<size_t>(dst_count * bytes), 0xEE);
    StridedCopy(copy.axes, bytes, copy.src_offset, copy.dst_offset).run(src.data(), dst.data(), *pool);
    ASSERT_EQ(dst, expected(copy, bytes, src, dst.size())) << bytes << " bytes";
  }
}

TEST(StridedCopy, Dense) { check({dense_axes({3, 5, 7})}, 105, 105); }
TEST(StridedCopy, LongRunIsSharedOut) { check({dense_axes({300001})}, 300001, 300001); }
TEST(StridedCopy, LongFillIsSharedOut) { check({{{300001, 0, 1}}, 1, 0}, 2, 300001); }
TEST(StridedCopy, LongStridedLineIsSharedOut) { check({{{200001, 2, 1}}}, 400002, 200001); }
TEST(StridedCopy, Matrix) { check({{{53, 1, 37}, {37, 53, 1}}}, 53 * 37, 53 * 37); }
TEST(StridedCopy, BatchOfMatrices) { check({{{3, 200, 200}, {20, 1, 10}, {10, 20, 1}}}, 600, 600); }
TEST(StridedCopy, PairsBecomeWiderElements) { check({{{9, 2, 10}, {5, 18, 2}, {2, 1, 1}}}, 90, 90); }
TEST(StridedCopy, Repeats) { check({{{6, 1, 9}, {9, 0, 1}}}, 6, 54); }
TEST(StridedCopy, RepeatsRows) { check({{{4, 0, 7}, {7, 1, 1}}}, 7, 28); }
TEST(StridedCopy, Reversed) { check({{{3, 6, 6}, {6, -1, 1}}, 5, 0}, 18, 18); }
TEST(StridedCopy, EverySecondIntoAColumn) { check({{{4, 2, 5}}, 1, 3}, 8, 20); }
TEST(StridedCopy, FillsAColumn) { check({{{4, 0, 5}}, 2, 4}, 3, 20); }
TEST(StridedCopy, Nothing) { check({{{3, 0, 0}, {0, 1, 1}}}, 3, 3); }
TEST(StridedCopy, Scalar) { check({{}, 2, 1}, 3, 3); }
TEST(StridedCopy, FiveAxes) { check({{{6, 1, 120}, {2, 360, 60}, {5, 6, 12}, {3, 120, 4}, {4, 30, 1}}}, 720, 720); }
TEST(StridedCopy, LargeTransposition) { check({{{257, 1, 301}, {301, 257, 1}}}, 257 * 301, 257 * 301); }

TEST(StridedCopy, MergesAxes) {
  EXPECT_EQ(StridedCopy::merged_axes(dense_axes({2, 3, 4, 5})), 1u);
  EXPECT_EQ(StridedCopy::merged_axes({{2, 12, 12}, {3, 1, 4}, {1, 7, 7}, {4, 3, 1}}), 3u);
  EXPECT_EQ(StridedCopy::merged_axes({{1, 1, 1}}), 0u);
}

}  // namespace
}  // namespace strop::kernels
