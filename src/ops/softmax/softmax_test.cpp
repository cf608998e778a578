#include "ops/softmax/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::f32;
using testing::infer;
using testing::run;

SoftmaxAttrs along(int64_t axis, SoftmaxKind kind = SoftmaxKind::Softmax, bool flatten = false) {
  SoftmaxAttrs attrs;
  attrs.kind = kind;
  attrs.axis = axis;
  attrs.flatten = flatten;
  return attrs;
}

const double inf = std::numeric_limits<double>::infinity();

bool all_nan(const SoftmaxAttrs& attrs, const Tensor& x) {
  SingleThread thread;
  const std::vector<Value> inputs = {x};
  const auto results = evaluate({kSoftmax, attrs, {}, inputs, 1, thread});
  for (const double value : load_f64(results->front().tensor())) {
    if (!std::isnan(value)) return false;
  }
  return true;
}

TEST(Softmax, Groups) {
  // e^(log 3) : e^0 = 3 : 1.
  const double log3 = std::log(3.0);
  const Tensor x = f32({2, 2}, {static_cast<double>(static_cast<float>(log3)), 0, 5, 5});
  EXPECT_EQ(run(kSoftmax, along(-1), {x}), "f32[2, 2] 0.75 0.25 0.5 0.5");
  EXPECT_EQ(run(kSoftmax, along(0), {f32({2, 2}, {1, 100, 1, 100})}), "f32[2, 2] 0.5 0.5 0.5 0.5");
  EXPECT_EQ(run(kSoftmax, along(0, SoftmaxKind::Softmax, true), {f32({2, 2}, {7, 7, 7, 7})}),
            "f32[2, 2] 0.25 0.25 0.25 0.25");
  EXPECT_EQ(run(kSoftmax, along(1, SoftmaxKind::Hardmax), {f32({2, 3}, {1, 3, 3, 2, 0, 1})}), "f32[2, 3] 0 1 0 1 0 0");
  EXPECT_EQ(run(kSoftmax, along(-1, SoftmaxKind::LogSoftmax), {f32({1, 1}, {7})}), "f32[1, 1] 0");
}

TEST(Softmax, SpecialValues) {
  EXPECT_TRUE(all_nan(along(-1), f32({2}, {-inf, -inf})));
  EXPECT_TRUE(all_nan(along(-1), f32({2}, {inf, 0})));
  EXPECT_EQ(run(kSoftmax, along(-1), {f32({3}, {-inf, 2, 2})}), "f32[3] 0 0.5 0.5");
  EXPECT_EQ(run(kSoftmax, along(-1), {f32({2}, {1e38, -1e38})}), "f32[2] 1 0");
}

TEST(Softmax, Types) {
  const Dim s = Dim::symbol("s");
  EXPECT_EQ(infer(kSoftmax, along(-1), {Type(DType::F16, {s, 4})}), "f16[s, 4]");
  EXPECT_EQ(infer(kSoftmax, along(2), {Type(DType::F32, {s, 4})}), "error: (C2) axis 2 is outside [-2, 2) for rank 2");
  EXPECT_EQ(infer(kSoftmax, along(0), {Type(DType::I32, {4})}), "error: (C1) softmax of i32");
  EXPECT_EQ(infer(kSoftmax, along(0), {Type::unranked(DType::F32)}), "f32[*]");
}

TEST(Softmax, ProgramsChangeTheType) {
  SoftmaxAttrs attrs = along(-1);
  attrs.prologue.outputs = {
      attrs.prologue.add_declared(Fn::Cast, DType::F32, {attrs.prologue.add_input(0, DType::F16)})};
  EXPECT_EQ(infer(kSoftmax, attrs, {Type(DType::F16, {2, 2})}), "f32[2, 2]");
}

}  // namespace
}  // namespace strop::ops
