#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace strop::kernels {
namespace {

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> all = {CpuTarget::Portable};
  if (best_cpu_target() != CpuTarget::Portable) all.push_back(CpuTarget::Avx2);
  if (best_cpu_target() == CpuTarget::Avx512) all.push_back(CpuTarget::Avx512);
  return all;
}

std::vector<float> normal(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = distribution(random);
  return values;
}

struct Case {
  int64_t m, n, d, e;
  bool causal = false;
  bool k_transposed = false;
  float softcap = 0;
};

AttentionShape shape_of(const Case& c, CpuTarget target) {
  AttentionShape shape{c.m, c.n, c.d, c.e, c.d, c.e, c.e, c.d, 1};
  if (c.k_transposed) shape.k_row = 1, shape.k_column = c.n;
  shape.scale = 0.3f;
  shape.softcap = c.softcap;
  shape.causal = c.causal;
  shape.causal_offset = c.n - c.m;
  shape.target = target;
  return shape;
}

struct Data {
  std::vector<float> q, k, v;
};

// Query i in double.
std::vector<double> slowly(const AttentionShape& shape, const Data& data, int64_t i) {
  std::vector<double> weights;
  double sum = 0;
  const int64_t end = shape.causal ? std::min(shape.n, i + shape.causal_offset + 1) : shape.n;
  for (int64_t j = 0; j < end; ++j) {
    double score = 0;
    for (int64_t c = 0; c < shape.d; ++c) {
      score += static_cast<double>(data.q[static_cast<size_t>(i * shape.d + c)]) *
               static_cast<double>(data.k[static_cast<size_t>(j * shape.k_row + c * shape.k_column)]);
    }
    score *= static_cast<double>(shape.scale);
    const auto cap = static_cast<double>(shape.softcap);
    if (cap != 0) score = cap * std::tanh(score / cap);
    weights.push_back(std::exp(score));
    sum += weights.back();
  }
  std::vector<double> out(static_cast<size_t>(shape.e));
  for (int64_t j = 0; j < end; ++j) {
    for (int64_t c = 0; c < shape.e; ++c) {
      out[static_cast<size_t>(c)] +=
          weights[static_cast<size_t>(j)] / sum * static_cast<double>(data.v[static_cast<size_t>(j * shape.e + c)]);
    }
  }
  return out;
}

class AttentionKernelTest : public testing::TestWithParam<CpuTarget> {};
INSTANTIATE_TEST_SUITE_P(Cpu, AttentionKernelTest, testing::ValuesIn(targets()),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST_P(AttentionKernelTest, AgreesWithTheFormula) {
  for (const Case& c : std::vector<Case>{{7, 11, 5, 3},
                                         {1, 300, 16, 16},
                                         {60, 600, 16, 20},
                                         {190, 70, 8, 9},
                                         {65, 300, 12, 8, true},
                                         {50, 40, 7, 7, false, true},
                                         {1, 40, 7, 7, false, true},
                                         {20, 30, 8, 8, false, false, 1.5f}}) {
    const AttentionShape shape = shape_of(c, GetParam());
    const Data data{normal(c.m * c.d, 1), normal(c.n * c.d, 2), normal(c.n * c.e, 3)};
    std::vector<float> out(static_cast<size_t>(c.m * c.e), -1);
    std::vector<float> scratch(static_cast<size_t>(attention_workspace_bytes(shape)) / sizeof(float));
    attend(shape, {data.q.data(), data.k.data(), data.v.data(), out.data(), {}}, 0, c.m, scratch.data());
    for (int64_t i = 0; i < c.m; ++i) {
      const auto expected = slowly(shape, data, i);
      for (int64_t j = 0; j < c.e; ++j) {
        EXPECT_NEAR(static_cast<double>(out[static_cast<size_t>(i * c.e + j)]), expected[static_cast<size_t>(j)], 5e-6)
            << c.m << "x" << c.n << " query " << i;
      }
    }
  }
}

TEST_P(AttentionKernelTest, PartsGiveTheSameBits) {
  const AttentionShape shape = shape_of({100, 300, 16, 16}, GetParam());
  const Data data{normal(1600, 1), normal(4800, 2), normal(4800, 3)};
  std::vector<float> scratch(static_cast<size_t>(attention_workspace_bytes(shape)) / sizeof(float));
  std::vector<float> whole(1600), parts(1600);
  attend(shape, {data.q.data(), data.k.data(), data.v.data(), whole.data(), {}}, 0, 100, scratch.data());
  for (const int64_t first : {0, 48}) {
    attend(shape, {data.q.data(), data.k.data(), data.v.data(), parts.data(), {}}, first, first == 0 ? 48 : 52,
           scratch.data());
  }
  EXPECT_EQ(whole, parts);
}

}  // namespace
}  // namespace strop::kernels
