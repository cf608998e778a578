#include "ops/select/select.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::f32;
using testing::i64;
using testing::infer;
using testing::run;

Tensor mask(const std::vector<int64_t>& values) {
  return store_i64(DType::Bool, {static_cast<int64_t>(values.size())}, values);
}

TEST(Compress, KeepsWhatTheConditionNames) {
  EXPECT_EQ(run(kCompress, CompressAttrs{false, 1}, {counting({2, 3}), mask({0, 1})}), "f32[2, 1] 1 4");
  EXPECT_EQ(run(kCompress, CompressAttrs{}, {counting({2, 2}), mask({0, 1, 0, 1})}), "f32[2] 1 3");
  EXPECT_EQ(infer(kCompress, CompressAttrs{false, 0}, {Type(DType::F32, {2, 3}), Type(DType::Bool, {2})}),
            "f32[?.0, 3]");
}

TEST(NonZero, Coordinates) {
  EXPECT_EQ(run(kNonZero, NoAttrs{}, {f32({2, 2}, {1, 0, std::nan(""), 1})}), "i64[2, 3] 0 1 1 0 0 1");
  EXPECT_EQ(run(kNonZero, NoAttrs{}, {f32({}, {2})}), "i64[0, 1]");
}

TEST(Unique, Elements) {
  const std::vector<Value> data = {f32({6}, {2, 1, 1, 3, 4, 3})};
  EXPECT_EQ(run(kUnique, UniqueAttrs{}, data, 4), "f32[4] 1 2 3 4; i64[4] 1 0 3 4; i64[6] 1 0 0 2 3 2; i64[4] 2 1 2 1");
  EXPECT_EQ(run(kUnique, UniqueAttrs{true, 0, false}, data, 4),
            "f32[4] 2 1 3 4; i64[4] 0 1 3 4; i64[6] 0 1 1 2 3 2; i64[4] 1 2 2 1");
}

TEST(Unique, Slices) {
  EXPECT_EQ(run(kUnique, UniqueAttrs{false, 0, true}, {i64({3, 2}, {5, 0, 1, 2, 5, 0})}, 2),
            "i64[2, 2] 1 2 5 0; i64[2] 1 0");
  EXPECT_EQ(run(kUnique, UniqueAttrs{false, -1, true}, {i64({2, 3}, {1, 0, 1, 2, 3, 2})}, 3),
            "i64[2, 2] 0 1 3 2; i64[2] 1 0; i64[3] 1 0 1");
}

}  // namespace
}  // namespace strop::ops
