/// Small random graphs through all passes, lowered, chosen by estimate and run: what comes out is what the interpreter
/// makes of the graph as it was.
#include <gtest/gtest.h>

#include "base/check.h"
#include "passes/pass.h"
#include "passes/random_graph.h"
#include "tests/runtime/fixture.h"

namespace strop {
namespace {

constexpr uint32_t kGraphs = 400;

Result<std::vector<Value>> compile_and_run(const passes::RandomGraph& made, const Route& route) {
  SingleThread single;
  const auto graph = made.graph->clone();
  const passes::PassContext ctx{route, ops::builtin_operators(), single};
  STROP_TRY(passes::run_passes(*graph, passes::default_pipeline(), ctx));
  STROP_ASSIGN(auto plan, lowered(*graph, route));
  STROP_ASSIGN(const auto program,
               runtime::make_program(std::make_shared<const plan::Plan>(std::move(plan.plan)), plan.weights,
                                     ops::builtin_operators(), tactics::builtin_cpu_tactics()));
  runtime::Executor executor(program, make_thread_pool(1));
  std::vector<Value> outputs(graph->outputs.size());
  STROP_TRY(executor.run(made.inputs, outputs));
  return outputs;
}

/// What goes wrong with the graph, or nullopt.
std::optional<std::string> fault(const passes::RandomGraph& made, const std::vector<Value>& expected,
                                 const Route& route) {
  try {
    const auto actual = compile_and_run(made, route);
    if (!actual.ok()) return actual.error().message;
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto found = passes::difference(expected[i].tensor(), (*actual)[i].tensor());
      if (found) return fmt::format("{}: {}", made.graph->outputs[i].name, *found);
    }
  } catch (const Bug& bug) {
    return bug.what();
  }
  return std::nullopt;
}

TEST(RandomGraphs, RunAsTheInterpreterSays) {
  const Route route(compiler::compiler_knobs());
  SingleThread single;
  int failures = 0;
  for (uint32_t seed = 0; seed < kGraphs && failures < 5; ++seed) {
    const passes::RandomGraph made = passes::make_random_graph(seed);
    const auto expected = ir::interpret(*made.graph, made.inputs, single);
    if (!expected.ok()) continue;  // sizes that depend on "n" do not fit each other
    const auto found = fault(made, *expected, route);
    if (!found) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << *found << "\nfrom\n" << ir::to_text(*made.graph, {100, false});
  }
}

}  // namespace
}  // namespace strop
