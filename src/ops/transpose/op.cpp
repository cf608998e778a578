#include <algorithm>
#include <array>
#include <numeric>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/transpose/transpose.h"

namespace strop::ops {
namespace {

Result<void> infer_transpose(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& given = ctx.attrs.as<TransposeAttrs>().perm;
  if (!input.has_rank()) {
    ctx.outputs[0] = Type::unranked(input.dtype);
    if (!given.empty()) ctx.outputs[0] = Type(input.dtype, unbacked_dims(ctx, static_cast<int64_t>(given.size())));
    return {};
  }
  STROP_ASSIGN(const auto perm, full_permutation(given, input.rank()));
  Dims dims;
  for (const int64_t axis : perm) dims.push_back(input.dim(axis));
  if (dims.size() <= 1) ctx.known_outputs[0] = ctx.known_inputs[0];
  ctx.outputs[0] = Type(input.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_transpose(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  STROP_ASSIGN(const auto perm, full_permutation(ctx.attrs.as<TransposeAttrs>().perm, input.rank()));
  const auto strides = strides_of(input.dims());
  AxisTables tables;
  for (const int64_t axis : perm) tables.push_back(affine_table(input.dim(axis), strides[static_cast<size_t>(axis)]));
  ctx.outputs[0] = gather_by_axes(input, tables, ctx.threads);
  return {};
}

std::vector<WorkedCase> transpose_cases() {
  return {
      {"matrix_f32", TransposeAttrs{{1, 0}}, {Type(DType::F32, {37, 53})}},
      {"reverse_all_f64", TransposeAttrs{}, {Type(DType::F64, {3, 5, 7})}},
      {"heads_f32", TransposeAttrs{{0, 2, 1, 3}}, {Type(DType::F32, {2, 17, 4, 16})}},
      {"nchw_to_nhwc_f16", TransposeAttrs{{0, 2, 3, 1}}, {Type(DType::F16, {2, 19, 5, 7})}},
      {"keys_f32", TransposeAttrs{{0, 2, 3, 1}}, {Type(DType::F32, {1, 33, 4, 16})}},
      {"five_axes_u8", TransposeAttrs{{4, 0, 3, 1, 2}}, {Type(DType::U8, {2, 3, 4, 5, 6})}},
      {"complex_c128", TransposeAttrs{{1, 0}}, {Type(DType::C128, {5, 9})}},
      {"empty_f32", TransposeAttrs{{1, 0}}, {Type(DType::F32, {0, 4})}},
      {"scalar_f32", TransposeAttrs{}, {Type(DType::F32, {})}},
      {"packed_i4", TransposeAttrs{{1, 0}}, {Type(DType::I4, {3, 5})}},
  };
}

}  // namespace

Result<std::vector<int64_t>> full_permutation(const std::vector<int64_t>& perm, int64_t rank) {
  std::vector<int64_t> result(static_cast<size_t>(rank));
  std::iota(result.begin(), result.end(), int64_t{0});
  if (perm.empty()) {
    std::reverse(result.begin(), result.end());
    return result;
  }
  if (!std::is_permutation(perm.begin(), perm.end(), result.begin(), result.end())) {
    return violates("(C1) perm {} is not a permutation of the {} axes", to_string(to_dims(perm)), rank);
  }
  return perm;
}

const Operator kTranspose = {
    .name = "Transpose",
    .make_attrs = [] { return Attrs(TransposeAttrs{}); },
    .infer = infer_transpose,
    .evaluate = evaluate_transpose,
    .cases = transpose_cases,
};

std::span<const Operator* const> transpose_operators() {
  static constexpr std::array kOperators = {&kTranspose};
  return kOperators;
}

}  // namespace strop::ops
