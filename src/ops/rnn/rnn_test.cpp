#include "ops/rnn/rnn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::f32;
using testing::infer;

RnnAttrs plain(std::vector<std::string> activations) {
  RnnAttrs attrs;
  attrs.alpha.assign(activations.size(), 0);
  attrs.beta = attrs.alpha;
  attrs.activations = std::move(activations);
  return attrs;
}

std::vector<std::vector<double>> results(const Operator& op, const Attrs& attrs, const std::vector<Value>& inputs,
                                         size_t outputs) {
  SingleThread thread;
  const auto values = evaluate({op, attrs, {}, inputs, outputs, thread});
  EXPECT_TRUE(values.ok()) << values.error().message;
  std::vector<std::vector<double>> numbers;
  for (const Value& value : *values) numbers.push_back(load_f64(value.tensor()));
  return numbers;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One unit, one input: Relu sums up x * 2 + h * 0.5 + 1.
TEST(Rnn, ForwardAndReverse) {
  const std::vector<Value> inputs = {f32({3, 1, 1}, {1, 2, 3}), f32({1, 1, 1}, {2}), f32({1, 1, 1}, {0.5}),
                                     f32({1, 2}, {0.75, 0.25})};
  RnnAttrs attrs = plain({"Relu"});
  EXPECT_EQ(results(kRnn, attrs, inputs, 2), (std::vector<std::vector<double>>{{3, 6.5, 10.25}, {10.25}}));
  attrs.direction = RnnDirection::Reverse;
  EXPECT_EQ(results(kRnn, attrs, inputs, 2), (std::vector<std::vector<double>>{{7.25, 8.5, 7}, {7.25}}));
}

TEST(Rnn, BeyondTheEndOfASequenceNothingHappens) {
  RnnAttrs attrs = plain({"Affine"});
  attrs.alpha = {1};
  const std::vector<Value> inputs = {f32({2, 2, 1}, {1, 2, 3, 4}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {1}), Value(),
                                     store_i64(DType::I32, {2}, std::vector<int64_t>{2, 1})};
  EXPECT_EQ(results(kRnn, attrs, inputs, 2), (std::vector<std::vector<double>>{{1, 2, 4, 0}, {4, 2}}));
  attrs.direction = RnnDirection::Reverse;
  EXPECT_EQ(results(kRnn, attrs, inputs, 2), (std::vector<std::vector<double>>{{4, 2, 3, 0}, {4, 2}}));
}

TEST(Lstm, GatesInOrder) {
  const std::vector<double> w = {0.1, 0.2, 0.3, 0.4};  // i, o, f, c
  const std::vector<Value> inputs = {
      f32({1, 1, 1}, {2}),   f32({1, 4, 1}, w),       f32({1, 4, 1}, {1, 2, 3, 4}), Value(), Value(),
      f32({1, 1, 1}, {0.5}), f32({1, 1, 1}, {-0.25}), f32({1, 3}, {0.7, 0.8, 0.9})};
  const double in = sigmoid(0.2 + 0.5 + 0.7 * -0.25);
  const double forget = sigmoid(0.6 + 1.5 + 0.9 * -0.25);
  const double cell = forget * -0.25 + in * std::tanh(0.8 + 2.0);
  const double out = sigmoid(0.4 + 1.0 + 0.8 * cell);
  const auto found = results(kLstm, LstmAttrs{plain({"Sigmoid", "Tanh", "Tanh"})}, inputs, 3);
  EXPECT_NEAR(found[0][0], out * std::tanh(cell), 1e-7);
  EXPECT_EQ(found[1], found[0]);
  EXPECT_NEAR(found[2][0], cell, 1e-7);
}

TEST(Gru, ResetBeforeOrAfterTheProduct) {
  const std::vector<Value> inputs = {f32({1, 1, 1}, {2}),
                                     f32({1, 3, 1}, {0.1, 0.2, 0.3}),
                                     f32({1, 3, 1}, {1, 2, 3}),
                                     f32({1, 6}, {0.01, 0.02, 0.03, 0.04, 0.05, 0.06}),
                                     Value(),
                                     f32({1, 1, 1}, {0.5})};
  const double update = sigmoid(0.2 + 0.5 + 0.01 + 0.04);
  const double reset = sigmoid(0.4 + 1.0 + 0.02 + 0.05);
  const double before = std::tanh(0.6 + 3 * reset * 0.5 + 0.03 + 0.06);
  const double after = std::tanh(0.6 + 0.03 + reset * (1.5 + 0.06));
  GruAttrs attrs{plain({"Sigmoid", "Tanh"})};
  EXPECT_NEAR(results(kGru, attrs, inputs, 1)[0][0], (1 - update) * before + update * 0.5, 1e-7);
  attrs.linear_before_reset = true;
  EXPECT_NEAR(results(kGru, attrs, inputs, 1)[0][0], (1 - update) * after + update * 0.5, 1e-7);
}

TEST(Rnn, ShapesAndConstraints) {
  const Dim s = Dim::symbol("s");
  RnnAttrs attrs = plain({"Tanh", "Tanh"});
  attrs.direction = RnnDirection::Both;
  const std::vector<Type> types = {Type(DType::F32, {s, 2, 3}), Type(DType::F32, {2, 4, 3}),
                                   Type(DType::F32, {2, 4, 4})};
  EXPECT_EQ(infer(kRnn, attrs, types, {}, 2), "f32[s, 2, 2, 4]; f32[2, 2, 4]");
  attrs.batch_first = true;
  EXPECT_EQ(infer(kRnn, attrs, types, {}, 2), "f32[s, 2, 2, 4]; f32[s, 2, 4]");
  EXPECT_EQ(infer(kRnn, attrs, {types[0], types[2], types[2]}, {}, 2),
            "error: (C2) operand 1 is [2, 4, 4], not [2, 4, 3]");
  EXPECT_EQ(infer(kRnn, plain({"Cosine"}), types), "error: (C3) activation 'Cosine'");
}

}  // namespace
}  // namespace strop::ops
