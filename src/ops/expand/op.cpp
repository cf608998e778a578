#include <algorithm>
#include <array>

#include "ops/element_map.h"
#include "ops/expand/expand.h"
#include "ops/families.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

// Shape vectors are short; longer tensors are not worth tracking symbolically.
constexpr int64_t kMaxKnown = 64;

// The contents of a small vector or scalar repeated to `count` elements.
void repeat_known(InferContext& ctx, const Dims& dims) {
  const auto& contents = ctx.known_inputs[0];
  const auto count = product(dims).as_constant();
  if (!contents || contents->empty() || dims.size() > 1 || !count || *count > kMaxKnown) return;
  Dims result;
  for (int64_t i = 0; i < *count; ++i) result.push_back((*contents)[static_cast<size_t>(i) % contents->size()]);
  ctx.known_outputs[0] = std::move(result);
}

Result<void> infer_expand(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<ExpandAttrs>();
  const auto shape = dims_field(ctx, "shape", attrs.shape);
  const auto length = dims_field_length(ctx, "shape", attrs.shape);
  if (!input.has_rank() || !length) return ctx.outputs[0] = Type::unranked(input.dtype), Result<void>();
  if (!shape) {
    ctx.outputs[0] = Type(input.dtype, unbacked_dims(ctx, std::max(*length, input.rank())));
    return {};
  }
  for (const Dim& dim : *shape) {
    if (dim.as_constant().value_or(0) < 0)
      return violates("(C2) the shape {} has a negative dimension", to_string(*shape));
  }
  STROP_ASSIGN(Dims dims, broadcast(input.dims(), *shape));
  STROP_TRY(check_sizes(dims));
  repeat_known(ctx, dims);
  ctx.outputs[0] = Type(input.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_expand(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  STROP_ASSIGN(const Dims shape, broadcast(to_dims(input.dims()), ctx.attrs.as<ExpandAttrs>().shape));
  const auto dims = bound(shape);
  const auto strides = strides_of(input.dims());
  const size_t lead = dims.size() - input.dims().size();
  AxisTables tables;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool repeats = i < lead || input.dims()[i - lead] == 1;
    tables.push_back(affine_table(dims[i], repeats ? 0 : strides[i - lead]));
  }
  ctx.outputs[0] = gather_by_axes(input, tables, ctx.threads);
  return {};
}

std::vector<WorkedCase> expand_cases() {
  return {
      {"rows_f32", ExpandAttrs{{5, 7}}, {Type(DType::F32, {1, 7})}},
      {"columns_f32", ExpandAttrs{{1, 9}}, {Type(DType::F32, {6, 1})}},
      {"new_axes_f16", ExpandAttrs{{2, 3, 4, 5}}, {Type(DType::F16, {4, 1})}},
      {"heads_f32", ExpandAttrs{{1, 2, 3, 5, 4}}, {Type(DType::F32, {1, 2, 1, 5, 4})}},
      {"scalar_i64", ExpandAttrs{{3}}, {Type(DType::I64, {})}},
      {"same_u8", ExpandAttrs{{1}}, {Type(DType::U8, {3, 2})}},
  };
}

Result<void> infer_tile(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<TileAttrs>();
  const auto repeats = dims_field(ctx, "repeats", attrs.repeats);
  const auto rank = input.has_rank() ? std::optional(input.rank()) : dims_field_length(ctx, "repeats", attrs.repeats);
  if (!rank) return ctx.outputs[0] = Type::unranked(input.dtype), Result<void>();
  if (!repeats || !input.has_rank()) {
    ctx.outputs[0] = Type(input.dtype, unbacked_dims(ctx, *rank));
    return {};
  }
  if (static_cast<int64_t>(repeats->size()) != *rank)
    return violates("(C1) {} repeats for rank {}", repeats->size(), *rank);
  for (size_t i = 0; i < repeats->size(); ++i) {
    const auto times = (*repeats)[i].as_constant();
    if (times && *times < 0) return violates("(C2) axis {} is repeated {} times", i, *times);
  }
  Dims factors = input.dims();
  factors.insert(factors.end(), repeats->begin(), repeats->end());
  STROP_TRY(check_sizes(factors));
  Dims dims;
  for (size_t i = 0; i < repeats->size(); ++i) dims.push_back(input.dims()[i] * (*repeats)[i]);
  repeat_known(ctx, dims);
  ctx.outputs[0] = Type(input.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_tile(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto repeats = bound(ctx.attrs.as<TileAttrs>().repeats);
  if (repeats.size() != input.dims().size())
    return bad_data("Tile: {} repeats for rank {}", repeats.size(), input.rank());
  const auto strides = strides_of(input.dims());
  AxisTables tables;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < 0) return bad_data("Tile: axis {} repeated {} times", i, repeats[i]);
    auto& table = tables.emplace_back();
    for (int64_t r = 0; r < repeats[i]; ++r) {
      for (int64_t j = 0; j < input.dims()[i]; ++j) table.push_back(j * strides[i]);
    }
  }
  ctx.outputs[0] = gather_by_axes(input, tables, ctx.threads);
  return {};
}

std::vector<WorkedCase> tile_cases() {
  return {
      {"both_axes_f32", TileAttrs{{2, 3}}, {Type(DType::F32, {3, 5})}},
      {"first_axis_f16", TileAttrs{{4, 1, 1}}, {Type(DType::F16, {2, 3, 4})}},
      {"none_i64", TileAttrs{{0, 2}}, {Type(DType::I64, {2, 2})}},
      {"scalar_f32", TileAttrs{}, {Type(DType::F32, {})}},
  };
}

}  // namespace

const Operator kExpand = {
    .name = "Expand",
    .make_attrs = [] { return Attrs(ExpandAttrs{}); },
    .infer = infer_expand,
    .evaluate = evaluate_expand,
    .cases = expand_cases,
};

const Operator kTile = {
    .name = "Tile",
    .make_attrs = [] { return Attrs(TileAttrs{}); },
    .infer = infer_tile,
    .evaluate = evaluate_tile,
    .cases = tile_cases,
};

std::span<const Operator* const> expand_operators() {
  static constexpr std::array kOperators = {&kExpand, &kTile};
  return kOperators;
}

}  // namespace strop::ops
