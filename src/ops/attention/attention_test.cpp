#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::f32;
using testing::infer;
using testing::run;

// Scores of q = 0 are all 0: the result is the mean of the values that are seen.
const Tensor kNoQuery = f32({2, 1}, {0, 0});
const Tensor kKeys = f32({3, 1}, {1, 2, 3});
const Tensor kValues = f32({3, 2}, {1, 10, 2, 20, 6, 60});

Tensor seen(const std::vector<int64_t>& keys) {
  return store_i64(DType::Bool, {static_cast<int64_t>(keys.size())}, keys);
}

TEST(Attention, MeansOfWhatIsSeen) {
  AttentionAttrs attrs;
  EXPECT_EQ(run(kAttention, attrs, {kNoQuery, kKeys, kValues}), "f32[2, 2] 3 30 3 30");
  EXPECT_EQ(run(kAttention, attrs, {kNoQuery, kKeys, kValues, seen({1, 0, 1})}), "f32[2, 2] 3.5 35 3.5 35");
  EXPECT_EQ(
      run(kAttention, attrs, {kNoQuery, kKeys, kValues, seen({1, 1, 0}), f32({2, 3}, {0, -INFINITY, 0, 0, 0, 0})}),
      "f32[2, 2] 1 10 1.5 15");
  attrs.causal = true;
  EXPECT_EQ(run(kAttention, attrs, {kNoQuery, kKeys, kValues}), "f32[2, 2] 1 10 1.5 15");
  attrs.causal_offset = Dim(1);
  EXPECT_EQ(run(kAttention, attrs, {kNoQuery, kKeys, kValues}), "f32[2, 2] 1.5 15 3 30");
  attrs.causal_offset = Dim(-1);
  attrs.zero_if_masked = true;
  EXPECT_EQ(run(kAttention, attrs, {kNoQuery, kKeys, kValues}), "f32[2, 2] 0 0 1 10");
}

TEST(Attention, Scores) {
  AttentionAttrs attrs;
  attrs.scale = 2;
  const Tensor q = f32({1, 1}, {3});
  const auto scores = [&](AttentionScores at) {
    attrs.scores = at;
    const std::string both = run(kAttention, attrs, {q, kKeys, kValues, seen({1, 1, 0})}, 2);
    return both.substr(both.find("; ") + 2);
  };
  EXPECT_EQ(scores(AttentionScores::Scaled), "f32[1, 3] 6 12 18");
  EXPECT_EQ(scores(AttentionScores::Masked), "f32[1, 3] 6 12 -inf");
  attrs.softcap = 1e-3;  // saturates
  EXPECT_EQ(scores(AttentionScores::Capped),
            "f32[1, 3] 0.0010000000474974513 0.0010000000474974513 0.0010000000474974513");
  EXPECT_EQ(scores(AttentionScores::Softmax), "f32[1, 3] 0.5 0.5 0");
}

TEST(Attention, LayoutsAgree) {
  // Two heads of one query and two keys; head 1 sees other values.
  const Tensor q = f32({2, 1, 1}, {0, 0});
  const Tensor k = f32({2, 2, 1}, {1, 2, 3, 4});
  const Tensor v = f32({2, 2, 1}, {1, 3, 10, 30});
  EXPECT_EQ(run(kAttention, AttentionAttrs{}, {q, k, v}), "f32[2, 1, 1] 2 20");
  AttentionAttrs attrs;
  attrs.q_heads_inner = attrs.v_heads_inner = attrs.out_heads_inner = true;
  attrs.k_transposed = true;
  EXPECT_EQ(run(kAttention, attrs, {q.reshaped({1, 2, 1}), k.reshaped({2, 1, 2}), f32({2, 2, 1}, {1, 10, 3, 30})}),
            "f32[1, 2, 1] 2 20");
}

TEST(Attention, GroupedHeads) {
  const Tensor q = f32({4, 1, 1}, {0, 0, 0, 0});
  const Tensor kv = f32({2, 1, 1}, {7, 8});
  EXPECT_EQ(run(kAttention, AttentionAttrs{}, {q, kv, kv}), "f32[4, 1, 1] 7 7 8 8");
}

TEST(Attention, Types) {
  const Dim b = Dim::symbol("b");
  const Dim s = Dim::symbol("s");
  const Type q(DType::F16, {b, 8, s, 64});
  const Type kv(DType::F16, {b, 2, s + Dim(1), 64});
  EXPECT_EQ(infer(kAttention, AttentionAttrs{}, {q, kv, kv}, {}, 2), "f16[b, 8, s, 64]; f16[b, 8, s, s + 1]");
  EXPECT_EQ(infer(kAttention, AttentionAttrs{}, {q, kv, Type(DType::F32, {b, 2, s, 64})}),
            "error: (C1) operand 2 is f32[b, 2, s, 64]");
  const Type three(DType::F16, {b, 3, s, 64});
  EXPECT_EQ(infer(kAttention, AttentionAttrs{}, {q, three, three}), "error: (C3) 8 heads of q, 3 of k, 3 of v");
  EXPECT_EQ(infer(kAttention, AttentionAttrs{}, {q, kv, kv, Type(DType::Bool, {b, 3, 1, 1})}).substr(0, 11),
            "error: (C4)");
}

}  // namespace
}  // namespace strop::ops
