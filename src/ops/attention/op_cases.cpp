#include "ops/attention/attention.h"

namespace strop::ops {
namespace {

AttentionAttrs scaled(double scale = 0.125) {
  AttentionAttrs attrs;
  attrs.scale = scale;
  return attrs;
}

AttentionAttrs causal(int64_t offset = 0) {
  AttentionAttrs attrs = scaled();
  attrs.causal = true;
  attrs.causal_offset = Dim(offset);
  return attrs;
}

AttentionAttrs heads_inner() {
  AttentionAttrs attrs = scaled();
  attrs.q_heads_inner = attrs.k_heads_inner = attrs.v_heads_inner = attrs.out_heads_inner = true;
  return attrs;
}

AttentionAttrs transposed_keys() {
  AttentionAttrs attrs = scaled();
  attrs.k_transposed = true;
  return attrs;
}

AttentionAttrs capped() {
  AttentionAttrs attrs = scaled();
  attrs.softcap = 2.5;
  return attrs;
}

AttentionAttrs zero_if_masked() {
  AttentionAttrs attrs = causal(-2);
  attrs.zero_if_masked = true;
  return attrs;
}

Type f32(const std::vector<int64_t>& dims) { return Type(DType::F32, to_dims(dims)); }
Type boolean(const std::vector<int64_t>& dims) { return Type(DType::Bool, to_dims(dims)); }

// The first half of the keys only.
Tensor half_mask(int64_t n) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = i < (n + 1) / 2 ? 1 : 0;
  return store_i64(DType::Bool, {1, 1, 1, n}, values);
}

// The last quarter of the keys only.
Tensor late_mask(int64_t n) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = i >= n * 3 / 4 ? 1 : 0;
  return store_i64(DType::Bool, {1, 1, 1, n}, values);
}

}  // namespace

std::vector<WorkedCase> attention_cases() {
  const Type q = f32({2, 3, 17, 16});
  const Type k = f32({2, 3, 29, 16});
  const Type v = f32({2, 3, 29, 24});
  const std::vector<Type> inner = {f32({2, 17, 3, 16}), f32({2, 29, 3, 16}), f32({2, 29, 3, 24})};
  const std::vector<Type> wide = {f32({1, 2, 70, 64}), f32({1, 2, 150, 64}), f32({1, 2, 150, 64})};
  return {
      {"plain", scaled(), {q, k, v}},
      {"wide", scaled(), wide},
      {"heads_inner", heads_inner(), inner},
      {"transposed_keys", transposed_keys(), {q, f32({2, 3, 16, 29}), v}},
      {"added_mask", scaled(), {q, k, v, f32({2, 1, 1, 29})}},
      {"added_mask_full", scaled(), {q, k, v, f32({3, 17, 29})}},
      {"bool_mask", scaled(), {q, k, v, boolean({1, 1, 1, 29})}, 1, {{3, half_mask(29)}}},
      {"two_masks", scaled(), {q, k, v, f32({1, 3, 17, 29}), f32({2, 1, 1, 29})}},
      {"causal", causal(), {f32({2, 3, 33, 16}), f32({2, 3, 33, 16}), f32({2, 3, 33, 16})}},
      {"causal_with_past", causal(12), {q, k, v}},
      {"causal_wide", causal(80), wide},
      {"nothing_seen", zero_if_masked(), {q, k, v}},
      {"softcap", capped(), {q, k, v}},
      {"grouped_heads", scaled(), {f32({2, 6, 9, 16}), f32({2, 2, 29, 16}), f32({2, 2, 29, 16})}},
      {"many_blocks", scaled(), {f32({1, 1, 250, 16}), f32({1, 1, 600, 16}), f32({1, 1, 600, 20})}},
      {"many_blocks_late_keys",
       scaled(),
       {f32({1, 1, 9, 16}), f32({1, 1, 600, 16}), f32({1, 1, 600, 16}), boolean({1, 1, 1, 600})},
       1,
       {{3, late_mask(600)}}},
      {"many_blocks_causal", causal(300), {f32({1, 2, 100, 16}), f32({1, 2, 400, 16}), f32({1, 2, 400, 16})}},
      {"few_queries_added_mask",
       scaled(),
       {f32({2, 2, 3, 16}), f32({2, 2, 300, 16}), f32({2, 2, 300, 16}), f32({2, 1, 3, 300})}},
      {"mask_per_query", scaled(), {q, k, v, f32({17, 1}), boolean({2, 1, 17, 29})}},
      {"negative_scale", scaled(-0.2), {q, k, v}},
      {"one_query", scaled(), {f32({2, 4, 1, 32}), f32({2, 2, 100, 32}), f32({2, 2, 100, 32})}},
      {"shared_keys", scaled(), {f32({2, 3, 9, 16}), f32({1, 3, 29, 16}), f32({1, 3, 29, 16})}},
      {"odd_sizes", scaled(), {f32({1, 1, 7, 5}), f32({1, 1, 11, 5}), f32({1, 1, 11, 3})}},
      {"matrices", scaled(), {f32({7, 8}), f32({11, 8}), f32({11, 8})}},
      {"three_axes", scaled(), {f32({4, 7, 8}), f32({4, 11, 8}), f32({4, 11, 8})}},
      {"scores", scaled(), {q, k, v, f32({2, 1, 1, 29})}, 2},
      {"f16",
       scaled(),
       {Type(DType::F16, {1, 2, 5, 8}), Type(DType::F16, {1, 2, 9, 8}), Type(DType::F16, {1, 2, 9, 8})}},
  };
}

}  // namespace strop::ops
