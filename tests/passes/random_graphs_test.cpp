/// All passes on three thousand small random graphs: none fails, and none changes what a graph computes.
#include <gtest/gtest.h>

#include <optional>

#include "base/check.h"
#include "ir/graph.h"
#include "passes/pass.h"
#include "passes/random_graph.h"

namespace strop::passes {
namespace {

constexpr uint32_t kGraphs = 3000;

/// What goes wrong with the graph, or nullopt.
std::optional<std::string> fault(const RandomGraph& made, const std::vector<Value>& expected, const PassContext& ctx) {
  const auto graph = made.graph->clone();
  try {
    const auto reports = run_passes(*graph, default_pipeline(), ctx);
    if (!reports.ok()) return reports.error().message;
  } catch (const Bug& bug) {
    return bug.what();
  }
  const auto actual = ir::interpret(*graph, made.inputs, ctx.threads);
  if (!actual.ok()) return actual.error().message;
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto found = difference(expected[i].tensor(), (*actual)[i].tensor());
    if (found) return fmt::format("{}: {}\nbecame\n{}", made.graph->outputs[i].name, *found, ir::to_text(*graph));
  }
  return std::nullopt;
}

TEST(RandomGraphs, MeanTheSameAfterAllPasses) {
  const Route route{KnobList(pass_knobs())};
  SingleThread threads;
  const PassContext ctx{route, ops::builtin_operators(), threads};
  int failures = 0;
  int legal = 0;
  for (uint32_t seed = 0; seed < kGraphs && failures < 5; ++seed) {
    const RandomGraph made = make_random_graph(seed);
    const auto expected = ir::interpret(*made.graph, made.inputs, threads);
    if (!expected.ok()) continue;  // sizes that depend on "n" do not fit each other
    ++legal;
    const auto found = fault(made, *expected, ctx);
    if (!found) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << *found << "\nfrom\n" << ir::to_text(*made.graph, {100, false});
  }
  EXPECT_GT(legal, kGraphs * 9 / 10);
}

}  // namespace
}  // namespace strop::passes
