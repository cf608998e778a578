#include "ops/signal/signal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::f32;
using testing::infer;
using testing::run;

constexpr double kPi = 3.14159265358979323846;

std::vector<double> numbers(const Operator& op, const Attrs& attrs, const std::vector<Value>& inputs) {
  SingleThread thread;
  const auto results = evaluate({op, attrs, {}, inputs, 1, thread});
  EXPECT_TRUE(results.ok()) << results.error().message;
  return results.ok() ? load_f64((*results)[0].tensor()) : std::vector<double>();
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(FourierPlan, IsTheDefinitionForEveryLength) {
  for (const int64_t length : {1, 2, 3, 4, 6, 7, 12, 30, 64}) {
    std::vector<std::complex<double>> x;
    for (int64_t n = 0; n < length; ++n)
      x.emplace_back(std::sin(1.0 + static_cast<double>(n * n)), 0.25 * static_cast<double>(n % 3));
    const auto found = FourierPlan(length, false).transform(x);
    for (int64_t k = 0; k < length; ++k) {
      std::complex<double> sum = 0;
      for (int64_t n = 0; n < length; ++n) {
        sum += x[static_cast<size_t>(n)] *
               std::polar(1.0, -2 * kPi * static_cast<double>(k * n) / static_cast<double>(length));
      }
      EXPECT_NEAR(std::abs(found[static_cast<size_t>(k)] - sum), 0, 1e-10) << length << " " << k;
    }
  }
}

TEST(Dft, OneSidedAndBack) {
  const Tensor x = f32({1, 4, 1}, {1, 2, 3, 4});
  const auto half = numbers(kDft, DftAttrs{1, {}, true}, {x});
  expect_near(half, {10, 0, -2, 2, -2, 0});
  expect_near(numbers(kDft, DftAttrs{1, {}, true, true}, {f32({1, 3, 2}, half)}), {1, 2, 3, 4});
  expect_near(numbers(kDft, DftAttrs{1, {2}}, {x}), {3, 0, -1, 0});
  const Dim n = Dim::symbol("n");
  EXPECT_EQ(infer(kDft, DftAttrs{1, {}, true}, {Type(DType::F32, {2, n, 1})}), "f32[2, floordiv(n, 2) + 1, 2]");
  EXPECT_EQ(infer(kDft, DftAttrs{2}, {Type(DType::F32, {2, n, 1})}),
            "error: (C2) the last axis holds real and imaginary parts");
}

TEST(Stft, FramesOverlap) {
  const Tensor x = f32({1, 4}, {1, 2, 3, 4});
  expect_near(numbers(kStft, StftAttrs{1, {2}}, {x}), {3, 0, -1, 0, 5, 0, -1, 0, 7, 0, -1, 0});
  expect_near(numbers(kStft, StftAttrs{2, {}}, {x, f32({2}, {1, 2})}), {5, 0, -3, 0, 11, 0, -5, 0});
}

TEST(WindowFunction, PeriodicAndSymmetric) {
  expect_near(numbers(kWindowFunction, WindowFunctionAttrs{WindowKind::Hann, 4}, {}), {0, 0.5, 1, 0.5});
  expect_near(numbers(kWindowFunction, WindowFunctionAttrs{WindowKind::Hann, 3, false}, {}), {0, 1, 0});
  expect_near(numbers(kWindowFunction, WindowFunctionAttrs{WindowKind::Blackman, 2}, {}), {0, 1});
  EXPECT_EQ(run(kWindowFunction, WindowFunctionAttrs{}, {Tensor::of_i64({2}).reshaped({})}, 1, {{"size", 0}}),
            "f32[2] 0 1");
}

}  // namespace
}  // namespace strop::ops
