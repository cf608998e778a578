#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/constant_text.h"
#include "ir/graph.h"
#include "ir/test_operators.h"

namespace strop::ir {
namespace {

using testing::HasSubstr;

std::shared_ptr<Graph> parse(std::string_view text) {
  auto graph = parse_text(text, test_operators());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *graph;
}

std::string parse_error(std::string_view text) {
  auto graph = parse_text(text, test_operators());
  EXPECT_FALSE(graph.ok());
  return graph.ok() ? "" : graph.error().message;
}

/// print(parse(text)) == text, and the graph is sound.
void expect_same(std::string_view text, const TextOptions& options = {}) {
  const auto graph = parse(text);
  EXPECT_EQ(to_text(*graph, options), text);
  const auto checked = verify(*graph);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

TEST(Text, ReadsBackWhatItPrints) {
  expect_same(R"ir(graph "main" (x: f32[batch, 3], "odd name:0": f32[batch, 3]) -> (y = %1, again = %x) {
  %0 = Plus(%x, %"odd name:0") : f32[batch, 3]
  %1 = Minus(%0) : f32[batch, 3]
  %w = constant f32[2] {0.1, -inf} origins("fc.weight", "fc.scale") recipe("transpose(1,0)")
  %unused = Minus(%w) : f32[2]
}
)ir");
}

TEST(Text, PrintsSourcesWhenAsked) {
  expect_same(R"ir(graph "" (x: f32[2]) -> (y = %"7") {
  %"7" = Minus(%x) from("conv1", "relu \"1\"") : f32[2]
}
)ir",
              {.sources = true});
}

TEST(Text, LateFieldsAndUnbackedDims) {
  expect_same(R"ir(graph "late" (x: f32[n], dims: i64[2]) -> (y = %1, z = %2, v = %3) {
  %0 = Positive(%x) : f32[?5.0]
  %1 = Minus(%0) : f32[?5.0]
  %2 = Fill(%dims) {value=2} late(dims=operand 0) : f32[*]
  %3 = Fill() {dims=[n, 2]} : f32[n, 2]
}
)ir");
}

TEST(Text, RegionsNest) {
  expect_same(R"ir(graph "outer" (c: bool[], x: f32[n]) -> (y = %y) {
  %y = Branch(%c, %x) : f32[*]
    region "then" (a: f32[n]) -> (r = %0) {
      %0 = Positive(%a) : f32[?0_0r0.0]
    }
    region "else" (a: f32[n]) -> (r = %k) {
      %k = constant f32[1] {4}
    }
}
)ir");
}

TEST(Text, ConstantsOfEveryKind) {
  expect_same(R"ir(graph "constants" () -> (a = %a, b = %b, c = %c, d = %d, e = %e, f = %f, g = %g, h = %h, i = %i) {
  %a = constant f16[2] {0.33325195, nan}
  %b = constant u64[1] {18446744073709551615}
  %c = constant bool[2] {true, false}
  %d = constant string[2] {"a, \"b\"", ""}
  %e = constant c64[1] {1, -2.5}
  %f = constant i4[3] {-8, 7, 0}
  %g = constant f64[] {1e-300}
  %h = constant i64[0] {}
  %i = constant f8e4m3fn[1, 1] {448}
}
)ir");
}

TEST(Text, LargeConstantsPrintAsDigestAndNeedTheTable) {
  Graph graph;
  graph.name = "big";
  graph.outputs.push_back({"y", graph.add_constant(Tensor(DType::F32, {5, 5}))});
  const std::string text = to_text(graph);
  const std::string digest = constant_digest(Tensor(DType::F32, {5, 5}));
  EXPECT_THAT(text, HasSubstr("%0 = constant f32[5, 5] " + digest));
  EXPECT_EQ(parse_error(text),
            "line 2: constant %0 is only a digest (" + digest + "); its tensor must be given with the text");
  auto again = parse_text(text, test_operators(), constant_table(graph));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_text(**again), text);
  EXPECT_EQ((*again)->constant_tensor((*again)->outputs[0].value)->count(), 25);
}

TEST(Text, DigestSeesTypeAndContents) {
  const auto of = [](DType dtype, std::vector<int64_t> dims) {
    return constant_digest(Tensor(dtype, std::move(dims)));
  };
  EXPECT_NE(of(DType::F32, {4, 5}), of(DType::F32, {5, 4}));
  EXPECT_NE(of(DType::F32, {4, 5}), of(DType::I32, {4, 5}));
  EXPECT_NE(constant_digest(Tensor::of_i64({1, 2})), constant_digest(Tensor::of_i64({2, 1})));
}

TEST(Text, CommentsAndSpacingAreFree) {
  const auto graph = parse("graph \"g\"(x:f32[2])->(y=%0) { # the input\n\n # nothing\n%0=Minus(%x):f32[2] # last\n}");
  EXPECT_EQ(to_text(*graph), "graph \"g\" (x: f32[2]) -> (y = %0) {\n  %0 = Minus(%x) : f32[2]\n}\n");
}

TEST(Text, ErrorsNameTheLine) {
  EXPECT_EQ(parse_error("graph \"g\" (x: f32[2]) -> (y = %0) {\n  %0 = Plop(%x) : f32[2]\n}"),
            "line 2: no operator 'Plop'");
  EXPECT_EQ(parse_error("graph \"g\" (x: f32[2]) -> (y = %0) {\n  %0 = Minus(%q) : f32[2]\n}"),
            "line 2: no value 'q' before this");
  EXPECT_EQ(parse_error("graph \"g\" (x: f32[2]) -> (y = %0) {\n  %0 = Minus(%x) : f32[3]\n}"),
            "line 2: result 0 of Minus is f32[2], not f32[3]");
  EXPECT_EQ(parse_error("graph \"g\" (x: f32[2]) -> (y = %0) {\n  %0 = Fill() {size=3} : f32[3]\n}"),
            "line 2: Fill: there is no attribute 'size'");
  EXPECT_EQ(parse_error("graph \"g\" (x: f32[2], b: i64[2]) -> (y = %0) {\n  %0 = Plus(%x, %b) : f32[2]\n}"),
            "line 2: Plus: (C1) operands are f32 and i64");
  EXPECT_EQ(parse_error("graph \"g\" () -> () {\n  %a = constant f32[2] {1}\n}"),
            "line 2: f32[2] has 2 elements, but 1 are given");
  EXPECT_EQ(parse_error("graph \"g\" (x: f32[2]) -> (y = %0) {\n"), "line 2: expected '%'");
}

}  // namespace
}  // namespace strop::ir
