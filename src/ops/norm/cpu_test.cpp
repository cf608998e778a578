// Numbers whose mean is large beside their deviation: what the kernels give is what the meaning, in double, gives.
#include <gtest/gtest.h>

#include <random>

#include "ops/families.h"
#include "ops/norm/norm.h"
#include "tactics/testing.h"

namespace strop::ops {
namespace {

constexpr double kMean = 1000, kDeviation = 0.01;

Tensor nearly_constant(const std::vector<int64_t>& dims) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(kMean, kDeviation);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = normal(random);
  return store_f64(DType::F32, dims, values);
}

WorkedCase nearly_constant_case(std::string name, Attrs attrs, const std::vector<int64_t>& dims, int64_t channels) {
  const Type per_channel(DType::F32, {channels});
  return {std::move(name),
          std::move(attrs),
          {Type(DType::F32, to_dims(dims)), per_channel, per_channel},
          1,
          {{0, nearly_constant(dims)}}};
}

/// The tactics of `op` that take the case; each is compared with the operator's own evaluation.
int64_t compare(const Operator& op, const WorkedCase& sample) {
  int64_t taken = 0;
  for (const tactics::Tactic* tactic : norm_cpu_tactics()) {
    if (tactic->op != op.name) continue;
    for (const int workers : {1, 3}) taken += tactics::testing::expect_like_reference(*tactic, op, sample, workers);
  }
  return taken;
}

TEST(NormKernels, KeepSmallDeviationsFromLargeMeans) {
  LayerNormAttrs layer;
  layer.epsilon = 1e-9;
  EXPECT_EQ(compare(kLayerNorm, nearly_constant_case("layer", layer, {5, 5000}, 5000)), 2);
  GroupNormAttrs group;
  group.epsilon = 1e-9;
  for (const int64_t groups : {0, 1, 3}) {
    group.groups = groups;
    group.channels_last = false;
    EXPECT_EQ(compare(kGroupNorm, nearly_constant_case("planes", group, {2, 6, 70, 71}, 6)), 2);
    group.channels_last = true;
    EXPECT_EQ(compare(kGroupNorm, nearly_constant_case("last", group, {2, 70, 71, 6}, 6)), 2);
  }
  const Tensor mean = store_f64(DType::F32, {6}, std::vector<double>(6, kMean));
  const Tensor variance = store_f64(DType::F32, {6}, std::vector<double>(6, kDeviation * kDeviation));
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2, 6, 7, 9}, std::vector<int64_t>{50, 6}}) {
    WorkedCase batch = nearly_constant_case("batch", BatchNormAttrs{1e-9}, dims, 6);
    batch.inputs.resize(5, batch.inputs[1]);
    batch.given.insert(batch.given.end(), {{3, mean}, {4, variance}});
    EXPECT_EQ(compare(kBatchNorm, batch), 2);
  }
}

}  // namespace
}  // namespace strop::ops
