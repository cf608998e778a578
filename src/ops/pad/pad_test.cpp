#include "ops/pad/pad.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::infer;
using testing::run;

const Dim b = Dim::symbol("b");

TEST(Pad, Modes) {
  const std::vector<Value> row = {counting({3})};
  EXPECT_EQ(run(kPad, PadAttrs{PadMode::Constant, {1, 2}, {}}, row), "f32[6] 0 0 1 2 0 0");
  EXPECT_EQ(run(kPad, PadAttrs{PadMode::Constant, {1, 1}, {}}, {counting({2}), Tensor::scalar(DType::F32, 9)}),
            "f32[4] 9 0 1 9");
  EXPECT_EQ(run(kPad, PadAttrs{PadMode::Reflect, {2, 2}, {}}, row), "f32[7] 2 1 0 1 2 1 0");
  EXPECT_EQ(run(kPad, PadAttrs{PadMode::Edge, {2, 1}, {}}, row), "f32[6] 0 0 0 1 2 2");
  EXPECT_EQ(run(kPad, PadAttrs{PadMode::Wrap, {2, 4}, {}}, row), "f32[9] 1 2 0 1 2 0 1 2 0");
  EXPECT_EQ(run(kPad, PadAttrs{PadMode::Constant, {-1, 1}, {}}, row), "f32[3] 1 2 0");
}

TEST(Pad, AxesAndLatePads) {
  EXPECT_EQ(run(kPad, PadAttrs{PadMode::Constant, {1, 0}, {-1}}, {counting({2, 1})}), "f32[2, 2] 0 0 0 1");
  EXPECT_EQ(run(kPad, PadAttrs{}, {counting({1}), Value(), Tensor::of_i64({0, 1})}, 1, {{"pads", 2}}), "f32[2] 0 0");
  EXPECT_EQ(infer(kPad, PadAttrs{PadMode::Constant, {}, {0}}, {Type(DType::F32, {b, 3}), Type(), Type(DType::I64, {2})},
                  {{{"pads", 2}}}),
            "f32[?.0, 3]");
}

TEST(Pad, Infers) {
  EXPECT_EQ(infer(kPad, PadAttrs{PadMode::Edge, {0, 1, b, 2}, {}}, {Type(DType::F32, {b, 3})}), "f32[2*b, 6]");
  EXPECT_EQ(infer(kPad, PadAttrs{PadMode::Edge, {0, 1}, {}}, {Type(DType::F32, {b, 3})}),
            "error: (C2) 2 pads for 2 axes");
  EXPECT_EQ(infer(kPad, PadAttrs{PadMode::Edge, {-2, -2}, {}}, {Type(DType::F32, {3})}),
            "error: (C4) the pads of axis 0 leave -1 elements");
}

}  // namespace
}  // namespace strop::ops
