#include "kernels/reduce/row_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace strop::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> all = {CpuTarget::Portable};
  if (best_cpu_target() != CpuTarget::Portable) all.push_back(CpuTarget::Avx2);
  if (best_cpu_target() == CpuTarget::Avx512) all.push_back(CpuTarget::Avx512);
  return all;
}

std::vector<float> normal(int64_t n, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = distribution(random);
  return values;
}

class RowKernelsTest : public testing::TestWithParam<CpuTarget> {
 protected:
  const RowKernels& kernels_ = row_kernels(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Cpu, RowKernelsTest, testing::ValuesIn(targets()),
                         [](const auto& param) { return std::string(to_string(param.param)); });

// The operation in double, one element after the other.
double slowly(RowOp op, const std::vector<float>& x, double shift) {
  double total = identity(op);
  for (const float value : x) {
    const auto v = static_cast<double>(value);
    const double term = op == RowOp::SumAbs      ? std::fabs(v)
                        : op == RowOp::SumSquare ? (v - shift) * (v - shift)
                        : op == RowOp::SumExp    ? std::exp(v - shift)
                                                 : v;
    total = join(op, total, term);
  }
  return total;
}

TEST_P(RowKernelsTest, ReducesRowsOfEveryLength) {
  for (const RowOp op :
       {RowOp::Sum, RowOp::SumAbs, RowOp::SumSquare, RowOp::SumExp, RowOp::Product, RowOp::Max, RowOp::Min}) {
    for (const int64_t n : {0, 1, 3, 8, 17, 31, 64, 100, 5000}) {
      const auto x = normal(n);
      const double shift = op == RowOp::SumExp ? 5 : 0.25;
      const double expected = slowly(op, x, shift);
      const double actual = kernels_.reduce(op, x.data(), n, static_cast<float>(shift));
      if (std::isinf(expected)) {
        EXPECT_EQ(actual, expected);
      } else {
        EXPECT_NEAR(actual, expected, 1e-5 * std::fabs(expected) + 1e-4) << static_cast<int>(op) << " of " << n;
      }
    }
  }
}

TEST_P(RowKernelsTest, AccumulatesElementwise) {
  for (const int64_t n : {1, 7, 16, 33}) {
    const auto x = normal(n, 1);
    const auto shift = normal(n, 2);
    auto acc = normal(n, 3);
    const auto before = acc;
    kernels_.accumulate(RowOp::SumSquare, x.data(), n, shift.data(), acc.data());
    for (size_t i = 0; i < acc.size(); ++i)
      EXPECT_NEAR(acc[i], before[i] + (x[i] - shift[i]) * (x[i] - shift[i]), 1e-5f);
    kernels_.accumulate(RowOp::Max, x.data(), n, nullptr, acc.data());
    for (size_t i = 0; i < acc.size(); ++i) EXPECT_GE(acc[i], x[i]);
  }
}

TEST_P(RowKernelsTest, NotANumberSpreads) {
  for (size_t at = 0; at < 37; ++at) {
    auto x = normal(37);
    x[at] = kNan;
    EXPECT_TRUE(std::isnan(kernels_.reduce(RowOp::Max, x.data(), 37, 0))) << at;
    EXPECT_TRUE(std::isnan(kernels_.reduce(RowOp::Min, x.data(), 37, 0))) << at;
    std::vector<float> y(37);
    kernels_.softmax(x.data(), 37, y.data());
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[36])) << at;
  }
}

TEST_P(RowKernelsTest, SoftmaxOfSpecialValues) {
  const auto softmax = [&](std::vector<float> x) {
    kernels_.softmax(x.data(), static_cast<int64_t>(x.size()), x.data());
    return x;
  };
  EXPECT_EQ(softmax({-kInf, 2, 2}), (std::vector<float>{0, 0.5f, 0.5f}));
  EXPECT_EQ(softmax({1e38f, -1e38f}), (std::vector<float>{1, 0}));
  EXPECT_TRUE(std::isnan(softmax({-kInf, -kInf})[1]));
  EXPECT_TRUE(std::isnan(softmax({kInf, 0})[1]));
}

TEST_P(RowKernelsTest, SoftmaxRowsAndColumnsAgree) {
  constexpr int64_t kRows = 19, kColumns = 37;
  const auto x = normal(kRows * kColumns);
  for (const bool log : {false, true}) {
    std::vector<float> down(x.size());
    (log ? kernels_.log_softmax_columns : kernels_.softmax_columns)({x.data(), kRows, kColumns, kColumns, down.data()});
    for (int64_t c = 0; c < kColumns; ++c) {
      std::vector<float> column(kRows);
      for (int64_t r = 0; r < kRows; ++r) column[static_cast<size_t>(r)] = x[static_cast<size_t>(r * kColumns + c)];
      (log ? kernels_.log_softmax : kernels_.softmax)(column.data(), kRows, column.data());
      for (int64_t r = 0; r < kRows; ++r) {
        EXPECT_NEAR(down[static_cast<size_t>(r * kColumns + c)], column[static_cast<size_t>(r)], 2e-6f);
      }
    }
  }
}

TEST_P(RowKernelsTest, NormalizesWithWhatThereIs) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<float> scale(9, 10), bias(9, 1);
  std::vector<float> y(9);
  kernels_.normalize({x.data(), 9, 5, 2, scale.data(), bias.data(), y.data()});
  EXPECT_EQ(y[8], 81);
  kernels_.normalize({x.data(), 9, 5, 2, scale.data(), nullptr, y.data()});
  EXPECT_EQ(y[0], -80);
  kernels_.normalize({x.data(), 9, 5, 2, nullptr, bias.data(), y.data()});
  EXPECT_EQ(y[8], 9);
  kernels_.normalize({x.data(), 9, 5, 2, nullptr, nullptr, y.data()});
  EXPECT_EQ(y[4], 0);
}

TEST_P(RowKernelsTest, MomentsOfRowsAndColumns) {
  constexpr int64_t kRows = 13;
  for (const int64_t columns : {1, 7, 16, 100, 5000}) {
    const auto x = normal(kRows * columns, 1);
    const auto shift = normal(columns, 2);
    std::vector<double> sums(static_cast<size_t>(columns), 1), squares(sums);
    kernels_.column_moments({x.data(), kRows, columns, shift.data(), sums.data(), squares.data()});
    for (size_t c = 0; c < sums.size(); ++c) {
      double sum = 1, square = 1;
      for (size_t r = 0; r < kRows; ++r) {
        const double distance = static_cast<double>(x[r * sums.size() + c]) - static_cast<double>(shift[c]);
        sum += distance;
        square += distance * distance;
      }
      EXPECT_NEAR(sums[c], sum, 1e-5);
      EXPECT_NEAR(squares[c], square, 1e-6 * square);  // 13 sums in single precision
    }
    double sum = 0, square = 0;
    for (const float value : x) {
      const double distance = static_cast<double>(value) - 0.5;
      sum += distance;
      square += distance * distance;
    }
    const Moments row = kernels_.moments(x.data(), kRows * columns, 0.5f);
    EXPECT_NEAR(row.sum, sum, 1e-6 * static_cast<double>(x.size()) + 1e-5);
    EXPECT_NEAR(row.squares, square, 1e-6 * square + 1e-5);
  }
}

TEST_P(RowKernelsTest, CentersRowsAndColumns) {
  for (const int64_t n : {1, 8, 37}) {
    const auto x = normal(2 * n, 1), mean = normal(n, 2), factor = normal(n, 3), shift = normal(n, 4);
    std::vector<float> y(x.size());
    kernels_.center_columns({x.data(), 2, n, mean.data(), factor.data(), shift.data(), y.data()});
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t c = i % mean.size();
      EXPECT_NEAR(y[i], (x[i] - mean[c]) * factor[c] + shift[c], 1e-5f);
    }
    kernels_.center_row({x.data(), n, 3, 2, 1, y.data()});
    for (size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(y[i], (x[i] - 3) * 2 + 1, 1e-5f);
  }
}

TEST_P(RowKernelsTest, DividesByAPower) {
  const std::vector<float> x(11, 3);
  const std::vector<float> sums(11, 30);
  std::vector<float> y(11);
  kernels_.divide_by_power({x.data(), sums.data(), 11, 1, 0.5f, 0.75f, y.data()});  // 3 / 16^(3/4)
  for (const float value : y) EXPECT_NEAR(value, 0.375f, 1e-6f);
}

}  // namespace
}  // namespace strop::kernels
