#include "kernels/transpose/transpose.h"

#include <gtest/gtest.h>

#include <vector>

namespace strop::kernels {
namespace {

template <class T>
void check(TransposeProblem p, int threads) {
  const int64_t src_row = p.src_row_stride ? p.src_row_stride : p.cols;
  const int64_t dst_row = p.dst_row_stride ? p.dst_row_stride : p.rows;
  std::vector<T> src(static_cast<size_t>(p.batch * p.rows * src_row));
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<T>(i * 7 + i / 251);
  const auto guard = static_cast<T>(0xA5);
  std::vector<T> dst(static_cast<size_t>(p.batch * p.cols * dst_row + 8), guard);
  const auto pool = make_thread_pool(threads);
  transpose(p, sizeof(T), src.data(), dst.data(), *pool);
  int64_t wrong = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t j = 0; j < p.cols; ++j) {
      for (int64_t i = 0; i < dst_row; ++i) {
        const T got = dst[static_cast<size_t>((b * p.cols + j) * dst_row + i)];
        const T want = i < p.rows ? src[static_cast<size_t>((b * p.rows + i) * src_row + j)] : guard;
        wrong += got != want;
      }
    }
  }
  for (size_t i = dst.size() - 8; i < dst.size(); ++i) wrong += dst[i] != guard;
  EXPECT_EQ(wrong, 0) << p.batch << " x " << p.rows << " x " << p.cols << ", " << sizeof(T) << " bytes";
}

template <class T>
void check_all() {
  for (const int64_t rows : {1, 3, 4, 16, 17, 33, 200}) {
    for (const int64_t cols : {1, 2, 8, 15, 64, 301}) {
      check<T>({.batch = 1, .rows = rows, .cols = cols}, 1);
      check<T>({.batch = 3, .rows = rows, .cols = cols, .src_row_stride = cols + 5, .dst_row_stride = rows + 3}, 3);
    }
  }
  check<T>({.batch = 2, .rows = 3, .cols = 10000}, 2);
  check<T>({.batch = 1, .rows = 10000, .cols = 3}, 2);
  check<T>({.batch = 0, .rows = 5, .cols = 3}, 2);
}

TEST(Transpose, OneByte) { check_all<uint8_t>(); }
TEST(Transpose, TwoBytes) { check_all<uint16_t>(); }
TEST(Transpose, FourBytes) { check_all<uint32_t>(); }
TEST(Transpose, EightBytes) { check_all<uint64_t>(); }

}  // namespace
}  // namespace strop::kernels
