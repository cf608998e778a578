#include "passes/pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph.h"

namespace strop::passes {
namespace {

using testing::ElementsAre;

constexpr std::string_view kText = R"(graph "g" (x: f32[b, 4]) -> (y = %y) {
  %t = Transpose(%x) {perm=[1, 0]} from("first") : f32[4, b]
  %y = Transpose(%t) {perm=[1, 0]} from("second") : f32[b, 4]
})";

constexpr Knob<bool> kSwitch{{.name = "passes.test", .help = "for tests"}};

int calls = 0;  // PassFunction is a plain function
Result<bool> always_changes(ir::Graph&, const PassContext&) { return ++calls, true; }
Result<bool> never_changes(ir::Graph&, const PassContext&) { return ++calls, false; }
Result<bool> breaks_a_type(ir::Graph& graph, const PassContext&) {
  graph.value(graph.outputs[0].value).type = Type(DType::F16, {Dim::symbol("b"), 4});
  return true;
}
Result<bool> fails(ir::Graph&, const PassContext&) { return error(ErrorCode::InvalidModel, "node 'n': no"); }

const Pass kAlways = {"always", "", always_changes, nullptr};
const Pass kNever = {"never", "", never_changes, nullptr};
const Pass kSwitched = {"switched", "", always_changes, &kSwitch};
const Pass kBreaks = {"breaks", "", breaks_a_type, nullptr};
const Pass kFails = {"fails", "", fails, nullptr};

class PassRunner : public testing::Test {
 protected:
  PassRunner() : graph_(ir::parse_text(kText, ops::builtin_operators()).value()) { calls = 0; }

  Result<std::vector<PassReport>> run(const std::vector<Stage>& stages, const RunPassesOptions& options = {}) {
    SingleThread threads;
    return run_passes(*graph_, stages, {route_, ops::builtin_operators(), threads}, options);
  }

  std::shared_ptr<ir::Graph> graph_;
  Route route_{KnobList({&kSwitch.info})};
};

TEST_F(PassRunner, RepeatsAStageUntilNothingChangesOrTheBoundIsMet) {
  EXPECT_EQ(run({{{&kAlways, &kNever}, 3}})->size(), 6u);
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(run({{{&kNever}, 3}})->size(), 1u);
}

TEST_F(PassRunner, ObeysTheSwitch) {
  ASSERT_TRUE(route_.set("passes.test", "off").ok());
  const auto reports = run({{{&kSwitched}, 5}});
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(reports->size(), 1u);
  EXPECT_FALSE((*reports)[0].ran);
  EXPECT_FALSE((*reports)[0].changed);
  EXPECT_EQ((*reports)[0].nodes_after, 2);
}

TEST_F(PassRunner, TellsOfChangesOnly) {
  std::vector<std::string> seen;
  RunPassesOptions options;
  options.on_change = [&](const Pass& pass, const ir::Graph&) { seen.emplace_back(pass.name); };
  ASSERT_TRUE(run({{{&kNever, &kAlways}, 1}}, options).ok());
  EXPECT_THAT(seen, ElementsAre("always"));
}

TEST_F(PassRunner, ABrokenGraphNamesPassAndNode) {
  const auto reports = run({{{&kBreaks}, 1}});
  ASSERT_FALSE(reports.ok());
  EXPECT_EQ(reports.error().code, ErrorCode::Internal);
  EXPECT_EQ(reports.error().message,
            "pass breaks: node 'second' (Transpose): output 0 is f16[b, 4], but inference gives f32[b, 4]");
}

TEST_F(PassRunner, APassThatFailsKeepsItsError) {
  const auto reports = run({{{&kFails}, 1}});
  ASSERT_FALSE(reports.ok());
  EXPECT_EQ(reports.error().code, ErrorCode::InvalidModel);
  EXPECT_EQ(reports.error().message, "node 'n': no");  // the pass does not matter to the model's author
}

TEST(Pipeline, HasEveryPassOnceInTheListAndItsKnobsAreUnique) {
  const KnobList knobs(pass_knobs());  // a name given twice is a bug
  EXPECT_TRUE(knobs.find("passes.fold_constants").has_value());
  EXPECT_TRUE(knobs.find("passes.fold_growth").has_value());
}

}  // namespace
}  // namespace strop::passes
