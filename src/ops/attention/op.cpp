#include <array>
#include <cmath>
#include <limits>

#include "ops/attention/attention.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

bool differ(const Dim& a, const Dim& b) { return a.is_constant() && b.is_constant() && !(a == b); }

// [.., m, heads, d] → [.., heads, m, d].
Dims heads_outer(Dims dims, bool heads_inner) {
  if (heads_inner && dims.size() >= 3) std::swap(dims[dims.size() - 3], dims[dims.size() - 2]);
  return dims;
}

// (C4) masks are bool or of q's type and broadcast to the scores.
Result<void> check_masks(const InferContext& ctx, DType dtype, const Shape& scores) {
  for (size_t i = kAttentionMaskInput; i < own_operands(ctx.inputs.size(), ctx.late); ++i) {
    if (!ctx.has_input(i)) continue;
    STROP_ASSIGN(const TensorType mask, ctx.tensor(i));
    if (mask.dtype != DType::Bool && mask.dtype != dtype) return violates("(C4) mask {} is {}", i, to_string(mask));
    if (!mask.has_rank() || !scores) continue;
    const auto together = broadcast(mask.dims(), *scores);
    if (!together.ok() || together->size() != scores->size()) {
      return violates("(C4) mask {} is {} and does not broadcast to {}", i, to_string(mask), to_string(*scores));
    }
  }
  return {};
}

Result<void> infer_attention(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<AttentionAttrs>();
  std::array<TensorType, 3> qkv;
  bool ranked = true;
  for (size_t i = 0; i < 3; ++i) {
    STROP_ASSIGN(qkv[i], ctx.tensor(i));
    ranked = ranked && qkv[i].has_rank();
    // (C1) one floating type.
    if (!is_float(qkv[i].dtype) || qkv[i].dtype != qkv[0].dtype)
      return violates("(C1) operand {} is {}", i, to_string(qkv[i]));
  }
  TensorType result{qkv[0].dtype, std::nullopt, {}};
  TensorType scores = result;
  if (ranked) {
    STROP_ASSIGN(const AttentionDims dims, attention_dims(attrs, qkv[0].dims(), qkv[1].dims(), qkv[2].dims()));
    result.shape = dims.result(attrs.out_heads_inner);
    scores.shape = dims.scores();
  }
  STROP_TRY(check_masks(ctx, qkv[0].dtype, scores.shape));
  ctx.outputs[0] = result;
  if (ctx.wants_output(1)) ctx.outputs[1] = scores;
  return {};
}

struct Operand {
  std::vector<double> values;
  HeadStrides at;

  const double* head(size_t batch, int64_t head) const { return values.data() + at.batch[batch] + head * at.head; }
};

struct Reference {
  const AttentionAttrs& attrs;
  int64_t heads = 1, group = 1, m = 0, n = 0, d = 0, e = 0;
  int64_t causal_offset = 0;
  Operand q, k, v;
  std::vector<Operand> masks;
  std::vector<bool> is_bool;

  // What masks make of a score; nullopt: the key is excluded.
  std::optional<double> masked(double score, size_t batch, int64_t head, int64_t i, int64_t j) const {
    if (attrs.causal && j > i + causal_offset) return std::nullopt;
    for (size_t mask = 0; mask < masks.size(); ++mask) {
      const double value = masks[mask].head(batch, head)[i * masks[mask].at.row + j * masks[mask].at.column];
      if (is_bool[mask] && value == 0) return std::nullopt;
      if (!is_bool[mask]) score += value;
    }
    return score;
  }
};

// One query: the result's row and, where scores are wanted, theirs.
struct Query {
  size_t batch = 0;
  int64_t head = 0, i = 0;
  double* out = nullptr;
  int64_t out_column = 1;
  double* scores = nullptr;

  void record(int64_t j, double score) const {
    if (scores != nullptr) scores[j] = score;
  }
};

using Row = std::vector<std::optional<double>>;  // per key; nullopt: excluded

Row masked_scores(const Reference& r, const Query& query) {
  const double* q = r.q.head(query.batch, query.head) + query.i * r.q.at.row;
  const double* k = r.k.head(query.batch, query.head / r.group);
  Row row(static_cast<size_t>(r.n));
  for (int64_t j = 0; j < r.n; ++j) {
    double score = 0;
    for (int64_t c = 0; c < r.d; ++c) score += q[c * r.q.at.column] * k[j * r.k.at.row + c * r.k.at.column];
    score *= r.attrs.scale;
    if (r.attrs.scores == AttentionScores::Scaled) query.record(j, score);
    if (r.attrs.softcap != 0) score = r.attrs.softcap * std::tanh(score / r.attrs.softcap);
    if (r.attrs.scores == AttentionScores::Capped) query.record(j, score);
    row[static_cast<size_t>(j)] = r.masked(score, query.batch, query.head, query.i, j);
    if (r.attrs.scores == AttentionScores::Masked) query.record(j, row[static_cast<size_t>(j)].value_or(kLowest));
  }
  return row;
}

// Scores become weights; excluded keys stay so.
void softmax(const AttentionAttrs& attrs, Row& row) {
  double most = kLowest;
  for (const auto& score : row) {
    if (score && (std::isnan(*score) || *score > most)) most = std::isnan(most) ? most : *score;
  }
  if (most == kLowest) {
    std::fill(row.begin(), row.end(), attrs.zero_if_masked ? 0 : std::numeric_limits<double>::quiet_NaN());
    return;
  }
  double sum = 0;
  for (auto& score : row) {
    if (score) sum += *(score = std::exp(*score - most));
  }
  for (auto& score : row) {
    if (score) *score /= sum;
  }
}

void evaluate_query(const Reference& r, const Query& query) {
  Row row = masked_scores(r, query);
  softmax(r.attrs, row);
  const double* v = r.v.head(query.batch, query.head / r.group);
  for (int64_t c = 0; c < r.e; ++c) query.out[c * query.out_column] = 0;
  for (int64_t j = 0; j < r.n; ++j) {
    const auto& weight = row[static_cast<size_t>(j)];
    if (r.attrs.scores == AttentionScores::Softmax) query.record(j, weight.value_or(0));
    if (!weight || (*weight == 0 && r.attrs.zero_if_masked)) continue;
    for (int64_t c = 0; c < r.e; ++c) {
      query.out[c * query.out_column] += *weight * v[j * r.v.at.row + c * r.v.at.column];
    }
  }
}

Operand load_operand(const Tensor& tensor, bool heads_inner, const std::vector<int64_t>& batch) {
  return {load_f64(tensor), head_strides(tensor.dims(), heads_inner, batch)};
}

// The operands as evaluation wants them; sizes were checked by inference on the concrete types.
Reference describe(const EvalContext& ctx, const AttentionDims& dims) {
  const auto& attrs = ctx.attrs.as<AttentionAttrs>();
  Reference r{attrs,
              dims.heads.constant(),
              1,
              dims.m.constant(),
              dims.n.constant(),
              dims.d.constant(),
              dims.e.constant(),
              attrs.causal ? attrs.causal_offset.constant() : 0,
              {},
              {},
              {},
              {},
              {}};
  r.group = r.heads / std::max<int64_t>(dims.kv_heads.constant(), 1);
  const auto batch = bound(dims.batch);
  r.q = load_operand(ctx.in(0), attrs.q_heads_inner, batch);
  r.k = load_operand(ctx.in(1), attrs.k_heads_inner, batch);
  if (attrs.k_transposed) std::swap(r.k.at.row, r.k.at.column);
  r.v = load_operand(ctx.in(2), attrs.v_heads_inner, batch);
  for (size_t i = kAttentionMaskInput; i < ctx.inputs.size(); ++i) {
    if (!ctx.has_input(i)) continue;
    r.masks.push_back(load_operand(ctx.in(i), false, batch));
    r.is_bool.push_back(ctx.in(i).dtype() == DType::Bool);
  }
  return r;
}

Result<void> evaluate_attention(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<AttentionAttrs>();
  STROP_ASSIGN(const AttentionDims dims,
               attention_dims(attrs, to_dims(ctx.in(0).dims()), to_dims(ctx.in(1).dims()), to_dims(ctx.in(2).dims())));
  const Reference r = describe(ctx, dims);
  const auto out_dims = bound(dims.result(attrs.out_heads_inner));
  const auto score_dims = bound(dims.scores());
  const auto out_at = head_strides(out_dims, attrs.out_heads_inner, bound(dims.batch));
  std::vector<double> out(static_cast<size_t>(element_count(out_dims)));
  std::vector<double> scores(ctx.wants(1) ? static_cast<size_t>(element_count(score_dims)) : 0);
  const auto batches = static_cast<int64_t>(out_at.batch.size());
  parallel_for(ctx.threads, batches * r.heads * r.m, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t item = begin; item < end; ++item) {
      Query query{static_cast<size_t>(item / r.m / r.heads), item / r.m % r.heads, item % r.m, nullptr, 1, nullptr};
      query.out = out.data() + out_at.batch[query.batch] + query.head * out_at.head + query.i * out_at.row;
      if (ctx.wants(1)) query.scores = scores.data() + item * r.n;
      evaluate_query(r, query);
    }
  });
  const DType dtype = ctx.in(0).dtype();
  ctx.outputs[0] = store_f64(dtype, out_dims, out);
  if (ctx.wants(1)) ctx.outputs[1] = store_f64(dtype, score_dims, scores);
  return {};
}

}  // namespace

Dims AttentionDims::result(bool heads_inner) const {
  Dims dims = batch;
  if (has_heads) dims.push_back(heads);
  dims.push_back(m);
  dims.push_back(e);
  return heads_outer(std::move(dims), heads_inner);
}

Dims AttentionDims::scores() const {
  Dims dims = batch;
  if (has_heads) dims.push_back(heads);
  dims.push_back(m);
  dims.push_back(n);
  return dims;
}

Result<AttentionDims> attention_dims(const AttentionAttrs& attrs, const Dims& q, const Dims& k, const Dims& v) {
  const size_t rank = q.size();
  // (C2) one rank, at least 2.
  if (rank < 2 || k.size() != rank || v.size() != rank) {
    return violates("(C2) q, k and v have ranks {}, {} and {}; one rank of at least 2 is needed", rank, k.size(),
                    v.size());
  }
  const Dims queries = heads_outer(q, attrs.q_heads_inner);
  const Dims keys = heads_outer(k, attrs.k_heads_inner);
  const Dims values = heads_outer(v, attrs.v_heads_inner);
  AttentionDims dims;
  dims.m = queries[rank - 2];
  dims.d = queries[rank - 1];
  dims.n = keys[rank - (attrs.k_transposed ? 1 : 2)];
  dims.e = values[rank - 1];
  dims.has_heads = rank > 2;
  // (C3) sizes agree: d, n, heads.
  if (differ(dims.d, keys[rank - (attrs.k_transposed ? 2 : 1)]) || differ(dims.n, values[rank - 2])) {
    return violates("(C3) q {}, k {} and v {} do not fit together", to_string(q), to_string(k), to_string(v));
  }
  if (!dims.has_heads) return dims;
  dims.heads = queries[rank - 3];
  dims.kv_heads = keys[rank - 3];
  const auto heads = dims.heads.as_constant();
  const auto kv_heads = dims.kv_heads.as_constant();
  if (differ(dims.kv_heads, values[rank - 3]) ||
      (heads && kv_heads && (*kv_heads == 0 ? *heads != 0 : *heads % *kv_heads != 0))) {
    return violates("(C3) {} heads of q, {} of k, {} of v", dims.heads.to_string(), dims.kv_heads.to_string(),
                    values[rank - 3].to_string());
  }
  const auto batch_of = [rank](const Dims& all) {
    return Dims(all.begin(), all.begin() + static_cast<int64_t>(rank) - 3);
  };
  STROP_ASSIGN(dims.batch, broadcast(batch_of(queries), batch_of(keys)));
  STROP_ASSIGN(dims.batch, broadcast(dims.batch, batch_of(values)));
  return dims;
}

HeadStrides head_strides(const std::vector<int64_t>& dims, bool heads_inner, const std::vector<int64_t>& batch) {
  auto strides = strides_of(dims);
  auto sizes = dims;
  if (heads_inner && dims.size() >= 3) {
    std::swap(strides[dims.size() - 3], strides[dims.size() - 2]);
    std::swap(sizes[dims.size() - 3], sizes[dims.size() - 2]);
  }
  // Counted from the last axis: 0 column, 1 row, 2 head, then batch axes.
  const auto stride = [&](size_t from_end) {
    const bool own = from_end < sizes.size() && sizes[sizes.size() - 1 - from_end] != 1;
    return own ? strides[sizes.size() - 1 - from_end] : 0;
  };
  HeadStrides result{{0}, stride(2), stride(1), stride(0)};
  for (size_t axis = 0; axis < batch.size(); ++axis) {
    std::vector<int64_t> longer;
    for (const int64_t base : result.batch) {
      for (int64_t i = 0; i < batch[axis]; ++i) longer.push_back(base + i * stride(batch.size() - axis + 2));
    }
    result.batch = std::move(longer);
  }
  return result;
}

const Operator kAttention = {
    .name = "Attention",
    .make_attrs = [] { return Attrs(AttentionAttrs{}); },
    .infer = infer_attention,
    .evaluate = evaluate_attention,
    .cases = attention_cases,
};

std::span<const Operator* const> attention_operators() {
  static constexpr std::array kOperators = {&kAttention};
  return kOperators;
}

}  // namespace strop::ops
