#include "ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/test_operators.h"
#include "ir/type_order.h"

namespace strop::ir {
namespace {

using testing::HasSubstr;

std::shared_ptr<Graph> parse(std::string_view text) { return parse_text(text, test_operators()).value(); }

Graph::NewNode node(std::string_view op, std::vector<ValueId> inputs) {
  Graph::NewNode made;
  made.op = test_operators().find(op);
  made.attrs = made.op->make_attrs();
  made.inputs = std::move(inputs);
  made.sources = {"source of " + std::string(op)};
  return made;
}

TEST(Graph, AddInfersOrLeavesNoTrace) {
  Graph graph;
  const ValueId x = graph.add_input("x", Type(DType::F32, {Dim::symbol("n")}));
  const ValueId k = graph.add_constant(Tensor::of_i64({1, 2}));
  EXPECT_EQ(graph.value(k).known, to_dims({1, 2}));
  const ValueId y = graph.add(node("Minus", {x})).value();
  EXPECT_EQ(to_string(graph.value(y).type), "f32[n]");
  const size_t values = graph.value_count();
  const auto failed = graph.add(node("Plus", {x, k}));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "(C1) operands are f32 and i64");
  EXPECT_EQ(graph.value_count(), values);
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST(Graph, LateFieldsWithKnownContentsAreSeenByInference) {
  Graph graph;
  graph.add_input("shape", Type(DType::I64, {2}));
  graph.value(graph.inputs[0].value).known = Dims{Dim::symbol("b"), Dim(3)};
  auto fill = node("Fill", {graph.inputs[0].value});
  fill.late = {{"dims", 0}};
  const ValueId y = graph.add(fill).value();
  EXPECT_EQ(to_string(graph.value(y).type), "f32[b, 3]");
}

TEST(Graph, UnbackedSymbolsAreStableAndDistinct) {
  Graph graph;
  const ValueId x = graph.add_input("x", Type(DType::F32, {8}));
  const ValueId a = graph.add(node("Positive", {x})).value();
  const ValueId b = graph.add(node("Positive", {x})).value();
  EXPECT_FALSE(graph.value(a).type == graph.value(b).type);
  EXPECT_FALSE(graph.reinfer_all().value());
  const std::string fresh = graph.next_unbacked();
  EXPECT_NE(fresh, graph.next_unbacked());
}

TEST(Graph, ReplaceUsesReachesOutputsAndKeepsTheMoreSpecificType) {
  auto graph = parse(R"(graph "g" (x: f32[n], z: f32[*]) -> (y = %a) {
  %a = Minus(%x) : f32[4]
  %b = Minus(%z) : f32[*]
})");
  const ValueId a = graph->outputs[0].value;
  const ValueId b = graph->node(graph->order()[1]).outputs[0];
  graph->value(b).name.clear();
  graph->replace_uses(a, b);
  EXPECT_EQ(graph->outputs[0].value, b);
  EXPECT_EQ(to_string(graph->value(b).type), "f32[4]");
  EXPECT_EQ(graph->value(b).name, "a");
}

TEST(Graph, SortPullsLateProducersForwardAndCompactRenumbers) {
  auto graph = parse(R"(graph "g" (x: f32[2]) -> (y = %b) {
  %dead = Minus(%x) : f32[2]
  %a = Minus(%x) : f32[2]
  %b = Plus(%a, %a) : f32[2]
})");
  const ValueId extra = graph->add(node("Minus", {graph->node(graph->order()[1]).outputs[0]})).value();
  graph->node(graph->order()[2]).inputs[1] = extra;
  EXPECT_FALSE(verify(*graph).ok());
  graph->sort();
  graph->erase(graph->order()[0]);
  graph->compact();
  ASSERT_TRUE(verify(*graph).ok()) << verify(*graph).error().message;
  EXPECT_EQ(graph->node_count(), 3u);
  EXPECT_EQ(to_text(*graph), R"(graph "g" (x: f32[2]) -> (y = %b) {
  %a = Minus(%x) : f32[2]
  %0 = Minus(%a) : f32[2]
  %b = Plus(%a, %0) : f32[2]
}
)");
}

TEST(Graph, RegionParametersWidenUntilTheyHold) {
  auto graph = parse(R"(graph "g" (count: i64[], x: f32[4]) -> (y = %y) {
  %y = Repeat(%count, %x) : f32[*]
    region "body" (a: f32[*]) -> (r = %0) {
      %0 = Positive(%a) : f32[?0_0r0.0]
    }
})");
  const Graph& body = *graph->node(graph->order()[0]).regions[0];
  EXPECT_EQ(to_string(body.value(body.inputs[0].value).type), "f32[*]");
  EXPECT_EQ(to_string(graph->value(graph->outputs[0].value).type), "f32[*]");
}

TEST(Graph, CloneSharesNothingThatChanges) {
  auto graph = parse(R"(graph "g" (count: i64[], x: f32[4]) -> (y = %y) {
  %y = Repeat(%count, %x) : f32[4]
    region "body" (a: f32[4]) -> (r = %0) {
      %0 = Minus(%a) : f32[4]
    }
})");
  const auto copy = graph->clone();
  Graph& body = *copy->node(copy->order()[0]).regions[0];
  body.value(body.inputs[0].value).name = "renamed";
  body.inputs[0].name = "renamed";
  EXPECT_THAT(to_text(*copy), HasSubstr("renamed"));
  EXPECT_THAT(to_text(*graph), testing::Not(HasSubstr("renamed")));
}

TEST(Verify, NamesTheNodeThatIsWrong) {
  auto graph = parse(R"(graph "g" (x: f32[2]) -> (y = %b) {
  %a = Minus(%x) from("first") : f32[2]
  %b = Plus(%a, %a) from("second") : f32[2]
})");
  const NodeId first = graph->order()[0];
  const NodeId second = graph->order()[1];
  {
    auto broken = graph->clone();
    broken->erase(first);
    EXPECT_EQ(verify(*broken).error().message, "node 'second' (Plus): operand 'a' (1) is computed by no live node");
  }
  {
    auto broken = graph->clone();
    broken->value(broken->node(second).outputs[0]).type = Type(DType::F32, {3});
    EXPECT_EQ(verify(*broken).error().message, "node 'second' (Plus): output 0 is f32[3], but inference gives f32[2]");
  }
  {
    auto broken = graph->clone();
    broken->node(first).inputs[0] = broken->node(second).outputs[0];
    EXPECT_EQ(verify(*broken).error().message,
              "node 'first' (Minus) stands before node 'second' (Plus), whose result it uses");
  }
  {
    auto broken = graph->clone();
    broken->node(first).late = {{"dims", 0}};
    EXPECT_EQ(verify(*broken).error().message, "node 'first' (Minus): no field 'dims' can be late");
  }
}

TEST(TypeOrder, ConstantsBeatSymbolsAndSymbolsBeatUnbacked) {
  const auto type = [](std::string_view text) { return parse_type(text).value(); };
  EXPECT_EQ(to_string(more_specific(type("f32[?a, n, 3]"), type("f32[n, 4, m]"))), "f32[n, 4, 3]");
  EXPECT_EQ(to_string(more_specific(type("f32[*]"), type("f32[n]"))), "f32[n]");
  EXPECT_EQ(to_string(more_specific(type("seq(f32[*])"), type("seq(f32[2])"))), "seq(f32[2])");
  EXPECT_FALSE(compatible(type("f32[2]"), type("f32[3]")));
  EXPECT_FALSE(compatible(type("f32[2]"), type("f16[2]")));
  EXPECT_FALSE(compatible(type("f32[2]"), type("f32[2, 1]")));
  EXPECT_TRUE(compatible(type("f32[2]"), type("f32[n]")));
}

}  // namespace
}  // namespace strop::ir
