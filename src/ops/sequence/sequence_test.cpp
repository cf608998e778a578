#include "ops/sequence/sequence.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::f32;
using testing::i64;
using testing::infer;

Result<Value> evaluate_one(const Operator& op, const Attrs& attrs, const std::vector<Value>& inputs) {
  SingleThread thread;
  auto results = evaluate({op, attrs, {}, inputs, 1, thread});
  if (!results.ok()) return results.error();
  return (*results)[0];
}

/// "[f32[1] 0; f32[2] 1 2]", or a tensor's text, or the error.
std::string text(const Result<Value>& value) {
  if (!value.ok()) return "error: " + value.error().message;
  if (value->is_tensor()) return testing::text(value->tensor());
  std::string joined;
  for (const Value& item : value->sequence().items)
    joined += (joined.empty() ? "" : "; ") + testing::text(item.tensor());
  return "[" + joined + "]";
}

Value sequence(const std::vector<Value>& items) {
  return *evaluate_one(kSequenceConstruct, SequenceConstructAttrs{Type::unranked(DType::F32)}, items);
}

TEST(Sequence, InsertEraseAtLength) {
  const Value ab = sequence({f32({1}, {1}), f32({2}, {2, 3})});
  EXPECT_EQ(text(ab), "[f32[1] 1; f32[2] 2 3]");
  const Tensor c = f32({}, {9});
  EXPECT_EQ(text(evaluate_one(kSequenceInsert, {}, {ab, c})), "[f32[1] 1; f32[2] 2 3; f32[] 9]");
  EXPECT_EQ(text(evaluate_one(kSequenceInsert, {}, {ab, c, i64({}, {-1})})), "[f32[1] 1; f32[] 9; f32[2] 2 3]");
  EXPECT_FALSE(evaluate_one(kSequenceInsert, {}, {ab, c, i64({}, {3})}).ok());
  EXPECT_EQ(text(evaluate_one(kSequenceErase, {}, {ab})), "[f32[1] 1]");
  EXPECT_EQ(text(evaluate_one(kSequenceErase, {}, {ab, i64({}, {0})})), "[f32[2] 2 3]");
  EXPECT_EQ(text(evaluate_one(kSequenceAt, {}, {ab, i64({}, {-1})})), "f32[2] 2 3");
  EXPECT_FALSE(evaluate_one(kSequenceAt, {}, {ab, i64({}, {2})}).ok());
  EXPECT_EQ(text(evaluate_one(kSequenceLength, {}, {ab})), "i64[] 2");
}

TEST(Sequence, SplitAndConcat) {
  const Tensor x = counting({5});
  const auto parts = evaluate_one(kSplitToSequence, SplitToSequenceAttrs{}, {x, i64({}, {2})});
  EXPECT_EQ(text(parts), "[f32[2] 0 1; f32[2] 2 3; f32[1] 4]");
  EXPECT_EQ(text(evaluate_one(kSplitToSequence, SplitToSequenceAttrs{}, {x, i64({2}, {4, 1})})),
            "[f32[4] 0 1 2 3; f32[1] 4]");
  EXPECT_EQ(text(evaluate_one(kSplitToSequence, SplitToSequenceAttrs{1, false}, {counting({2, 2})})),
            "[f32[2] 0 2; f32[2] 1 3]");
  EXPECT_FALSE(evaluate_one(kSplitToSequence, SplitToSequenceAttrs{}, {x, i64({2}, {4, 2})}).ok());
  EXPECT_EQ(text(evaluate_one(kConcatFromSequence, ConcatFromSequenceAttrs{}, {*parts})), "f32[5] 0 1 2 3 4");
  const Value same = sequence({f32({2}, {1, 2}), f32({2}, {3, 4})});
  EXPECT_EQ(text(evaluate_one(kConcatFromSequence, ConcatFromSequenceAttrs{-1, true}, {same})), "f32[2, 2] 1 3 2 4");
  EXPECT_FALSE(evaluate_one(kConcatFromSequence, ConcatFromSequenceAttrs{}, {sequence({})}).ok());
}

TEST(Sequence, Types) {
  const Dim s = Dim::symbol("s");
  const Type two = Type::sequence(Type(DType::F32, {s, 3}));
  const Type at(DType::I64, {});
  EXPECT_EQ(infer(kSequenceAt, {}, {two, at}), "f32[?.0, 3]");
  EXPECT_EQ(infer(kSequenceInsert, {}, {two, Type(DType::F32, {4, 3})}), "seq(f32[?.0, 3])");
  EXPECT_EQ(infer(kConcatFromSequence, ConcatFromSequenceAttrs{1}, {two}), "f32[?.0, ?.1]");
  EXPECT_EQ(infer(kSplitToSequence, SplitToSequenceAttrs{0, false}, {Type(DType::F32, {s, 3})}), "seq(f32[3])");
  EXPECT_EQ(infer(kSequenceAt, {}, {at, at}), "error: (C1) operand 0 is i64[], not a sequence");
}

TEST(Optional, HoldsOrNot) {
  const auto full = evaluate_one(kOptional, OptionalAttrs{}, {f32({1}, {5})});
  const auto empty = evaluate_one(kOptional, OptionalAttrs{Type(DType::F32, {1})}, {});
  EXPECT_EQ(text(evaluate_one(kOptionalHasElement, {}, {*full})), "bool[] 1");
  EXPECT_EQ(text(evaluate_one(kOptionalHasElement, {}, {*empty})), "bool[] 0");
  EXPECT_EQ(text(evaluate_one(kOptionalHasElement, {}, {})), "bool[] 0");
  EXPECT_EQ(text(evaluate_one(kOptionalHasElement, {}, {f32({1}, {5})})), "bool[] 1");
  EXPECT_EQ(text(evaluate_one(kOptionalGetElement, {}, {*full})), "f32[1] 5");
  EXPECT_EQ(text(evaluate_one(kOptionalGetElement, {}, {*empty})), "error: OptionalGetElement: the optional is empty");
}

}  // namespace
}  // namespace strop::ops
