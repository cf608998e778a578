#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ops/pointwise/op_broadcast.h"
#include "ops/pointwise/pointwise.h"

namespace strop::ops {
namespace {

ScalarProgram program_of(const char* text) { return parse_scalar_program(text).value(); }

Result<std::vector<Value>> run(const Operator& op, Attrs attrs, std::vector<Value> inputs, size_t outputs = 1) {
  SingleThread threads;
  return evaluate({op, attrs, {}, inputs, outputs, threads});
}

Tensor floats(std::vector<int64_t> dims, std::vector<float> values) {
  return Tensor::of<float>(DType::F32, std::move(dims), values);
}

TEST(Pointwise, BroadcastsBothWays) {
  const auto program = function_program(Fn::Sub, DType::F32);
  const auto result = run(kPointwise, PointwiseAttrs{program}, {floats({2, 1}, {10, 20}), floats({3}, {1, 2, 3})});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Tensor& out = (*result)[0].tensor();
  EXPECT_EQ(out.dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(load_f64(out), (std::vector<double>{9, 8, 7, 19, 18, 17}));
}

TEST(Pointwise, LargeTensorsInBlocksOnSeveralThreads) {
  const int64_t rows = 77;
  const int64_t columns = 301;
  Tensor a(DType::F32, {rows, columns});
  Tensor b(DType::F32, {rows, 1});
  for (int64_t i = 0; i < a.count(); ++i) a.mutable_data<float>()[i] = static_cast<float>(i % 97);
  for (int64_t i = 0; i < rows; ++i) b.mutable_data<float>()[i] = static_cast<float>(i);
  const auto pool = make_thread_pool(2);
  const Attrs attrs =
      PointwiseAttrs{program_of("(x0: f32, x1: f32) { v2 = Mul(x0, x1); v3 = Add(v2, x0) } -> (v3, v2)")};
  const Value inputs[] = {a, b};
  const auto result = evaluate({kPointwise, attrs, {}, inputs, 2, *pool});
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (int64_t i = 0; i < a.count(); ++i) {
    const auto x = static_cast<float>(i % 97);
    const auto y = static_cast<float>(i / columns);
    ASSERT_EQ((*result)[1].tensor().data<float>()[i], x * y) << i;
    ASSERT_EQ((*result)[0].tensor().data<float>()[i], x * y + x) << i;
  }
}

TEST(Pointwise, StringsAndComplexAreSelectedAndCompared) {
  const Tensor left = Tensor::of_strings({2}, {"a", "b"});
  const Tensor right = Tensor::of_strings({2}, {"a", "c"});
  const auto equal = run(kPointwise, PointwiseAttrs{function_program(Fn::Equal, DType::String)}, {left, right});
  ASSERT_TRUE(equal.ok()) << equal.error().message;
  EXPECT_EQ(load_i64((*equal)[0].tensor()), (std::vector<int64_t>{1, 0}));
  const bool choose[] = {false, true};
  const Tensor condition = Tensor::of<bool>(DType::Bool, {2}, choose);
  const auto where =
      run(kPointwise, PointwiseAttrs{function_program(Fn::Where, DType::String)}, {condition, left, right});
  EXPECT_EQ((*where)[0].tensor().strings(), (std::vector<std::string>{"a", "b"}));
  const std::vector<float> x = {1, 2, 3, 4};
  const std::vector<float> y = {5, 6, 7, 8};
  const Tensor cx = Tensor::of<float>(DType::C64, {2}, x);
  const Tensor cy = Tensor::of<float>(DType::C64, {2}, y);
  const auto chosen = run(kPointwise, PointwiseAttrs{function_program(Fn::Where, DType::C64)}, {condition, cx, cy});
  const auto* data = static_cast<const float*>((*chosen)[0].tensor().raw());
  EXPECT_EQ((std::vector<float>(data, data + 4)), (std::vector<float>{5, 6, 3, 4}));
}

TEST(Pointwise, PackedTypes) {
  const Tensor a = store_i64(DType::I4, {5}, std::vector<int64_t>{1, -8, 7, 3, -1});
  const auto result = run(kPointwise, PointwiseAttrs{function_program(Fn::Neg, DType::I4)}, {a});
  EXPECT_EQ(load_i64((*result)[0].tensor()), (std::vector<int64_t>{-1, -8, -7, -3, 1}));
}

TEST(Pointwise, Float8OverflowIsKeptWhereCastSaysSo) {
  const Tensor large = floats({1}, {1e6f});
  const auto wraps =
      run(kPointwise, PointwiseAttrs{program_of("(x0: f32) { v1 = CastWrap<f8e5m2>(x0) } -> v1")}, {large});
  EXPECT_EQ(load_f64((*wraps)[0].tensor())[0], INFINITY);
  const auto saturates = run(kPointwise, PointwiseAttrs{cast_program(DType::F32, DType::F8E5M2)}, {large});
  EXPECT_EQ(load_f64((*saturates)[0].tensor())[0], 57344);
}

TEST(Pointwise, IdentityCopies) {
  const auto result = run(kPointwise, PointwiseAttrs{}, {floats({2}, {3, 4})});
  EXPECT_EQ(load_f64((*result)[0].tensor()), (std::vector<double>{3, 4}));
}

std::string infer_error(const ScalarProgram& program, std::vector<Type> types, size_t outputs = 1) {
  const Attrs attrs = PointwiseAttrs{program};
  InferContext ctx(attrs, types, outputs, "?0");
  const auto result = kPointwise.infer(ctx);
  return result.ok() ? "" : result.error().message;
}

TEST(Pointwise, ConstraintsAreNamed) {
  const auto add = function_program(Fn::Add, DType::F32);
  EXPECT_EQ(infer_error(add, {Type(DType::F32, {2})}), "(C3) 1 operands for a program of 2");
  EXPECT_EQ(infer_error(add, {Type(DType::F32, {2}), Type(DType::F16, {2})}), "(C4) operand 1 must be f32, not f16");
  EXPECT_EQ(infer_error(add, {Type(DType::F32, {2}), Type(DType::F32, {3})}),
            "(C1) cannot broadcast [2] with [3] in axis 0");
  EXPECT_EQ(infer_error(add, {Type(DType::F32, {2}), Type(DType::F32, {2})}, 2), "(C2) 2 outputs of a program with 1");
}

TEST(Pointwise, UnknownRankGivesUnknownRank) {
  const Attrs attrs = PointwiseAttrs{function_program(Fn::Less, DType::F32)};
  const std::vector<Type> types = {Type::unranked(DType::F32), Type(DType::F32, {2})};
  InferContext ctx(attrs, types, 1, "?0");
  ASSERT_TRUE(kPointwise.infer(ctx).ok());
  EXPECT_EQ(ctx.outputs[0], Type::unranked(DType::Bool));
}

std::optional<Dims> known(const char* text, std::vector<std::optional<Dims>> contents, int64_t count) {
  const ScalarProgram program = program_of(text);
  const Attrs attrs = PointwiseAttrs{program};
  std::vector<Type> types(contents.size());
  for (const ScalarInstr& instr : program.instrs) {
    if (instr.fn == Fn::Input) types[static_cast<size_t>(instr.input)] = Type(instr.dtype, {Dim(count)});
  }
  InferContext ctx(attrs, types, program.outputs.size(), "?0");
  ctx.known_inputs = std::move(contents);
  EXPECT_TRUE(kPointwise.infer(ctx).ok());
  return ctx.known_outputs[0];
}

TEST(Pointwise, KnownShapesAreCarriedThrough) {
  const Dim h = Dim::symbol("h");
  const Dim w = Dim::symbol("w");
  EXPECT_EQ(known("(x0: i64, x1: i64) { v2 = Mul(x0, x1) } -> v2", {Dims{h, w}, Dims{2, 3}}, 2),
            (Dims{h * Dim(2), w * Dim(3)}));
  EXPECT_EQ(known("(x0: i64, x1: i64) { v2 = Div(x0, x1) } -> v2", {Dims{h}, Dims{2}}, 1), (Dims{floor_div(h, 2)}));
  EXPECT_EQ(known("(x0: i64) { v1 = Constant<i64>(-1); v2 = Equal(x0, v1); v3 = Constant<i64>(1); v4 = Where(v2, v3, "
                  "x0) } -> v4",
                  {Dims{-1, 7, h}}, 3),
            (Dims{1, 7, h}))
      << "a size is never -1";
  EXPECT_EQ(known("(x0: i64) { v1 = Cast<i32>(x0) } -> v1", {Dims{h}}, 1), (Dims{h}));
  EXPECT_EQ(known("(x0: i64, x1: i64) { v2 = Equal(x0, x1) } -> v2", {Dims{h, 3}, Dims{h, 4}}, 2), (Dims{1, 0}));
  EXPECT_EQ(known("(x0: i64, x1: i64) { v2 = Equal(x0, x1) } -> v2", {Dims{h}, Dims{w}}, 1), std::nullopt);
  EXPECT_EQ(known("(x0: i64, x1: i64) { v2 = Add(x0, x1) } -> v2", {Dims{h}, std::nullopt}, 1), std::nullopt);
  EXPECT_EQ(known("(x0: i64) { v1 = Constant<i64>(2); v2 = Div(x0, v1) } -> v2", {Dims{-7}}, 1), (Dims{-3}))
      << "toward zero";
  EXPECT_EQ(known("(x0: i64) { v1 = Cast<f32>(x0); v2 = Sqrt(v1) } -> v2", {Dims{4}}, 1), std::nullopt);
}

TEST(Pointwise, BindOperandMovesTheOthersUp) {
  const auto program = program_of("(x0: f32, x1: f32, x2: f32) { v3 = Sub(x0, x1); v4 = Mul(v3, x2) } -> v4");
  const auto bound = bind_operand(program, 1, Tensor::scalar(DType::F32, 2));
  EXPECT_EQ(to_string(simplify(bound)),
            "(x0: f32, x1: f32) { v2 = Constant<f32>(2); v3 = Sub(x0, v2); v4 = Mul(v3, x1) } -> v4");
}

TEST(Pointwise, CasesAreValidAndDistinct) {
  std::set<std::string> names;
  for (const WorkedCase& sample : kPointwise.cases()) {
    EXPECT_TRUE(names.insert(sample.name).second) << sample.name;
    InferContext ctx(sample.attrs, sample.inputs, sample.output_count, "?0");
    const auto result = kPointwise.infer(ctx);
    EXPECT_TRUE(result.ok()) << sample.name << ": " << result.error().message;
  }
  EXPECT_GT(names.size(), 70u);
}

TEST(BroadcastLoop, CollapsesWhatIsContiguousForAll) {
  const std::vector<int64_t> dims = {2, 3, 1, 4, 5};
  BroadcastLoop loop{dims, {broadcast_strides(dims, dims), broadcast_strides({3, 1, 1, 1}, dims)}};
  const BroadcastLoop result = collapsed(loop);
  EXPECT_EQ(result.dims, (std::vector<int64_t>{2, 3, 20}));
  EXPECT_EQ(result.strides[0], (std::vector<int64_t>{60, 20, 1}));
  EXPECT_EQ(result.strides[1], (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(collapsed({{}, {{}}}).dims, (std::vector<int64_t>{1}));
  EXPECT_EQ(broadcast_strides({2, 3}, {2, 3}, 8), (std::vector<int64_t>{8, 1}));
}

TEST(BitCast, ReadsTheSameBytes) {
  const auto result = run(kBitCast, BitCastAttrs{DType::U32}, {floats({2}, {1, -0.0f})});
  EXPECT_EQ(load_i64((*result)[0].tensor()), (std::vector<int64_t>{0x3f800000, 0x80000000}));
  EXPECT_FALSE(run(kBitCast, BitCastAttrs{DType::U16}, {floats({1}, {1})}).ok());
}

TEST(CastString, BothWays) {
  const auto text =
      run(kCastString, CastStringAttrs{DType::String}, {floats({6}, {0.1f, 1, -2.5f, 1e20f, INFINITY, NAN})});
  EXPECT_EQ((*text)[0].tensor().strings(), (std::vector<std::string>{"0.1", "1.0", "-2.5", "1e+20", "inf", "nan"}));
  const Tensor source = Tensor::of_strings({6}, {"3.5", "+INF", "-inf", "1e-5", "NaN", "100"});
  const auto numbers = load_f64((*run(kCastString, CastStringAttrs{DType::F64}, {source}))[0].tensor());
  EXPECT_EQ(numbers[0], 3.5);
  EXPECT_EQ(numbers[1], INFINITY);
  EXPECT_EQ(numbers[2], -INFINITY);
  EXPECT_EQ(numbers[3], 1e-5);
  EXPECT_TRUE(std::isnan(numbers[4]));
  const Tensor integers = Tensor::of_strings({3}, {"-7", "100.5", "18446744073709551615"});
  EXPECT_EQ(load_i64((*run(kCastString, CastStringAttrs{DType::U64}, {integers}))[0].tensor()),
            (std::vector<int64_t>{-7, 100, -1}));
  const auto wrong = run(kCastString, CastStringAttrs{DType::I32}, {Tensor::of_strings({1}, {"seven"})});
  EXPECT_EQ(wrong.error().message, "Cast: 'seven' (element 0) is not a number, which i32 needs");
}

TEST(CastScale, RoundsThePowerOfTwo) {
  const Tensor source = floats({7}, {1, 1.25f, 1.5f, -4, 0, INFINITY, 3e38f});
  const auto codes = [&](ScaleRounding rounding, bool saturate) {
    const auto result = run(kCastScale, CastScaleAttrs{rounding, saturate}, {source}).value();
    const auto* data = result[0].tensor().data<uint8_t>();
    return std::vector<int>(data, data + 7);
  };
  EXPECT_EQ(codes(ScaleRounding::Up, true), (std::vector<int>{127, 128, 128, 129, 0, 255, 254}));
  EXPECT_EQ(codes(ScaleRounding::Down, true), (std::vector<int>{127, 127, 127, 129, 0, 255, 254}));
  EXPECT_EQ(codes(ScaleRounding::Nearest, false), (std::vector<int>{127, 127, 128, 129, 0, 255, 255}));
}

}  // namespace
}  // namespace strop::ops
