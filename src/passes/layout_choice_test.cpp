// The channels_last pass with measured times: what is faster plain stays plain, if that pays for the transposes.
#include <gtest/gtest.h>

#include <functional>

#include "ir/graph.h"
#include "ops/conv/conv.h"
#include "passes/pass.h"

namespace strop::passes {

extern const Pass kChannelsLast;
extern const Pass kDeadCode;

namespace {

// Two convolutions with a normalisation between them that can be computed in either layout.
constexpr std::string_view kText = R"(graph "g" (x: f32[1, 8, 4, 4], w: f32[8], b: f32[8]) -> (y = %y) {
  %k = constant f32[8, 8, 1, 1] {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}
  %a = Conv(%x, %k) {strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]} from("first") : f32[1, 8, 4, 4]
  %n = GroupNorm(%a, %w, %b) {groups=2} from("norm") : f32[1, 8, 4, 4]
  %y = Conv(%n, %k) {strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]} from("second") : f32[1, 8, 4, 4]
})";

/// Times by a rule instead of a device.
class Scripted : public StepCosts {
 public:
  using Rule = std::function<std::optional<double>(const ir::Node&)>;
  explicit Scripted(Rule rule) : rule_(std::move(rule)) {}
  Result<std::optional<double>> time_us(const ir::Graph& graph, ir::NodeId id) override {
    return rule_(graph.node(id));
  }

 private:
  Rule rule_;
};

bool is_last(const ir::Node& node) {
  for (const ops::NamedField& field : node.attrs.fields()) {
    if (field.name == "channels_last" || field.name == "output_channels_last") return std::get<bool>(field.value);
  }
  return false;
}

/// Plain convolutions take 10 µs more than channels-last ones, a transpose `transpose_us`, the normalisation what is
/// given.
Scripted::Rule times(double transpose_us, double norm_plain_us, double norm_last_us) {
  return [=](const ir::Node& node) -> std::optional<double> {
    if (node.op == &ops::kConv) return is_last(node) ? 100 : 110;
    if (node.op->name == "Transpose") return transpose_us;
    return is_last(node) ? norm_last_us : norm_plain_us;
  };
}

class LayoutChoice : public testing::Test {
 protected:
  /// The live nodes' ONNX names, with "/last" where they compute channels-last, and "T" for transposes.
  std::string layouts(Scripted::Rule rule) {
    const auto graph = ir::parse_text(kText, ops::builtin_operators()).value();
    Scripted costs(std::move(rule));
    SingleThread threads;
    const auto reports =
        run_passes(*graph, {{{&kChannelsLast, &kDeadCode}}}, {route_, ops::builtin_operators(), threads, &costs});
    EXPECT_TRUE(reports.ok());
    const auto uses = graph->uses();
    std::string text;
    for (const ir::NodeId id : graph->order()) {
      const ir::Node& node = graph->node(id);
      if (uses[static_cast<size_t>(node.outputs[0])].empty()) continue;
      if (!text.empty()) text += ' ';
      text += node.op->name == "Transpose" ? "T" : node.sources[0] + (is_last(node) ? "/last" : "");
    }
    return text;
  }

  Route route_{KnobList(pass_knobs())};
};

TEST_F(LayoutChoice, EverythingIsLastWhereThatIsFaster) {
  EXPECT_EQ(layouts(times(1, 50, 50)), "T first/last norm/last second/last T");
}

TEST_F(LayoutChoice, ANodeStaysPlainIfItGainsMoreThanTwoTransposes) {
  EXPECT_EQ(layouts(times(3, 50, 80)), "T first/last T norm T second/last T");
}

TEST_F(LayoutChoice, ANodeGoesAlongIfItGainsLessThanTwoTransposes) {
  EXPECT_EQ(layouts(times(4, 50, 57)), "T first/last norm/last second/last T");
}

TEST_F(LayoutChoice, AllStayPlainIfTransposesCostMoreThanTheyBring) {
  EXPECT_EQ(layouts(times(60, 50, 50)), "first norm second");
}

TEST_F(LayoutChoice, AGainWithinTheNoiseIsNone) {
  // 311 µs and 308 µs.
  EXPECT_EQ(layouts(times(1, 54, 59)), "T first/last norm/last second/last T");
}

TEST_F(LayoutChoice, WithoutATimeTheRuleDecides) {
  EXPECT_EQ(layouts([](const ir::Node& node) {
              return node.op->name == "Transpose" ? std::nullopt : std::optional(is_last(node) ? 1000.0 : 1.0);
            }),
            "T first/last norm/last second/last T");
}

TEST_F(LayoutChoice, TheKnobDecidesByRule) {
  ASSERT_TRUE(route_.set("passes.channels_last.where", "always").ok());
  EXPECT_EQ(layouts(times(60, 50, 50)), "T first/last norm/last second/last T");
}

}  // namespace
}  // namespace strop::passes
