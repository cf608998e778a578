#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "strop/strop.h"

namespace strop {
namespace {

HostTensor floats(const std::vector<float>& values) {
  HostTensor tensor(DType::F32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

OutputError compare_floats(const std::vector<float>& actual, const std::vector<float>& reference) {
  return compare(floats(actual).view(), floats(reference).view());
}

TEST(Compare, NormsOfTheDifference) {
  const OutputError error = compare_floats({3, 4, 1}, {0, 4, 3});
  EXPECT_EQ(error.l0, 2);
  EXPECT_DOUBLE_EQ(error.l1, 5.0 / 3);
  EXPECT_DOUBLE_EQ(error.l2, std::sqrt(13.0));
  EXPECT_DOUBLE_EQ(error.linf, 3);
  EXPECT_DOUBLE_EQ(error.rel_l2, std::sqrt(13.0) / 5);
  EXPECT_DOUBLE_EQ(error.cos, 19 / (std::sqrt(26.0) * 5));
}

TEST(Compare, EqualTensorsAreExactlyEqual) {
  const OutputError error = compare_floats({0, 0}, {0, 0});
  EXPECT_EQ(error.rel_l2, 0);
  EXPECT_EQ(error.cos, 1);
}

TEST(Compare, AgainstZeroTheRelativeErrorIsInfinite) {
  const OutputError error = compare_floats({1}, {0});
  EXPECT_TRUE(std::isinf(error.rel_l2));
  EXPECT_EQ(error.cos, 0);
}

TEST(Compare, SpecialValuesAreCountedApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const OutputError error = compare_floats({nan, nan, inf, inf, -inf, 2}, {nan, 1, inf, 5, inf, 2});
  EXPECT_EQ(error.nan, 1);
  EXPECT_EQ(error.inf, 2);
  EXPECT_EQ(error.l0, 3);
  EXPECT_EQ(error.rel_l2, 0);  // of the finite pairs
}

TEST(Compare, OtherShapesAndTypesHaveNothingInCommon) {
  EXPECT_FALSE(compare_floats({1, 2}, {1}).same_shape);
  const HostTensor integers(DType::I32, {1});
  const OutputError error = compare(integers.view(), floats({0}).view());
  EXPECT_FALSE(error.same_shape);
  EXPECT_TRUE(std::isinf(error.rel_l2));
}

TEST(Compare, LargeIntegersAreComparedExactly) {
  HostTensor a(DType::I64, {1});
  HostTensor b(DType::I64, {1});
  a.data<int64_t>()[0] = (int64_t{1} << 60) + 1;
  b.data<int64_t>()[0] = int64_t{1} << 60;
  EXPECT_EQ(compare(a.view(), b.view()).l0, 1);
}

TEST(Compare, StringsAreEqualOrNot) {
  HostTensor a(DType::String, {2});
  HostTensor b(DType::String, {2});
  EXPECT_EQ(compare(a.view(), b.view()).rel_l2, 0);
  a.data<std::string>()[1] = "x";
  EXPECT_EQ(compare(a.view(), b.view()).l0, 1);
  EXPECT_EQ(compare(a.view(), b.view()).rel_l2, 1);
}

TEST(RandomTensor, TheSeedDecides) {
  const HostTensor a = random_tensor(DType::F32, {1000}, 1);
  EXPECT_EQ(compare(random_tensor(DType::F32, {1000}, 1).view(), a.view()).l0, 0);
  EXPECT_GT(compare(random_tensor(DType::F32, {1000}, 2).view(), a.view()).l0, 990);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 1000; ++i) {
    sum += a.data<float>()[i];
    squares += a.data<float>()[i] * a.data<float>()[i];
  }
  EXPECT_NEAR(sum / 1000, 0, 0.15);
  EXPECT_NEAR(squares / 1000, 1, 0.2);
}

TEST(HostTensor, CopiesOwnTheirBytes) {
  HostTensor a = floats({1, 2});
  const HostTensor b = a;
  a.data<float>()[0] = 5;
  EXPECT_EQ(b.data<float>()[0], 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.view().data) % 64, 0u);
}

}  // namespace
}  // namespace strop
