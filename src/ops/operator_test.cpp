#include "ops/operator.h"

#include <gtest/gtest.h>

#include <cmath>

namespace strop::ops {
namespace {

enum class Mode : uint8_t { Slow, Fast };

}  // namespace
template <>
inline constexpr auto kEnumNames<Mode> = std::to_array<std::string_view>({"slow", "fast"});
namespace {

struct AllAttrs {
  int64_t axis = -1;
  bool keep = true;
  double scale = 0.5;
  std::string label = "a \"quoted\"\n";
  std::vector<int64_t> ints = {1, -2};
  std::vector<double> numbers = {1.5};
  std::vector<std::string> names = {"x, y", "]"};
  DType to = DType::BF16;
  Mode mode = Mode::Fast;
  Dim size = Dim::symbol("n") * Dim(2);
  Dims dims = {Dim(1), floor_div(Dim::symbol("h"), Dim(2)), Dim::symbol("n")};
  Tensor value = Tensor::of_i64({1, 2});
  ScalarProgram program;
  Type type = Type(DType::F32, {Dim::symbol("b"), Dim(3)});
  static constexpr auto fields = std::make_tuple(
      field("axis", &AllAttrs::axis), field("keep", &AllAttrs::keep), field("scale", &AllAttrs::scale),
      field("label", &AllAttrs::label), field("ints", &AllAttrs::ints), field("numbers", &AllAttrs::numbers),
      field("names", &AllAttrs::names), field("to", &AllAttrs::to), field("mode", &AllAttrs::mode),
      field("size", &AllAttrs::size), field("dims", &AllAttrs::dims), field("value", &AllAttrs::value),
      field("program", &AllAttrs::program), field("type", &AllAttrs::type));
};

TEST(Attrs, TextReadsBack) {
  AllAttrs custom;
  custom.axis = 3;
  custom.scale = 0.1;
  custom.names = {};
  custom.mode = Mode::Slow;
  custom.value = Tensor::of_strings({2}, {"p", "q\\"});
  custom.program.outputs = {custom.program.add(Fn::Relu, {custom.program.add_input(0, DType::F32)})};
  for (const Attrs& attrs : {Attrs(AllAttrs()), Attrs(custom)}) {
    const auto parsed = Attrs(AllAttrs()).parse(attrs.to_string());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message << "\n" << attrs.to_string();
    EXPECT_EQ(*parsed, attrs) << attrs.to_string();
  }
  EXPECT_FALSE(Attrs(custom) == Attrs(AllAttrs()));
}

TEST(Attrs, TextIsCanonical) {
  EXPECT_EQ(Attrs(AllAttrs()).to_string(),
            "axis=-1, keep=true, scale=0.5, label=\"a \\\"quoted\\\"\\x0a\", ints=[1, -2], numbers=[1.5], "
            "names=[\"x, y\", \"]\"], to=bf16, mode=\"fast\", size=2*n, dims=[1, floordiv(h, 2), n], "
            "value=i64[2]#01000000000000000200000000000000, program=identity, type=f32[b, 3]");
}

TEST(Attrs, WithChangesOneFieldOfACopy) {
  const Attrs attrs = AllAttrs();
  const auto changed = attrs.with("axis", int64_t{2});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->as<AllAttrs>().axis, 2);
  EXPECT_EQ(attrs.as<AllAttrs>().axis, -1);
  EXPECT_EQ(attrs.with("axes", int64_t{2}).error().message, "there is no attribute 'axes'");
  EXPECT_EQ(attrs.with("axis", true).error().message, "attribute 'axis' cannot be true");
  EXPECT_EQ(attrs.with("mode", std::string("warp")).error().message, "attribute 'mode' cannot be \"warp\"");
}

TEST(Attrs, DimsAreFoundAndReplaced) {
  const Attrs attrs = AllAttrs();
  EXPECT_EQ(attrs.symbols(), (std::vector<std::string>{"n", "h", "b"}));
  const Attrs bound = attrs.map_dims([](const Dim& dim) {
    return dim.substitute({{"n", Dim(5)}, {"h", Dim(8)}, {"b", Dim(2)}});
  });
  EXPECT_TRUE(bound.symbols().empty());
  EXPECT_EQ(bound.as<AllAttrs>().size, Dim(10));
  EXPECT_EQ(bound.as<AllAttrs>().dims, (Dims{1, 4, 5}));
  EXPECT_EQ(bound.as<AllAttrs>().type, Type(DType::F32, {2, 3}));
}

TEST(Attrs, NaNEqualsItselfAndZerosDiffer) {
  EXPECT_TRUE(equal(FieldValue(std::nan("")), FieldValue(std::nan(""))));
  EXPECT_FALSE(equal(FieldValue(0.0), FieldValue(-0.0)));
  EXPECT_FALSE(equal(FieldValue(int64_t{1}), FieldValue(1.0)));
}

TEST(Broadcast, SymbolsAndConstants) {
  const Dim n = Dim::symbol("n");
  const Dim m = Dim::symbol("m");
  EXPECT_EQ(*broadcast({2, 3}, {3}), (Dims{2, 3}));
  EXPECT_EQ(*broadcast({1, 3}, {4, 1}), (Dims{4, 3}));
  EXPECT_EQ(*broadcast({n, 1}, {n, m}), (Dims{n, m}));
  EXPECT_EQ(*broadcast({n}, {7}), (Dims{7}));
  EXPECT_EQ(*broadcast({n}, {m}), (Dims{max(n, m)}));
  EXPECT_EQ(*broadcast({0}, {1}), (Dims{0}));
  EXPECT_EQ(broadcast({2, 3}, {2, 4}).error().message, "(C1) cannot broadcast [2, 3] with [2, 4] in axis 1");
}

TEST(NormalizeAxis, RangeIsChecked) {
  EXPECT_EQ(*normalize_axis(-1, 3, "axis"), 2);
  EXPECT_EQ(*normalize_axis(0, 1, "axis"), 0);
  EXPECT_EQ(normalize_axis(3, 3, "axis").error().message, "axis 3 is outside [-3, 3) for rank 3");
}

struct FillAttrs {
  Dims shape;
  double value = 1;
  static constexpr auto fields = std::make_tuple(field("shape", &FillAttrs::shape), field("value", &FillAttrs::value));
};

const Operator kFill{
    .name = "TestFill",
    .make_attrs = [] { return Attrs(FillAttrs()); },
    .infer = [](InferContext& ctx) -> Result<void> {
      ctx.outputs[0] = Type(DType::F32, ctx.attrs.as<FillAttrs>().shape);
      return {};
    },
    .evaluate = [](EvalContext& ctx) -> Result<void> {
      EXPECT_EQ(ctx.inputs.size(), 0u) << "late operands are not the operator's own";
      Tensor result(DType::F32, *as_constants(ctx.output_types[0].tensor.dims()));
      std::fill_n(result.mutable_data<float>(), result.count(), static_cast<float>(ctx.attrs.as<FillAttrs>().value));
      ctx.outputs[0] = result;
      return {};
    },
};

TEST(Evaluate, LateFieldsComeFromOperands) {
  SingleThread threads;
  const LateField late[] = {{"shape", 0}, {"value", 1}};
  const Value inputs[] = {Tensor::of_i64({2, 3}), Tensor::scalar(DType::F32, 4.5)};
  const auto results = evaluate({kFill, FillAttrs(), late, inputs, 1, threads});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].tensor().dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ((*results)[0].tensor().data<float>()[5], 4.5f);
  const Value wrong[] = {Tensor::of_i64({2, 3}), Tensor::of_i64({1, 2})};
  EXPECT_EQ(evaluate({kFill, FillAttrs(), late, wrong, 1, threads}).error().message,
            "operand 1 gives 'value' and must be one value, not 2");
}

TEST(InferContext, EachUnbackedDimensionIsNew) {
  const Attrs attrs;
  InferContext ctx(attrs, {}, 1, "?4");
  const Dim first = ctx.unbacked();
  EXPECT_TRUE(first.is_unbacked());
  EXPECT_FALSE(first == ctx.unbacked());
  EXPECT_EQ(ctx.tensor(0).error().message, "operand 0 is missing");
}

TEST(Catalogue, FindsByNameAndRefusesDuplicates) {
  Catalogue catalogue;
  catalogue.add(kFill);
  EXPECT_EQ(catalogue.find("TestFill"), &kFill);
  EXPECT_EQ(catalogue.find("Nothing"), nullptr);
  EXPECT_THROW(catalogue.add(kFill), Bug);
}

}  // namespace
}  // namespace strop::ops
