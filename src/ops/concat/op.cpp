#include <array>

#include "ops/concat/concat.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

// Dimensions of operand `index` joined into `dims` (other axes than `axis` must agree; constants win over symbols).
Result<void> join(Dims& dims, const Dims& more, size_t axis, size_t index) {
  if (dims.size() != more.size())
    return violates("(C2) operand {} has rank {}, operand 0 has {}", index, more.size(), dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == axis) {
      dims[i] = dims[i] + more[i];
    } else if (dims[i].is_constant() && more[i].is_constant() && !(dims[i] == more[i])) {
      return violates("(C3) operand {} has {} in axis {}, others {}", index, more[i].constant(), i, dims[i].constant());
    } else if (more[i].is_constant() || (dims[i].is_unbacked() && !more[i].is_unbacked())) {
      dims[i] = more[i];
    }
  }
  return {};
}

void infer_known(InferContext& ctx) {
  Dims contents;
  for (const auto& known : ctx.known_inputs) {
    if (!known) return;
    contents.insert(contents.end(), known->begin(), known->end());
  }
  ctx.known_outputs[0] = std::move(contents);
}

Result<void> infer_concat(InferContext& ctx) {
  if (ctx.inputs.empty()) return violates("(C1) no operands");
  const int64_t given_axis = ctx.attrs.as<ConcatAttrs>().axis;
  std::optional<Dims> dims;
  bool all_ranked = true;
  DType dtype = DType::Undefined;
  size_t axis = 0;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    STROP_ASSIGN(const TensorType input, ctx.tensor(i));
    if (i > 0 && input.dtype != dtype)
      return violates("(C4) operand {} is {}, operand 0 {}", i, to_string(input.dtype), to_string(dtype));
    dtype = input.dtype;
    all_ranked = all_ranked && input.has_rank();
    if (!input.has_rank()) continue;
    if (!dims) {
      STROP_ASSIGN(const int64_t normal, normalize_axis(given_axis, input.rank(), "(C1) axis"));
      axis = static_cast<size_t>(normal);
      dims = input.dims();
    } else {
      STROP_TRY(join(*dims, input.dims(), axis, i));
    }
  }
  if (!dims) return ctx.outputs[0] = Type::unranked(dtype), Result<void>();
  if (!all_ranked) (*dims)[axis] = ctx.unbacked();
  if (dims->size() == 1) infer_known(ctx);
  ctx.outputs[0] = Type(dtype, *std::move(dims));
  return {};
}

Result<void> evaluate_concat(EvalContext& ctx) {
  auto dims = ctx.in(0).dims();
  STROP_ASSIGN(const int64_t axis, normalize_axis(ctx.attrs.as<ConcatAttrs>().axis, ctx.in(0).rank(), "(C1) axis"));
  const auto at = static_cast<size_t>(axis);
  dims[at] = 0;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    auto other = ctx.in(i).dims();
    if (other.size() != dims.size()) return bad_data("Concat: operand {} has another rank than operand 0", i);
    const int64_t size = std::exchange(other[at], dims[at]);
    if (other != dims) return bad_data("Concat: operand {} has other dimensions than operand 0", i);
    dims[at] += size;
  }
  const int64_t outer = count_between(dims, 0, axis);
  const int64_t inner = count_between(dims, axis + 1, static_cast<int64_t>(dims.size()));
  const int64_t row = dims[at] * inner;
  Tensor result(ctx.in(0).dtype(), dims);
  int64_t first = 0;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    const int64_t part = ctx.in(i).dim(axis) * inner;
    for (int64_t o = 0; o < outer; ++o) copy_elements(result, o * row + first, ctx.in(i), o * part, part);
    first += part;
  }
  ctx.outputs[0] = std::move(result);
  return {};
}

std::vector<WorkedCase> concat_cases() {
  return {
      {"channels_f32", ConcatAttrs{1}, {Type(DType::F32, {2, 3, 5, 7}), Type(DType::F32, {2, 4, 5, 7})}},
      {"last_axis_f16",
       ConcatAttrs{-1},
       {Type(DType::F16, {3, 1}), Type(DType::F16, {3, 5}), Type(DType::F16, {3, 0})}},
      {"first_axis_i64", ConcatAttrs{0}, {Type(DType::I64, {2}), Type(DType::I64, {3})}},
      {"one_operand_f32", ConcatAttrs{0}, {Type(DType::F32, {4, 2})}},
      {"packed_i4", ConcatAttrs{1}, {Type(DType::I4, {3, 3}), Type(DType::I4, {3, 2})}},
  };
}

std::optional<int64_t> concat_axis(const Attrs& attrs, int64_t rank) {
  const int64_t axis = attrs.as<ConcatAttrs>().axis;
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

const Operator kConcat = {
    .name = "Concat",
    .make_attrs = [] { return Attrs(ConcatAttrs{}); },
    .infer = infer_concat,
    .evaluate = evaluate_concat,
    .cases = concat_cases,
    .concat_axis = concat_axis,
};

std::span<const Operator* const> concat_operators() {
  static constexpr std::array kOperators = {&kConcat};
  return kOperators;
}

}  // namespace strop::ops
