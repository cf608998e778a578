/// Graphs written as text, lowered and run: for tests of the plan and the runtime.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/executor.h"
#include "tests/runtime/lowered.h"

namespace strop {

/// A lowered graph with an executor.
struct Machine {
  std::shared_ptr<ir::Graph> graph;
  compiler::LowerStats stats;
  std::shared_ptr<const runtime::Program> program;
  std::shared_ptr<Threads> threads;
  std::unique_ptr<runtime::Executor> executor;

  const plan::Block& block(size_t index = 0) const { return program->plan->blocks[index]; }

  /// Runs and expects what the interpreter gives; returns the outputs.
  std::vector<Value> run_and_compare(const std::vector<Value>& inputs, double limit = 1e-5) {
    std::vector<Value> outputs(graph->outputs.size());
    const auto ran = executor->run(inputs, outputs);
    EXPECT_TRUE(ran.ok()) << (ran.ok() ? "" : ran.error().message);
    const auto expected = ir::interpret(*graph, inputs, *threads);
    EXPECT_TRUE(expected.ok()) << (expected.ok() ? "" : expected.error().message);
    if (!ran.ok() || !expected.ok()) return outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].is_tensor()) continue;
      const Tensor& actual = outputs[i].tensor();
      const Tensor& reference = (*expected)[i].tensor();
      EXPECT_EQ(actual.dims(), reference.dims()) << "output " << i;
      EXPECT_EQ(actual.dtype(), reference.dtype()) << "output " << i;
      if (actual.dims() != reference.dims()) continue;
      const std::vector<double> a = load_f64(actual);
      const std::vector<double> b = load_f64(reference);
      for (size_t k = 0; k < a.size(); ++k)
        EXPECT_NEAR(a[k], b[k], limit * std::max(1.0, std::abs(b[k]))) << "output " << i << ", element " << k;
    }
    return outputs;
  }
};

inline Machine make_machine(const std::string& text, const std::string& route_text = "",
                            runtime::ExecutorOptions options = {}) {
  Machine machine;
  auto graph = ir::parse_text(text, ops::builtin_operators());
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  machine.graph = *graph;
  Route route(compiler::compiler_knobs());
  route.parse(route_text).value();
  const auto plan = lowered(*machine.graph, route);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  machine.stats = plan->stats;
  machine.program = runtime::make_program(std::make_shared<const plan::Plan>(plan->plan), plan->weights,
                                          ops::builtin_operators(), tactics::builtin_cpu_tactics())
                        .value();
  machine.threads = make_thread_pool(2);
  machine.executor = std::make_unique<runtime::Executor>(machine.program, machine.threads, options);
  return machine;
}

inline Tensor random_f32(std::vector<int64_t> dims, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::F32, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.mutable_data<float>()[i] = normal(random);
  return tensor;
}

}  // namespace strop
