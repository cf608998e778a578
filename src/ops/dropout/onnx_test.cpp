#include <gtest/gtest.h>

#include "ops/dropout/dropout.h"
#include "ops/import_testing.h"

namespace strop::ops::testing {
namespace {

using onnx::testing::node;
using onnx::testing::value_info;

const auto kData = value_info("x", DType::F32, {"b", 3});

TEST(ImportDropout, InferenceIsNothing) {
  EXPECT_EQ(imported({node("Dropout", {"x"}, {"y"}), 7, {kData}}), "= x");
  EXPECT_EQ(imported({node("Dropout", {"x", "r"}, {"y"}), 13, {kData, value_info("r", DType::F32, {})}}), "= x");
  const auto mode = value_info("t", DType::Bool, {});
  EXPECT_EQ(imported({node("Dropout", {"x", "", "t"}, {"y"}), 13, {kData, mode}}), "Dropout() f32[b, 3]");
}

TEST(Dropout, TrainingIsTheUsersError) {
  const Tensor ratio = Tensor::scalar(DType::F32, 0.5);
  const Tensor yes = Tensor::scalar(DType::Bool, 1), no = Tensor::scalar(DType::Bool, 0);
  EXPECT_EQ(run(kDropout, NoAttrs{}, {f32({2}, {1, 2}), ratio, no}, 2), "f32[2] 1 2; bool[2] 1 1");
  EXPECT_EQ(run(kDropout, NoAttrs{}, {f32({2}, {1, 2}), Tensor::scalar(DType::F32, 0), yes}), "f32[2] 1 2");
  EXPECT_EQ(run(kDropout, NoAttrs{}, {f32({2}, {1, 2}), ratio, yes}),
            "error: Dropout: training_mode is true, but engines only infer; give false, or a ratio of 0");
}

}  // namespace
}  // namespace strop::ops::testing
