/// Scaled dot-product attention.
#pragma once

#include <array>

#include "ops/operator.h"

namespace strop::ops {

/// What the second result of Attention holds.
enum class AttentionScores : uint8_t {
  Scaled,   ///< scale * q · k
  Capped,   ///< after softcap
  Masked,   ///< after the masks: -inf where a key is excluded
  Softmax,  ///< the weights of v
};
template <>
inline constexpr auto kEnumNames<AttentionScores> = std::to_array<std::string_view>({"scaled", "capped", "masked",
                                                                                     "softmax"});

/// softmax over the keys of (softcap(scale * q · k) + masks), times v.
///
/// Operands: q [.., heads, m, d], k [.., kv_heads, n, d] ([.., kv_heads, d, n] with k_transposed), v [.., kv_heads, n,
/// e], of one rank (2: one head); then any number of masks that broadcast to [.., heads, m, n]: bool (false excludes
/// the key) or of q's dtype (added). With *_heads_inner an operand or the result is [.., m, heads, d]: what a
/// projection gives. kv_heads divides heads: query head h uses head h / (heads / kv_heads). Axes before heads
/// broadcast. Results: 0 [.., heads, m, e]; 1 if wanted, the scores [.., heads, m, n] at `scores`.
///
/// An excluded key has weight 0; whether a NaN or infinity in its v spreads is not specified. A query whose keys are
/// all excluded or at -inf gives NaN, or 0 with zero_if_masked; without keys (n = 0) the result is 0. Everything is
/// computed in double and rounded once.
struct AttentionAttrs {
  double scale = 1;
  double softcap = 0;   ///< softcap * tanh(x / softcap); 0: none
  bool causal = false;  ///< query i excludes the keys after i + causal_offset
  Dim causal_offset;
  bool k_transposed = false;
  bool q_heads_inner = false;
  bool k_heads_inner = false;
  bool v_heads_inner = false;
  bool out_heads_inner = false;
  bool zero_if_masked = false;
  AttentionScores scores = AttentionScores::Scaled;
  static constexpr auto fields = std::make_tuple(
      field("scale", &AttentionAttrs::scale), field("softcap", &AttentionAttrs::softcap),
      field("causal", &AttentionAttrs::causal), field("causal_offset", &AttentionAttrs::causal_offset),
      field("k_transposed", &AttentionAttrs::k_transposed), field("q_heads_inner", &AttentionAttrs::q_heads_inner),
      field("k_heads_inner", &AttentionAttrs::k_heads_inner), field("v_heads_inner", &AttentionAttrs::v_heads_inner),
      field("out_heads_inner", &AttentionAttrs::out_heads_inner),
      field("zero_if_masked", &AttentionAttrs::zero_if_masked), field("scores", &AttentionAttrs::scores));
};
extern const Operator kAttention;

/// The first mask's index among the node's inputs.
inline constexpr size_t kAttentionMaskInput = 3;

/// The sizes of an attention, symbolic or concrete.
struct AttentionDims {
  Dims batch;  ///< axes before heads
  Dim heads = 1, kv_heads = 1;
  Dim m, n, d, e;
  bool has_heads = false;  ///< rank above 2

  Dims result(bool heads_inner) const;
  Dims scores() const;
};
/// Errors: (C2) ranks, (C3) sizes that contradict each other.
Result<AttentionDims> attention_dims(const AttentionAttrs& attrs, const Dims& q, const Dims& k, const Dims& v);

/// Where the elements of an operand or result lie: of batch item b (flattened over the result's batch axes), head h,
/// row i and column j at batch[b] + h * head + i * row + j * column.
struct HeadStrides {
  std::vector<int64_t> batch;
  int64_t head = 0, row = 0, column = 0;
};
/// Of a dense tensor of `dims` with `heads_inner`, against concrete batch dimensions. Axes of size 1 that broadcast
/// have stride 0; masks may have fewer axes.
HeadStrides head_strides(const std::vector<int64_t>& dims, bool heads_inner, const std::vector<int64_t>& batch);

std::vector<WorkedCase> attention_cases();

}  // namespace strop::ops
