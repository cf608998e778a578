#include "ops/control/control.h"

#include <gmock/gmock.h>

namespace strop::ops {
namespace {

using ::testing::ElementsAre;

Dim s(const char* name) { return Dim::symbol(name); }

/// Symbols "?f0", "?f1", …
struct Fresh {
  int count = 0;
  Dim operator()() { return Dim::symbol(fmt::format("?f{}", count++)); }
};

std::string common(const Type& a, const Type& b) {
  Fresh fresh;
  const auto result = common_type(a, b, fresh);
  return result.ok() ? to_string(*result) : result.error().message;
}

TEST(CommonType, KeepsWhatIsEqual) {
  const Type f = Type(DType::F32, {2, s("n")});
  EXPECT_EQ(common(f, f), "f32[2, n]");
  EXPECT_EQ(common(f, Type(DType::F32, {3, s("n")})), "f32[?f0, n]");
  EXPECT_EQ(common(f, Type(DType::F32, {2})), "f32[*]");
  EXPECT_EQ(common(f, Type::unranked(DType::F32)), "f32[*]");
  EXPECT_EQ(common(f, Type(DType::I64, {2, s("n")})), "f32[2, n] and i64[2, n] do not go together");
  EXPECT_EQ(common(Type::sequence(f), Type::sequence(Type(DType::F32, {2}))), "seq(f32[*])");
  EXPECT_EQ(common(Type::optional(f), f), "optional(f32[2, n])");
  EXPECT_EQ(common(f, Type::optional(Type(DType::F32, {2, 5}))), "optional(f32[2, ?f0])");
  EXPECT_EQ(common(f, Type::sequence(f)), "f32[2, n] and seq(f32[2, n]) do not go together");
}

TEST(CarriedTypes, WidenUntilTheyHold) {
  Fresh fresh;
  CarriedTypes carried({Type(DType::F32, {1, s("n")}), Type(DType::I64, {})}, fresh);
  EXPECT_EQ(fresh.count, 2);  // a symbol for each axis, used or not
  std::vector<Type> returned = {Type(DType::F32, {3, s("n")}), Type(DType::I64, {})};
  EXPECT_TRUE(*carried.widen(returned));
  EXPECT_EQ(to_string(carried.types()[0]), "f32[?f0, n]");
  returned[0] = Type(DType::F32, {s("?f0") + 2, s("n")});
  EXPECT_FALSE(*carried.widen(returned));
  returned[0] = Type(DType::F32, {s("?f0"), s("n") + 1});
  EXPECT_TRUE(*carried.widen(returned));
  EXPECT_EQ(to_string(carried.types()[0]), "f32[?f0, ?f1]");
  returned[0] = Type(DType::F32, {2});
  EXPECT_TRUE(*carried.widen(returned));
  EXPECT_EQ(to_string(carried.types()[0]), "f32[*]");
  EXPECT_FALSE(*carried.widen(returned));
  returned[1] = Type(DType::I32, {});
  EXPECT_EQ(carried.widen(returned).error().message, "(C3) carried value 1: i64[] and i32[] do not go together");
}

Tensor counting(std::vector<int64_t> dims) {
  std::vector<int64_t> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i);
  return store_i64(DType::I64, std::move(dims), values);
}

TEST(Slices, TakeAndStackAreInverse) {
  const Tensor whole = counting({2, 3, 2});
  EXPECT_THAT(load_i64(take(whole, 1, 2)), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(take(whole, -1, 0).dims(), ElementsAre(2, 3));
  for (int64_t axis = 0; axis < 3; ++axis) {
    std::vector<Tensor> slices;
    for (int64_t i = 0; i < whole.dim(axis); ++i) slices.push_back(take(whole, axis, i));
    const auto again = stack(slices, axis);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->dims(), whole.dims());
    EXPECT_EQ(load_i64(*again), load_i64(whole)) << axis;
  }
  EXPECT_EQ(stack({counting({2}), counting({3})}, 0).error().message,
            "iterations gave i64[2] and i64[3], which cannot be stacked");
  EXPECT_THAT(stack_nothing("f32[n, 3]", 1)->dims(), ElementsAre(0, 0, 3));
}

/// Inference with a region given as a function.
template <class Region>
std::string inferred(const Operator& op, const Attrs& attrs, const std::vector<Type>& inputs, size_t outputs,
                     Region&& region) {
  InferContext ctx(attrs, inputs, outputs, "?7.");
  const InferContext::RegionInfer regions(region);
  ctx.regions = &regions;
  const auto result = op.infer(ctx);
  if (!result.ok()) return result.error().message;
  std::string text;
  for (const Type& type : ctx.outputs) text += (text.empty() ? "" : ", ") + to_string(type);
  return text;
}

const Type kBool = Type(DType::Bool, {});
const Type kCount = Type(DType::I64, {});

TEST(If, InfersWhatBothBranchesShare) {
  const Type x = Type(DType::F32, {s("n"), s("?1.0")});
  const auto branches = [&](size_t region, const std::vector<Type>& parameters) -> Result<std::vector<Type>> {
    Type type = parameters[0];
    type.tensor.shape->push_back(region == 0 ? 1 : 2);
    type.tensor.shape->push_back(s("?7.0r0.5"));  // means something inside only
    return std::vector<Type>{type};
  };
  const std::string text = inferred(kIf, NoAttrs{}, {kBool, x}, 1, branches);
  EXPECT_TRUE(text.starts_with("f32[n, ?1.0, ?7.")) << text;
  EXPECT_EQ(text.find("r0"), std::string::npos) << text;
  EXPECT_EQ(inferred(kIf, NoAttrs{}, {x, x}, 1, branches).substr(0, 4), "(C1)");
  EXPECT_EQ(inferred(kIf, NoAttrs{}, {kBool, x}, 2, branches),
            "(C2) the branches return 1 and 1 values where 2 are wanted");
}

TEST(Loop, InfersCarriedAndCollected) {
  // Appends 3 rows each time; collects the value as it was.
  const auto body = [&](size_t, const std::vector<Type>& parameters) -> Result<std::vector<Type>> {
    Type grown = parameters[2];
    (*grown.tensor.shape)[0] = grown.tensor.dim(0) + 3;
    return std::vector<Type>{kBool, grown, Type(DType::F32, {s("n")})};
  };
  LoopAttrs attrs{.carried = 1, .counted = false, .collected_types = {"f32[n]"}};
  const std::string text = inferred(kLoop, attrs, {kCount, kBool, Type(DType::F32, {1, s("n")})}, 2, body);
  EXPECT_TRUE(text.starts_with("f32[?7.")) << text;
  EXPECT_NE(text.find(", n], f32[?7."), std::string::npos) << text;
  EXPECT_EQ(inferred(kLoop, attrs, {kCount, kBool, Type(DType::F32, {1, s("n")})}, 3, body).substr(0, 4), "(C2)");
  EXPECT_EQ(inferred(kLoop, attrs, {kBool, kBool, kCount}, 1, body), "(C1) the trip count must be i64, not bool[]");
}

/// Evaluation with a region given as a function.
template <class Region>
Result<std::vector<Value>> evaluated(const Operator& op, const Attrs& attrs, const std::vector<Value>& inputs,
                                     size_t outputs, Region&& region) {
  SingleThread thread;
  const EvalContext::RegionCall regions(region);
  return evaluate({op, attrs, {}, inputs, outputs, thread, &regions});
}

TEST(Loop, StopsAtTheConditionOrTheTripCount) {
  // Carried: a number that doubles; goes on while it is below 50. Collects the iteration.
  const auto body = [](size_t, std::vector<Value> parameters) -> Result<std::vector<Value>> {
    const int64_t next = load_i64(parameters[2].tensor())[0] * 2;
    return std::vector<Value>{Tensor::scalar(DType::Bool, next < 50 ? 1 : 0), Tensor::of_i64({next}), parameters[0]};
  };
  const LoopAttrs attrs{.carried = 1, .counted = false, .collected_types = {"i64[]"}};
  const Value start = Tensor::of_i64({5});
  const auto condition = evaluated(kLoop, attrs, {Value(), Value(), start}, 2, body);
  ASSERT_TRUE(condition.ok()) << condition.error().message;
  EXPECT_THAT(load_i64((*condition)[0].tensor()), ElementsAre(80));
  EXPECT_THAT(load_i64((*condition)[1].tensor()), ElementsAre(0, 1, 2, 3));
  const auto trips = evaluated(kLoop, attrs, {Tensor::of_i64({2}), Value(), start}, 2, body);
  EXPECT_THAT(load_i64((*trips)[0].tensor()), ElementsAre(20));
  const auto never = evaluated(kLoop, attrs, {Tensor::of_i64({2}), Tensor::scalar(DType::Bool, 0), start}, 2, body);
  EXPECT_THAT(load_i64((*never)[0].tensor()), ElementsAre(5));
  EXPECT_THAT((*never)[1].tensor().dims(), ElementsAre(0));
  const LoopAttrs counted{.carried = 1, .counted = true, .collected_types = {"i64[]"}};
  const auto all = evaluated(kLoop, counted, {Tensor::of_i64({6}), Value(), start}, 1, body);
  EXPECT_THAT(load_i64((*all)[0].tensor()), ElementsAre(320));
}

TEST(Scan, BatchedWithSequenceLengths) {
  // State: the sum so far; collects it.
  const auto body = [](size_t, std::vector<Value> parameters) -> Result<std::vector<Value>> {
    const Tensor sum =
        store_i64(DType::I64, {},
                  std::vector<int64_t>{load_i64(parameters[0].tensor())[0] + load_i64(parameters[1].tensor())[0]});
    return std::vector<Value>{sum, sum};
  };
  ScanAttrs attrs{.states = 1, .scanned = 1};
  attrs.collected_types = {"i64[]"};
  attrs.batched = true;
  const Value starts = Tensor::of_i64({100, 200});
  const Value lengths = Tensor::of_i64({3, 2});
  const auto results = evaluated(kScan, attrs, {lengths, starts, counting({2, 3})}, 2, body);
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_THAT(load_i64((*results)[0].tensor()), ElementsAre(103, 207));
  EXPECT_THAT(load_i64((*results)[1].tensor()), ElementsAre(100, 101, 103, 203, 207, 0));
  const auto too_long = evaluated(kScan, attrs, {Value(Tensor::of_i64({3, 4})), starts, counting({2, 3})}, 2, body);
  EXPECT_EQ(too_long.error().message, "a sequence length of 4 where 3 is the most");
}

}  // namespace
}  // namespace strop::ops
