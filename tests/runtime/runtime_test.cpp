// Lowering and running small graphs, compared with the interpreter: storage of values, dynamic shapes, regions,
// messages.
#include "tests/runtime/fixture.h"

namespace strop {
namespace {

const char* const kChain = R"(graph "g" (x: f32[n, 6]) -> (y = %y) {
  %w = constant f32[6, 2] {1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6}
  %a = MatMul(%x, %w) : f32[n, 2]
  %b = Pointwise(%a) {program=(x0: f32) { v1 = Sigmoid(x0) } -> v1} : f32[n, 2]
  %c = Pointwise(%b) {program=(x0: f32) { v1 = Neg(x0) } -> v1} : f32[n, 2]
  %y = Reshape(%c) {shape=[2*n]} : f32[2*n]
}
)";

TEST(Runtime, ADynamicGraphRunsAtEveryShape) {
  Machine machine = make_machine(kChain);
  for (const int64_t n : {3, 1, 17, 3, 0}) machine.run_and_compare({random_f32({n, 6})});
}

TEST(Runtime, PlansAreKeptUpToTheLimit) {
  Machine machine = make_machine(kChain, "", {.max_cached_shapes = 2});
  for (int64_t n = 1; n < 6; ++n) machine.run_and_compare({random_f32({n, 6})});
  EXPECT_EQ(machine.executor->memory().shapes_cached, 2);
}

TEST(Runtime, AStepOverwritesAnOperandThatIsReadForTheLastTime) {
  Machine machine = make_machine(kChain);
  EXPECT_GE(machine.stats.in_place, 1);
  machine.run_and_compare({random_f32({5, 6})});
  Machine without = make_machine(kChain, "plan.in_place=off");
  EXPECT_EQ(without.stats.in_place, 0);
  without.run_and_compare({random_f32({5, 6})});
}

TEST(Runtime, AnOperandThatIsReadAgainIsNotOverwritten) {
  Machine machine = make_machine(R"(graph "g" (x: f32[4]) -> (y = %y) {
  %a = Pointwise(%x) {program=(x0: f32) { v1 = Exp(x0) } -> v1} : f32[4]
  %b = Pointwise(%a) {program=(x0: f32) { v1 = Neg(x0) } -> v1} : f32[4]
  %c = Pointwise(%b) {program=(x0: f32) { v1 = Abs(x0) } -> v1} : f32[4]
  %y = Pointwise(%a, %c) {program=(x0: f32, x1: f32) { v2 = Sub(x0, x1) } -> v2} : f32[4]
}
)");
  machine.run_and_compare({random_f32({4})});
}

TEST(Runtime, ProducersWriteIntoAConcatenation) {
  const char* const text = R"(graph "g" (x: f32[1, 4, 3], z: f32[1, 2, 3]) -> (y = %y) {
  %a = Pointwise(%x) {program=(x0: f32) { v1 = Exp(x0) } -> v1} : f32[1, 4, 3]
  %b = Pointwise(%x) {program=(x0: f32) { v1 = Neg(x0) } -> v1} : f32[1, 4, 3]
  %c = Concat(%a, %z, %b) {axis=1} : f32[1, 10, 3]
  %d = Concat(%c, %a) {axis=1} : f32[1, 14, 3]
  %y = Pointwise(%d) {program=(x0: f32) { v1 = Tanh(x0) } -> v1} : f32[1, 14, 3]
}
)";
  Machine machine = make_machine(text);
  EXPECT_GE(machine.stats.views, 3);
  machine.run_and_compare({random_f32({1, 4, 3}), random_f32({1, 2, 3}, 2)});
  Machine without = make_machine(text, "plan.concat_views=off");
  EXPECT_EQ(without.stats.views, 0);
  without.run_and_compare({random_f32({1, 4, 3}), random_f32({1, 2, 3}, 2)});
}

TEST(Runtime, OutputsMayBeInputsConstantsViewsAndEachOther) {
  Machine machine =
      make_machine(R"(graph "g" (x: f32[2, 3]) -> (same = %x, constant = %k, first = %a, second = %a, flat = %f) {
  %k = constant f32[2] {1.5, -2}
  %a = Pointwise(%x) {program=(x0: f32) { v1 = Abs(x0) } -> v1} : f32[2, 3]
  %f = Reshape(%a) {shape=[6]} : f32[6]
}
)");
  const Value x = random_f32({2, 3});
  const auto outputs = machine.run_and_compare({x});
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_NE(outputs[i].tensor().raw(), x.tensor().raw());
    for (size_t k = 0; k < i; ++k) EXPECT_NE(outputs[i].tensor().raw(), outputs[k].tensor().raw());
  }
}

TEST(Runtime, TheCallersBufferIsWrittenDirectly) {
  Machine machine = make_machine(kChain);
  const std::vector<Value> inputs = {random_f32({4, 6})};
  const Tensor mine(DType::F32, {8});
  std::vector<Value> outputs = {mine};
  ASSERT_TRUE(machine.executor->run(inputs, outputs).ok());
  EXPECT_EQ(outputs[0].tensor().raw(), mine.raw());
  const auto expected = ir::interpret(*machine.graph, inputs, *machine.threads).value();
  EXPECT_NEAR(mine.data<float>()[5], expected[0].tensor().data<float>()[5], 1e-6);
}

TEST(Runtime, AnOutputBufferMustNotOverlapAnInput) {
  Machine machine = make_machine(R"(graph "g" (x: f32[4]) -> (y = %y) {
  %y = Pointwise(%x) {program=(x0: f32) { v1 = Abs(x0) } -> v1} : f32[4]
}
)");
  const Tensor memory(DType::F32, {8});
  const std::vector<Value> inputs = {Tensor::borrow(DType::F32, {4}, memory.mutable_data<float>())};
  std::vector<Value> outputs = {Tensor::borrow(DType::F32, {4}, memory.mutable_data<float>() + 2)};
  const auto result = machine.executor->run(inputs, outputs);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "the buffer of output 'y' overlaps an input");
}

std::string message(Machine& machine, std::vector<Value> inputs) {
  std::vector<Value> outputs(machine.graph->outputs.size());
  const auto result = machine.executor->run(inputs, outputs);
  return result.ok() ? "" : result.error().message;
}

TEST(Runtime, WrongInputsAreNamed) {
  Machine machine = make_machine(R"(graph "g" (a: f32[n, 2], b: f32[n]) -> (y = %y) {
  %r = Reduce(%a) {kind="sum", axes=[1], keep_dims=false} : f32[n]
  %y = Pointwise(%r, %b) {program=(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2} : f32[n]
}
)");
  EXPECT_EQ(message(machine, {random_f32({3, 2})}), "1 inputs were given, the engine takes 2");
  EXPECT_EQ(message(machine, {random_f32({3, 2}), Tensor(DType::F64, {3})}),
            "input 'b' has type f64, the engine takes f32");
  EXPECT_EQ(message(machine, {random_f32({3, 4}), random_f32({3})}),
            "input 'a' has shape [3, 4], the engine takes [n (here 3), 2]");
  EXPECT_EQ(message(machine, {random_f32({3, 2}), random_f32({4})}),
            "input 'b' has shape [4], the engine takes [n (here 3)]");
  EXPECT_EQ(message(machine, {random_f32({3, 2}), random_f32({3, 1})}),
            "input 'b' has shape [3, 1], the engine takes [n (here 3)]");
  EXPECT_EQ(message(machine, {random_f32({3, 2}), random_f32({3})}), "");
}

// A reshape is a view and has no step that would object.
TEST(Runtime, AReshapeOfAnotherNumberOfElementsIsRefused) {
  Machine machine = make_machine(R"(graph "g" (x: f32[n, 4]) -> (y = %y) {
  %t = Reshape(%x) {shape=[2, 2]} : f32[2, 2]
  %y = Pointwise(%t) {program=(x0: f32) { v1 = Tanh(x0) } -> v1} : f32[2, 2]
})");
  machine.run_and_compare({random_f32({1, 4})});
  std::vector<Value> y(1);
  for (const int64_t n : {3, 0}) {
    const auto ran = machine.executor->run(std::vector<Value>{random_f32({n, 4})}, y);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(ran.error().message,
              fmt::format("at these input shapes 't' would have shape [2, 2], made of [{}, 4]", n));
  }
}

TEST(Runtime, AReshapeThatIsAnOutputIsRefusedToo) {
  Machine machine = make_machine(R"(graph "g" (x: f32[n, 4]) -> (y = %y) {
  %y = Reshape(%x) {shape=[1, 4]} : f32[1, 4]
})");
  machine.run_and_compare({random_f32({1, 4})});
  std::vector<Value> y(1);
  const auto ran = machine.executor->run(std::vector<Value>{random_f32({3, 4})}, y);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().message, "at these input shapes 'y' would have shape [1, 4], made of [3, 4]");
}

// Operands that are written where the result lies would have no step either.
TEST(Runtime, AConcatenationOfOperandsThatDoNotFitIsRefused) {
  Machine machine = make_machine(R"(graph "g" (x: f32[a, b], z: f32[c, d]) -> (y = %y) {
  %y = Concat(%x, %z) {axis=0} : f32[a + c, b]
})");
  machine.run_and_compare({random_f32({3, 9}), random_f32({2, 9})});
  std::vector<Value> y(1);
  for (const int64_t columns : {1, 10}) {
    const std::vector<Value> inputs = {random_f32({3, 9}), random_f32({2, columns})};
    const auto ran = machine.executor->run(inputs, y);
    ASSERT_FALSE(ran.ok()) << columns;
    EXPECT_NE(ran.error().message.find("(C3) operand 1"), std::string::npos) << ran.error().message;
  }
}

TEST(Runtime, SizesThatOnlyTheDataTell) {
  Machine machine = make_machine(R"(graph "g" (x: f32[n]) -> (y = %y) {
  %i = NonZero(%x) : i64[1, ?0.0]
  %f = Reshape(%i) {shape=[?0.0]} : i64[?0.0]
  %t = Gather(%x, %f) : f32[?0.0]
  %y = Pointwise(%t) {program=(x0: f32) { v1 = Neg(x0) } -> v1} : f32[?0.0]
}
)");
  Tensor x = random_f32({6});
  x.mutable_data<float>()[2] = 0;
  EXPECT_EQ(machine.run_and_compare({x})[0].tensor().dims(), std::vector<int64_t>{5});
  x.mutable_data<float>()[4] = 0;
  EXPECT_EQ(machine.run_and_compare({x})[0].tensor().dims(), std::vector<int64_t>{4});
}

TEST(Runtime, AResultMadeAtRunTimeGoesIntoTheCallersBuffer) {
  Machine machine = make_machine(R"(graph "g" (x: f32[n]) -> (y = %i) {
  %i = NonZero(%x) : i64[1, ?0.0]
}
)");
  const Tensor mine(DType::I64, {1, 4});
  std::vector<Value> outputs = {mine};
  ASSERT_TRUE(machine.executor->run(std::vector<Value>{random_f32({4})}, outputs).ok());
  EXPECT_EQ(outputs[0].tensor().raw(), mine.raw());
  EXPECT_EQ(mine.data<int64_t>()[3], 3);
}

TEST(Runtime, CancellingEndsARun) {
  runtime::ExecutorOptions options;
  Machine machine = make_machine(kChain, "", options);
  options.cancel.cancel();
  EXPECT_EQ(message(machine, {random_f32({3, 6})}), "cancelled");
}

TEST(Runtime, ArenaStaysNearItsLowerBound) {
  Machine machine = make_machine(kChain, "plan.in_place=off");
  machine.run_and_compare({random_f32({100, 6})});
  const runtime::MemoryReport memory = machine.executor->memory();
  EXPECT_EQ(memory.lower_bound_bytes, 2 * 832);  // two neighbours of 100 x 2 floats, rounded up to 64 bytes
  EXPECT_EQ(memory.arena_bytes, memory.lower_bound_bytes);
}

}  // namespace
}  // namespace strop
