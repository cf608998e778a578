#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ir/test_operators.h"

namespace strop::ir {
namespace {

using testing::ElementsAre;

Tensor floats(std::vector<float> values) {
  return Tensor::of<float>(DType::F32, {static_cast<int64_t>(values.size())}, values);
}

Result<std::vector<Value>> run(std::string_view text, std::vector<Value> inputs, const InterpretOptions& options = {}) {
  const auto graph = parse_text(text, test_operators());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  SingleThread threads;
  return interpret(**graph, std::move(inputs), threads, options);
}

std::vector<double> only(const Result<std::vector<Value>>& results) {
  EXPECT_TRUE(results.ok()) << results.error().message;
  return load_f64((*results)[0].tensor());
}

TEST(Interpret, EvaluatesInOrder) {
  EXPECT_THAT(only(run(R"(graph "g" (x: f32[n]) -> (y = %1) {
  %w = constant f32[2] {10, 20}
  %0 = Minus(%x) : f32[n]
  %1 = Plus(%w, %0) : f32[2]
})",
                       {floats({1, 2})})),
              ElementsAre(9, 18));
}

TEST(Interpret, InputsAndConstantsMayBeOutputs) {
  const auto results = run(R"(graph "g" (x: f32[n]) -> (a = %x, b = %x, c = %w) {
  %w = constant f32[1] {5}
})",
                           {floats({1})});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->size(), 3u);
  EXPECT_THAT(load_f64((*results)[1].tensor()), ElementsAre(1));
  EXPECT_THAT(load_f64((*results)[2].tensor()), ElementsAre(5));
}

TEST(Interpret, BindsSymbolsOfInputsAndOfDataInAttributes) {
  EXPECT_THAT(only(run(R"(graph "g" (x: f32[n]) -> (y = %2) {
  %0 = Positive(%x) : f32[?0.0]
  %1 = Fill() {dims=[?0.0]} : f32[?0.0]
  %2 = Plus(%0, %1) : f32[?0.0]
})",
                       {floats({1, -2, 3})})),
              ElementsAre(2, 4));
}

TEST(Interpret, LateFieldsComeFromOperands) {
  EXPECT_THAT(only(run(R"(graph "g" (dims: i64[1]) -> (y = %0) {
  %0 = Fill(%dims) {value=3} late(dims=operand 0) : f32[*]
})",
                       {Tensor::of_i64({2})})),
              ElementsAre(3, 3));
}

TEST(Interpret, RegionsSeeOuterSymbolsAndRunOnlyWhenChosen) {
  constexpr std::string_view kText = R"(graph "g" (c: bool[], x: f32[n]) -> (y = %y) {
  %y = Branch(%c, %x) : f32[n]
    region "then" (a: f32[n]) -> (r = %0) {
      %0 = Minus(%a) : f32[n]
    }
    region "else" (a: f32[n]) -> (r = %0) {
      %0 = Fill() {dims=[n]} : f32[n]
    }
})";
  minus_calls() = 0;
  EXPECT_THAT(only(run(kText, {Tensor::scalar(DType::Bool, 0), floats({1, 2})})), ElementsAre(1, 1));
  EXPECT_EQ(minus_calls(), 0);
  EXPECT_THAT(only(run(kText, {Tensor::scalar(DType::Bool, 1), floats({1, 2})})), ElementsAre(-1, -2));
}

TEST(Interpret, LoopBodiesBindTheirSymbolsAfresh) {
  // Each round keeps the positive elements and adds -2: the length shrinks from round to round.
  EXPECT_THAT(only(run(R"(graph "g" (count: i64[], x: f32[4]) -> (y = %y) {
  %y = Repeat(%count, %x) : f32[*]
    region "body" (a: f32[*]) -> (r = %2) {
      %0 = Positive(%a) : f32[?0_0r0.0]
      %1 = Fill() {dims=[?0_0r0.0], value=-2} : f32[?0_0r0.0]
      %2 = Plus(%0, %1) : f32[?0_0r0.0]
    }
})",
                       {Tensor::scalar(DType::I64, 3), floats({1, 3, 5, 9})})),
              ElementsAre(-1, 3));
}

TEST(Interpret, InputErrorsNameTheInput) {
  constexpr std::string_view kText = R"(graph "net" (x: f32[n, 3], z: f32[n]) -> (y = %x) {
})";
  const auto message = [&](std::vector<Value> inputs) { return run(kText, std::move(inputs)).error().message; };
  EXPECT_EQ(message({Tensor(DType::F32, {2, 3})}), "1 inputs given, but 'net' has 2");
  EXPECT_EQ(message({Tensor(DType::F16, {2, 3}), Tensor(DType::F32, {2})}),
            "input 'x' (f32[n, 3]): the tensor given is f16[2, 3]");
  EXPECT_EQ(message({Tensor(DType::F32, {2, 4}), Tensor(DType::F32, {2})}),
            "input 'x' (f32[n, 3]): axis 1 is 4 in the tensor given, not 3");
  EXPECT_EQ(message({Tensor(DType::F32, {2}), Tensor(DType::F32, {2})}),
            "input 'x' (f32[n, 3]): the tensor given has rank 1: f32[2]");
  EXPECT_EQ(message({Tensor(DType::F32, {2, 3}), Tensor(DType::F32, {5})}),
            "input 'z' (f32[n]): axis 0 is 5 in the tensor given, but 'n' is 2 by another input or axis");
}

TEST(Interpret, FailuresNameTheNode) {
  const auto results = run(R"(graph "g" (x: f32[n], z: f32[m]) -> (y = %0) {
  %0 = Plus(%x, %z) from("add_1") : f32[n]
})",
                           {floats({1}), floats({1, 2})});
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().message, "node 'add_1' (Plus): 1 elements and 2");
}

TEST(Interpret, ObservesEveryNodeAndDropsDeadValues) {
  std::vector<std::weak_ptr<const void>> owners;
  std::vector<int> alive;
  const auto observe = [&](const Graph&, NodeId, const std::vector<Value>& values) {
    owners.push_back(values[0].tensor().owner());
    alive.push_back(
        static_cast<int>(std::count_if(owners.begin(), owners.end(), [](auto& p) { return !p.expired(); })));
  };
  InterpretOptions options;
  options.observe.emplace(observe);
  ASSERT_TRUE(run(R"(graph "g" (x: f32[2]) -> (y = %3) {
  %0 = Minus(%x) : f32[2]
  %1 = Minus(%0) : f32[2]
  %2 = Minus(%1) : f32[2]
  %3 = Minus(%2) : f32[2]
})",
                  {floats({1, 2})}, options)
                  .ok());
  EXPECT_THAT(alive, ElementsAre(1, 2, 2, 2));
}

}  // namespace
}  // namespace strop::ir
