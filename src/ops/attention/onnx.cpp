#include <array>
#include <cmath>
#include <limits>

#include "onnx/importer.h"
#include "ops/attention/attention.h"
#include "ops/attention/onnx_rotary.h"
#include "ops/concat/concat.h"
#include "ops/families.h"
#include "ops/fill/fill.h"
#include "ops/pad/pad.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/shape.h"
#include "ops/transpose/transpose.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// ONNX's operands and results by position.
enum Operand : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kValidLength };
enum Output : size_t { kY, kPresentKey, kPresentValue, kScores };

const Dims& dims_of(NodeContext& ctx, ValueId value) { return ctx.graph().value(value).type.tensor.dims(); }

Result<ValueId> reshape(NodeContext& ctx, ValueId value, Dims shape) {
  return ctx.emit(kReshape, ReshapeAttrs{std::move(shape), false}, {value});
}

// [b, s, heads * d] → [b, s, heads, d]; operands of rank 4 stay [b, heads, s, d].
Result<ValueId> split_heads(NodeContext& ctx, size_t operand, int64_t heads) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(operand));
  if (!type.has_rank() || type.rank() == 4) return ctx.input(operand);
  if (heads < 1) return ctx.invalid("q_num_heads and kv_num_heads are needed for operands of rank 3");
  const Dim size = floor_div(type.dim(2), Dim(heads));
  return reshape(ctx, ctx.input(operand), {type.dim(0), type.dim(1), Dim(heads), size});
}

struct KeyOrValue {
  ValueId value;
  bool heads_inner;
};

// The keys or values with the past ones before them; also the `present` result.
Result<KeyOrValue> with_past(NodeContext& ctx, KeyOrValue now, size_t past, size_t present) {
  if (!ctx.has_input(past) && !ctx.wants_output(present)) return now;
  if (now.heads_inner) {
    STROP_ASSIGN(now.value, ctx.emit(kTranspose, TransposeAttrs{{0, 2, 1, 3}}, {now.value}));
    now.heads_inner = false;
  }
  if (ctx.has_input(past)) {
    STROP_ASSIGN(now.value, ctx.emit(kConcat, ConcatAttrs{2}, {ctx.input(past), now.value}));
  }
  if (ctx.wants_output(present)) STROP_TRY(ctx.set_output(present, now.value));
  return now;
}

// A mask for fewer keys than there are excludes the others.
Result<ValueId> full_mask(NodeContext& ctx, const Dim& keys) {
  STROP_ASSIGN(const TensorType mask, ctx.tensor(kMask));
  if (!mask.has_rank() || mask.rank() < 1)
    return ctx.unsupported("operand 3 is {}; a known rank of at least 1 is needed", to_string(mask));
  const Dim& given = mask.dim(mask.rank() - 1);
  if (given == keys) return ctx.input(kMask);
  const bool both_known = given.is_constant() && keys.is_constant();
  if (both_known && given.constant() > keys.constant()) {
    return ctx.invalid("the mask is for {} keys, there are {}", given.to_string(), keys.to_string());
  }
  const double excluded = mask.dtype == DType::Bool ? 0 : -std::numeric_limits<double>::infinity();
  const ValueId fill = ctx.constant_value(Tensor::scalar(mask.dtype, excluded));
  return ctx.emit(kPad, PadAttrs{PadMode::Constant, {Dim(0), keys - given}, {Dim(-1)}}, {ctx.input(kMask), fill});
}

// bool [b, 1, 1, keys]: whether the key's index is below the batch item's number of valid keys.
Result<ValueId> valid_mask(NodeContext& ctx, const Dim& keys) {
  STROP_ASSIGN(const TensorType lengths, ctx.tensor(kValidLength));
  if (!lengths.has_rank() || lengths.rank() != 1)
    return ctx.invalid("operand 6 is {}; one number per batch item is needed", to_string(lengths));
  STROP_ASSIGN(const ValueId column, reshape(ctx, ctx.input(kValidLength), {lengths.dim(0), Dim(1), Dim(1), Dim(1)}));
  STROP_ASSIGN(const ValueId limit, ctx.emit(kDimsTensor, DimsTensorAttrs{{keys}, true}, {}));
  const auto integer = [&](int64_t value) {
    return ctx.constant_value(store_i64(DType::I64, {}, std::vector<int64_t>{value}));
  };
  STROP_ASSIGN(const ValueId indices, ctx.emit(kRange, Attrs(), {integer(0), limit, integer(1)}));
  ScalarProgram below;
  const int32_t index = below.add_input(0, DType::I64);
  int32_t length = below.add_input(1, lengths.dtype);
  if (lengths.dtype != DType::I64) length = below.add_declared(Fn::Cast, DType::I64, {length});
  below.outputs = {below.add(Fn::Less, {index, length})};
  return ctx.emit(kPointwise, PointwiseAttrs{std::move(below)}, {indices, column});
}

Result<AttentionScores> wanted_scores(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t mode, ctx.attr_int("qk_matmul_output_mode", 0));
  if (mode < 0 || mode > 3) return ctx.invalid("qk_matmul_output_mode is {}, 0 to 3 exist", mode);
  return static_cast<AttentionScores>(mode);
}

Result<AttentionAttrs> read_attributes(NodeContext& ctx, const Dim& head_size) {
  AttentionAttrs attrs;
  if (ctx.has_attr("scale")) {
    STROP_ASSIGN(attrs.scale, ctx.attr_float("scale"));
  } else {
    if (!head_size.is_constant()) return ctx.unsupported("the head size must be known, or scale given");
    attrs.scale = 1 / std::sqrt(static_cast<double>(head_size.constant()));
  }
  STROP_ASSIGN(attrs.softcap, ctx.attr_float("softcap", 0.0));
  STROP_ASSIGN(const int64_t causal, ctx.attr_int("is_causal", 0));
  attrs.causal = causal != 0;
  STROP_ASSIGN(attrs.scores, wanted_scores(ctx));
  return attrs;
}

Result<void> check_operands(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType q, ctx.tensor(kQ));
  for (const size_t i : {kQ, kK, kV}) {
    STROP_ASSIGN(const TensorType type, ctx.tensor(i));
    if (!type.has_rank()) return ctx.unsupported("the rank of operand {} must be known", i);
    if (type.rank() != q.rank() || (type.rank() != 3 && type.rank() != 4)) {
      return ctx.invalid("operand {} is {}; q, k and v have one rank, 3 or 4", i, to_string(type));
    }
  }
  if (ctx.has_input(kPastKey) != ctx.has_input(kPastValue)) return ctx.invalid("past_key and past_value come together");
  return {};
}

Result<void> import_attention(NodeContext& ctx) {
  STROP_TRY(check_operands(ctx));
  STROP_ASSIGN(const TensorType q_type, ctx.tensor(kQ));
  const bool inner = q_type.has_rank() && q_type.rank() == 3;
  STROP_ASSIGN(const int64_t q_heads, ctx.attr_int("q_num_heads", 0));
  STROP_ASSIGN(const int64_t kv_heads, ctx.attr_int("kv_num_heads", 0));
  STROP_ASSIGN(const ValueId q, split_heads(ctx, kQ, q_heads));
  STROP_ASSIGN(const ValueId k_now, split_heads(ctx, kK, kv_heads));
  STROP_ASSIGN(const ValueId v_now, split_heads(ctx, kV, kv_heads));
  STROP_ASSIGN(auto attrs, read_attributes(ctx, dims_of(ctx, q)[3]));
  STROP_ASSIGN(const KeyOrValue k, with_past(ctx, {k_now, inner}, kPastKey, kPresentKey));
  STROP_ASSIGN(const KeyOrValue v, with_past(ctx, {v_now, inner}, kPastValue, kPresentValue));
  attrs.q_heads_inner = attrs.out_heads_inner = inner;
  attrs.k_heads_inner = k.heads_inner;
  attrs.v_heads_inner = v.heads_inner;
  const Dim keys = dims_of(ctx, k.value)[k.heads_inner ? 1 : 2];
  if (ctx.has_input(kPastKey)) attrs.causal_offset = keys - dims_of(ctx, k_now)[inner ? 1 : 2];
  std::vector<ValueId> operands = {q, k.value, v.value};
  if (ctx.has_input(kMask)) {
    STROP_ASSIGN(const ValueId mask, full_mask(ctx, keys));
    operands.push_back(mask);
  }
  if (ctx.has_input(kValidLength)) {
    STROP_ASSIGN(const ValueId mask, valid_mask(ctx, keys));
    operands.push_back(mask);
  }
  const bool scores = ctx.wants_output(kScores);
  STROP_ASSIGN(const auto results, ctx.emit_many(kAttention, attrs, operands, scores ? 2 : 1));
  ValueId y = results[0];
  if (inner) {
    const Dims dims = dims_of(ctx, y);
    STROP_ASSIGN(y, reshape(ctx, y, {dims[0], dims[1], dims[2] * dims[3]}));
  }
  if (scores) STROP_TRY(ctx.set_output(kScores, results[1]));
  return ctx.set_output(kY, y);
}

}  // namespace

std::span<const onnx::Importer> attention_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Attention", import_attention, 23},
      onnx::Importer{"RotaryEmbedding", import_rotary_embedding, 23},
  };
  return kImporters;
}

}  // namespace strop::ops
