#include "api/strides.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "api/testing.h"

namespace strop::api {
namespace {

using testing::message_of;

std::byte memory[1 << 16];

TensorView view(std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset = 0,
                DType dtype = DType::F32) {
  return {dtype, std::move(shape), memory + 32768 + offset * bit_width(dtype) / 8, std::move(strides)};
}

TEST(Strides, DenseIsWhatLiesOneAfterAnother) {
  EXPECT_TRUE(is_dense(view({2, 3}, {})));
  EXPECT_TRUE(is_dense(view({2, 3}, {3, 1})));
  EXPECT_TRUE(is_dense(view({2, 1, 3}, {3, 77, 1})));  // the stride of one index is never used
  EXPECT_TRUE(is_dense(view({2, 0, 3}, {9, 9, 9})));
  EXPECT_TRUE(is_dense(view({}, {})));
  EXPECT_FALSE(is_dense(view({2, 3}, {4, 1})));
  EXPECT_FALSE(is_dense(view({2, 3}, {1, 2})));
}

TEST(Strides, IllegalOnesAreRefused) {
  const auto read = [](const TensorView& tensor) { return message_of(check_strides("x", tensor, Access::Read)); };
  const auto write = [](const TensorView& tensor) { return message_of(check_strides("y", tensor, Access::Write)); };
  EXPECT_EQ(read(view({2, 3}, {1})), "'x' has 2 dimensions and 1 strides were given");
  EXPECT_EQ(read(view({2, 3}, {3, 1}, 0, DType::I4)), "'x' is of i4, which cannot have strides: give a dense tensor");
  EXPECT_EQ(read(view({2, 3}, {INT64_MIN, 1})),
            "'x': stride -9223372036854775808 of dimension 0 leads outside of the memory");
  EXPECT_EQ(read(view({3, 2}, {int64_t{1} << 62, 1})),
            "'x': stride 4611686018427387904 of dimension 0 leads outside of the memory");
  EXPECT_EQ(read(view({2, 3}, {-3, 0})), "");
  EXPECT_EQ(write(view({2, 3}, {-3, 1})), "output 'y': stride -3 of dimension 0 must be positive");
  EXPECT_EQ(write(view({2, 3}, {3, 0})), "output 'y': stride 0 of dimension 1 must be positive");
  EXPECT_EQ(write(view({1, 3}, {0, 1})), "");  // one index only
  EXPECT_EQ(
      write(view({2, 3}, {2, 1})),
      "output 'y': strides [2, 1] fold elements of shape [2, 3] onto each other: each stride must reach beyond all "
      "that smaller ones cover");
  EXPECT_EQ(write(view({2, 3}, {1, 2})), "");
  EXPECT_EQ(write(view({2, 3, 4}, {100, 10, 2})), "");
}

TEST(Strides, PartsOfOneMatrixDoNotOverlap) {
  EXPECT_FALSE(overlap(view({8, 3}, {8, 1}), view({8, 5}, {8, 1}, 3)));  // columns beside each other
  EXPECT_TRUE(overlap(view({8, 3}, {8, 1}), view({8, 5}, {8, 1}, 2)));
  EXPECT_FALSE(overlap(view({8, 2}, {8, 4}), view({8, 2}, {8, 4}, 1)));  // interleaved
  EXPECT_FALSE(overlap(view({4}, {2}), view({4}, {2}, 1)));
  EXPECT_TRUE(overlap(view({4}, {2}), view({4}, {-2}, 6)));
  EXPECT_FALSE(overlap(view({4}, {2}), view({4}, {-2}, 7)));
  EXPECT_TRUE(overlap(view({4}, {}), view({4}, {}, 3)));
  EXPECT_FALSE(overlap(view({4}, {}), view({4}, {}, 4)));
  EXPECT_FALSE(overlap(view({0}, {}), view({4}, {})));
}

std::set<int64_t> elements(const TensorView& tensor) {
  std::set<int64_t> offsets = {0};
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    std::set<int64_t> more;
    for (const int64_t at : offsets) {
      for (int64_t i = 0; i < tensor.shape[axis]; ++i) more.insert(at + i * tensor.strides[axis]);
    }
    offsets = std::move(more);
  }
  std::set<int64_t> absolute;
  for (const int64_t at : offsets) absolute.insert(at + (static_cast<std::byte*>(tensor.data) - memory) / 4);
  return absolute;
}

TEST(Strides, OverlapIsWhatAListOfElementsSays) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int64_t judged = 0;
  int64_t apart = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const auto one = view({pick(1, 5), pick(1, 4), pick(1, 3)}, {pick(6, 40), pick(2, 12), pick(1, 3)});
    const auto two = view({pick(1, 5), pick(1, 4), pick(1, 3)}, {pick(6, 40), pick(2, 12), -pick(1, 3)}, pick(-60, 60));
    const auto a = elements(one);
    const auto b = elements(two);
    const bool folded = a.size() != static_cast<size_t>(one.count()) || b.size() != static_cast<size_t>(two.count());
    bool meet = false;
    for (const int64_t at : a) meet = meet || b.contains(at);
    EXPECT_TRUE(!meet || overlap(one, two));  // never missed
    if (folded || !check_strides("y", one, Access::Write).ok()) continue;
    TensorView upright = two;
    for (int64_t& stride : upright.strides) stride = std::abs(stride);
    if (!check_strides("y", upright, Access::Write).ok()) continue;
    EXPECT_EQ(overlap(one, two), meet) << trial;
    ++judged;
    apart += meet ? 0 : 1;
  }
  EXPECT_GT(judged, 300);
  EXPECT_GT(apart, 50);
}

TEST(Strides, CopiesGoBothWays) {
  std::vector<float> padded = {1, 2, 3, 0, 4, 5, 6, 0};
  const TensorView rows{DType::F32, {2, 3}, padded.data(), {4, 1}};
  const Tensor dense = densify(rows).value();
  EXPECT_EQ(std::vector<float>(dense.span<float>().begin(), dense.span<float>().end()),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const TensorView backwards{DType::F32, {3, 2}, padded.data() + 2, {-1, 4}};
  const Tensor turned = densify(backwards).value();
  EXPECT_EQ(std::vector<float>(turned.span<float>().begin(), turned.span<float>().end()),
            (std::vector<float>{3, 6, 2, 5, 1, 4}));
  std::vector<float> target(8, -1);
  SingleThread here;
  copy_from_dense({DType::F32, {2, 3}, target.data(), {4, 1}}).value().run(dense.raw(), target.data(), here);
  EXPECT_EQ(target, (std::vector<float>{1, 2, 3, -1, 4, 5, 6, -1}));
}

TEST(Strides, StridedTensorsAreComparedAndSavedAsWhatTheyShow) {
  std::vector<float> padded = {1, 2, 9, 3, 4, 9};
  std::vector<float> plain = {1, 2, 3, 4};
  const TensorView strided{DType::F32, {2, 2}, padded.data(), {3, 1}};
  EXPECT_EQ(compare(strided, {DType::F32, {2, 2}, plain.data()}).l0, 0);
  const TensorView wrong{DType::F32, {2, 2}, padded.data(), {3}};
  EXPECT_FALSE(compare(wrong, {DType::F32, {2, 2}, plain.data()}).same_shape);
  const std::string path = ::testing::TempDir() + "strided.npy";
  save_npy(path, strided).value();
  EXPECT_EQ(compare(load_tensor(path).value().view(), {DType::F32, {2, 2}, plain.data()}).l0, 0);
}

}  // namespace
}  // namespace strop::api
