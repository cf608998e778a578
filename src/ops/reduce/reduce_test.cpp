#include "ops/reduce/reduce.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::f32;
using testing::i64;
using testing::infer;
using testing::run;

ReduceAttrs over(ReduceKind kind, Dims axes, bool keep_dims = true) {
  ReduceAttrs attrs;
  attrs.kind = kind;
  attrs.axes = std::move(axes);
  attrs.keep_dims = keep_dims;
  return attrs;
}

const Dim s = Dim::symbol("s");

TEST(Reduce, EveryKind) {
  const Tensor x = f32({1, 3}, {3, -4, 0});
  EXPECT_EQ(run(kReduce, over(ReduceKind::Sum, {1}), {x}), "f32[1, 1] -1");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Mean, {1}), {f32({1, 2}, {1, 2})}), "f32[1, 1] 1.5");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Max, {1}), {x}), "f32[1, 1] 3");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Min, {1}), {x}), "f32[1, 1] -4");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Prod, {1}), {f32({1, 3}, {2, -3, 4})}), "f32[1, 1] -24");
  EXPECT_EQ(run(kReduce, over(ReduceKind::L1, {1}), {x}), "f32[1, 1] 7");
  EXPECT_EQ(run(kReduce, over(ReduceKind::L2, {1}), {x}), "f32[1, 1] 5");
  EXPECT_EQ(run(kReduce, over(ReduceKind::SumSquare, {1}), {x}), "f32[1, 1] 25");
  EXPECT_EQ(run(kReduce, over(ReduceKind::LogSum, {1}), {f32({1, 2}, {0.25, 0.75})}), "f32[1, 1] 0");
  // Equal elements: log(2 e^1000) = 1000 + log 2, rounded to f32.
  EXPECT_EQ(run(kReduce, over(ReduceKind::LogSumExp, {1}), {f32({1, 2}, {1000, 1000})}),
            "f32[1, 1] 1000.6931762695312");
}

TEST(Reduce, Axes) {
  EXPECT_EQ(run(kReduce, over(ReduceKind::Sum, {0, 2}, false), {counting({2, 2, 2})}), "f32[2] 10 18");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Sum, {-1}), {counting({2, 3})}), "f32[2, 1] 3 12");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Sum, {}, false), {counting({2, 3})}), "f32[] 15");
  ReduceAttrs each = over(ReduceKind::SumSquare, {});
  each.all_if_empty = false;
  EXPECT_EQ(run(kReduce, each, {counting({3})}), "f32[3] 0 1 4");
}

TEST(Reduce, EmptyGroups) {
  const Tensor none = f32({1, 0}, {});
  EXPECT_EQ(run(kReduce, over(ReduceKind::Sum, {1}), {none}), "f32[1, 1] 0");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Prod, {1}), {none}), "f32[1, 1] 1");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Max, {1}), {none}), "f32[1, 1] -inf");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Min, {1}), {none}), "f32[1, 1] inf");
  EXPECT_EQ(run(kReduce, over(ReduceKind::LogSumExp, {1}), {none}), "f32[1, 1] -inf");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Max, {0}), {store_i64(DType::I8, {0}, {})}), "i8[1] -128");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Min, {0}), {store_i64(DType::I8, {0}, {})}), "i8[1] 127");
}

TEST(Reduce, IntegersAreExact) {
  EXPECT_EQ(run(kReduce, over(ReduceKind::Sum, {0}), {store_i64(DType::I8, {3}, std::vector<int64_t>{100, 100, 1})}),
            "i8[1] -55");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Mean, {0}), {i64({2}, {-3, 0})}), "i64[1] -1");
  EXPECT_EQ(run(kReduce, over(ReduceKind::L1, {0}), {i64({2}, {-3, 4})}), "i64[1] 7");
  EXPECT_EQ(run(kReduce, over(ReduceKind::L2, {0}), {i64({2}, {-3, 4})}), "i64[1] 5");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Max, {0}), {store_i64(DType::Bool, {2}, std::vector<int64_t>{0, 1})}),
            "bool[1] 1");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Max, {0}), {store_i64(DType::U64, {2}, std::vector<int64_t>{-1, 1})}),
            "u64[1] 1.8446744073709552e+19");
}

TEST(Reduce, NotANumberSpreads) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(run(kReduce, over(ReduceKind::Max, {0}), {f32({3}, {nan, 1, 2})}), "f32[1] nan");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Min, {0}), {f32({3}, {1, nan, 2})}), "f32[1] nan");
}

TEST(Reduce, Types) {
  const std::vector<Type> x = {Type(DType::F32, {s, 4, 5})};
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Sum, {1}), x), "f32[s, 1, 5]");
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Sum, {1, -1}, false), x), "f32[s]");
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Sum, {}), {Type::unranked(DType::F32)}), "f32[*]");
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Sum, {3}), x), "error: (C2) axis 3 is outside [-3, 3) for rank 3");
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Sum, {}), {Type(DType::Bool, {2})}), "error: (C1) cannot reduce bool");
}

TEST(Reduce, LateAxes) {
  const std::vector<LateField> late = {{"axes", 1}};
  const std::vector<Type> types = {Type(DType::F32, {s, 4}), Type(DType::I64, {1})};
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Sum, {}), types, {late}), "f32[?.0, ?.1]");
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Sum, {}, false), types, {late}), "f32[?.0]");
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Sum, {}, false), {types[0], Type(DType::I64, {Dim::symbol("n")})}, {late}),
            "f32[*]");
  EXPECT_EQ(run(kReduce, over(ReduceKind::Sum, {}, false), {counting({2, 2}), Tensor::of_i64({0})}, 1, late),
            "f32[2] 2 4");
}

TEST(Reduce, KnownContents) {
  const std::vector<Type> shape = {Type(DType::I64, {3})};
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Prod, {0}, false), shape, {{}, {Dims{s, 2, 3}}}), "i64[] known [6*s]");
  EXPECT_EQ(infer(kReduce, over(ReduceKind::Max, {}), shape, {{}, {Dims{1, 7, 3}}}), "i64[1] known [7]");
}

TEST(Reduce, Programs) {
  ReduceAttrs attrs = over(ReduceKind::Sum, {1}, false);
  const int32_t x = attrs.prologue.add_input(0, DType::F32);
  attrs.prologue.outputs = {attrs.prologue.add(Fn::Mul, {x, attrs.prologue.add_input(1, DType::F32)})};
  const int32_t sum = attrs.epilogue.add_input(0, DType::F32);
  attrs.epilogue.outputs = {attrs.epilogue.add(Fn::Sub, {sum, attrs.epilogue.add_input(1, DType::F32)})};
  EXPECT_EQ(run(kReduce, attrs, {counting({2, 2}), f32({2}, {10, 20}), f32({1}, {1})}), "f32[2] 19 79");
  EXPECT_EQ(
      infer(kReduce, attrs, {Type(DType::F32, {2, 2}), Type(DType::F32, {3}), Type(DType::F32, {1})}).substr(0, 6),
      "error:");
}

}  // namespace
}  // namespace strop::ops
