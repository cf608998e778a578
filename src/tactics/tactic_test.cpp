#include "tactics/tactic.h"

#include <gtest/gtest.h>

namespace strop::tactics {
namespace {

const ops::Operator kDouble{
    .name = "TestDouble",
    .infer = [](ops::InferContext& ctx) -> Result<void> {
      ctx.outputs[0] = ctx.inputs[0];
      return {};
    },
    .evaluate = [](ops::EvalContext& ctx) -> Result<void> {
      auto values = load_f64(ctx.in(0));
      for (double& value : values) value *= 2;
      ctx.outputs[0] = store_f64(ctx.in(0).dtype(), ctx.in(0).dims(), values);
      return {};
    },
};

const Tactic kTactic{
    .name = "TestDouble.cpu.twice",
    .op = "TestDouble",
    .why_not = [](const Problem&) { return std::optional<std::string>(); },
    .prepare = [](const PrepareArgs& args) -> Result<std::unique_ptr<Launch>> {
      return make_reference_launch(args.problem);
    },
};

Problem problem_of(DType dtype, Dims dims) {
  Problem problem;
  problem.op = &kDouble;
  problem.inputs = {Type(dtype, dims)};
  problem.outputs = {Type(dtype, dims)};
  return problem;
}

TEST(Config, TextReadsBack) {
  const auto config = Config::parse("mr=6,nc=-1024");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->get("mr", 0), 6);
  EXPECT_EQ(config->get("nc", 0), -1024);
  EXPECT_EQ(config->get("kc", 7), 7);
  EXPECT_EQ(config->to_string(), "mr=6,nc=-1024");
  EXPECT_EQ(Config::parse("")->to_string(), "");
  for (const char* text : {"mr", "mr=", "=3", "mr=x", "mr=3x"}) EXPECT_FALSE(Config::parse(text).ok()) << text;
}

TEST(TacticList, FindsByNameAndOperator) {
  TacticList list;
  const Tactic* all[] = {&kTactic};
  list.add(all);
  EXPECT_EQ(list.find("TestDouble.cpu.twice"), &kTactic);
  EXPECT_EQ(list.for_op("TestDouble", DeviceKind::Cpu).size(), 1u);
  EXPECT_TRUE(list.for_op("TestDouble", DeviceKind::Cuda).empty());
  EXPECT_THROW(list.add(all), Bug);
}

TEST(ReferenceLaunch, WritesTheCallersBuffersAndHonoursPitch) {
  const auto launch = make_reference_launch(problem_of(DType::F32, {2, 3}));
  const float in[8] = {1, 2, 3, -1, 4, 5, 6, -1};
  float out[10] = {0, 0, 0, 9, 9, 0, 0, 0, 9, 9};
  SingleThread threads;
  const Buffer inputs[] = {{const_cast<float*>(in), 4}};
  const Buffer outputs[] = {{out, 5}};
  ASSERT_TRUE(launch->run({inputs, outputs, nullptr, threads}).ok());
  const float expected[10] = {2, 4, 6, 9, 9, 8, 10, 12, 9, 9};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

TEST(ReferenceLaunch, InPlaceAndScalars) {
  SingleThread threads;
  float value = 3;
  const Buffer buffer[] = {{&value, 0}};
  ASSERT_TRUE(make_reference_launch(problem_of(DType::F32, {}))->run({buffer, buffer, nullptr, threads}).ok());
  EXPECT_EQ(value, 6);
  const Buffer nothing[] = {{nullptr, 0}};
  EXPECT_TRUE(make_reference_launch(problem_of(DType::F32, {0, 3}))->run({nothing, nothing, nullptr, threads}).ok());
}

}  // namespace
}  // namespace strop::tactics
