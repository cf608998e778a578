#include "ops/view/view.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::infer;
using testing::run;

const Dim b = Dim::symbol("b");
const Dim s = Dim::symbol("s");

TEST(Reshape, InfersTheOpenDimension) {
  EXPECT_EQ(run(kReshape, ReshapeAttrs{{2, -1}}, {testing::counting({3, 4})}), "f32[2, 6] 0 1 2 3 4 5 6 7 8 9 10 11");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{b, -1, 12, 64}}, {Type(DType::F32, {b, s, 768})}), "f32[b, s, 12, 64]");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{-1, 768}}, {Type(DType::F32, {b, s, 768})}), "f32[b*s, 768]");
}

TEST(Reshape, CopiesZerosOnlyWhereAsked) {
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{0, -1}, true}, {Type(DType::F32, {b, 3, 4})}), "f32[b, 12]");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{0, 5}}, {Type(DType::F32, {5, 0})}), "f32[0, 5]");
}

TEST(Reshape, LateTarget) {
  const Type data(DType::F32, {b, 6});
  const std::vector<LateField> late = {{"shape", 1}};
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{}, {data, Type(DType::I64, {2})}, {late}), "f32[?.0, ?.1]");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{}, {data, Type(DType::I64, {s})}, {late}), "f32[*]");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{}, {data, Type(DType::I64, {2})}, {late, {{}, Dims{b * Dim(2), 3}}}),
            "f32[2*b, 3]");
  EXPECT_EQ(run(kReshape, ReshapeAttrs{{}, true}, {testing::counting({2, 2}), Tensor::of_i64({-1, 0})}, 1, late),
            "f32[2, 2] 0 1 2 3");
}

TEST(Reshape, Errors) {
  const std::vector<Type> data = {Type(DType::F32, {2, 3})};
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{-1, -1}}, data), "error: (C3) the target [-1, -1] has more than one -1");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{4, -1}}, data),
            "error: (C5) 6 elements of [2, 3] cannot be split into [4, -1]");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{5}}, data), "error: (C5) [2, 3] has 6 elements, the target [5] has 5");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{2, 3, 0}, true}, data),
            "error: (C4) the target [2, 3, 0] copies dimension 2 of an operand of rank 2");
}

TEST(Reshape, AbsurdSizesAreRefused) {
  const std::vector<Type> data = {Type(DType::F32, {b})};
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{INT64_MAX, 2}}, data),
            "error: [9223372036854775807, 2] is more than 2^40 elements");
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{1 << 30, -1, 1 << 11}}, data),
            "error: [1073741824, -1, 2048] is more than 2^40 elements");
}

TEST(Reshape, KeepsKnownContents) {
  EXPECT_EQ(infer(kReshape, ReshapeAttrs{{1}}, {Type(DType::I64, Dims{})}, {{}, {Dims{s}}}), "i64[1] known [s]");
}

TEST(ReshapeByRule, FollowsTheOperand) {
  const auto by = [](ReshapeRule rule, Dims axes) { return ReshapeByRuleAttrs{rule, std::move(axes)}; };
  const std::vector<Type> data = {Type(DType::F32, {b, 1, s, 4})};
  EXPECT_EQ(infer(kReshapeByRule, by(ReshapeRule::Flatten, {2}), data), "f32[b, 4*s]");
  EXPECT_EQ(infer(kReshapeByRule, by(ReshapeRule::Flatten, {0}), data), "f32[1, 4*b*s]");
  EXPECT_EQ(infer(kReshapeByRule, by(ReshapeRule::Flatten, {4}), data), "f32[4*b*s, 1]");
  EXPECT_EQ(infer(kReshapeByRule, by(ReshapeRule::Squeeze, {-3}), data), "f32[b, s, 4]");
  EXPECT_EQ(infer(kReshapeByRule, by(ReshapeRule::Squeeze, {}), data), "f32[*]");
  EXPECT_EQ(infer(kReshapeByRule, by(ReshapeRule::Squeeze, {3}), data),
            "error: (C3) axis 3 to squeeze has size 4, not 1");
  EXPECT_EQ(infer(kReshapeByRule, by(ReshapeRule::Unsqueeze, {-1, 0}), data), "f32[1, b, 1, s, 4, 1]");
  EXPECT_EQ(infer(kReshapeByRule, by(ReshapeRule::Flatten, {1}), {Type::unranked(DType::I8)}), "i8[?.0, ?.1]");
  EXPECT_EQ(run(kReshapeByRule, by(ReshapeRule::Squeeze, {}), {testing::counting({1, 2, 1})}), "f32[2] 0 1");
}

}  // namespace
}  // namespace strop::ops
