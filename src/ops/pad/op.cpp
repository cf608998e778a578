#include <algorithm>
#include <array>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/pad/pad.h"

namespace strop::ops {
namespace {

// The axes that `count` pads belong to; nullopt if not known.
Result<std::optional<std::vector<int64_t>>> known_axes(const InferContext& ctx, int64_t rank) {
  const auto& attrs = ctx.attrs.as<PadAttrs>();
  const auto axes = dims_field(ctx, "axes", attrs.axes);
  auto values = axes ? as_constants(*axes) : std::nullopt;
  if (!values) return std::optional<std::vector<int64_t>>();
  if (values->empty()) values = affine_table(rank, 1);
  STROP_ASSIGN(auto normal, normalize_axes(*values, rank, "(C1) pad"));
  return std::optional(std::move(normal));
}

Result<void> infer_pad(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  if (!input.has_rank()) return ctx.outputs[0] = Type::unranked(input.dtype), Result<void>();
  if (ctx.has_input(1)) {
    STROP_ASSIGN(const TensorType value, ctx.tensor(1));
    if (value.dtype != input.dtype)
      return violates("(C3) the value is {}, the data {}", to_string(value.dtype), to_string(input.dtype));
  }
  STROP_ASSIGN(const auto axes, known_axes(ctx, input.rank()));
  const auto pads = dims_field(ctx, "pads", ctx.attrs.as<PadAttrs>().pads);
  if (!axes) return ctx.outputs[0] = Type(input.dtype, unbacked_dims(ctx, input.rank())), Result<void>();
  if (pads && pads->size() != 2 * axes->size()) return violates("(C2) {} pads for {} axes", pads->size(), axes->size());
  Dims dims = input.dims();
  for (size_t i = 0; pads && i < pads->size(); ++i) STROP_TRY(check_sizes({(*pads)[i]}));
  for (size_t i = 0; i < axes->size(); ++i) {
    Dim& dim = dims[static_cast<size_t>((*axes)[i])];
    dim = pads ? dim + (*pads)[i] + (*pads)[i + axes->size()] : ctx.unbacked();
    if (dim.is_constant() && dim.constant() < 0)
      return violates("(C4) the pads of axis {} leave {} elements", (*axes)[i], dim.constant());
  }
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(input.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_pad(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto& attrs = ctx.attrs.as<PadAttrs>();
  STROP_ASSIGN(const auto pads, concrete_pads(attrs, input.rank()));
  const auto strides = strides_of(input.dims());
  AxisTables tables;
  for (size_t i = 0; i < pads.size(); ++i) {
    const int64_t size = input.dims()[i];
    const int64_t padded = size + pads[i].before + pads[i].after;
    if (padded < 0) return bad_data("Pad: the pads of axis {} leave {} elements", i, padded);
    if (size == 0 && padded > 0 && attrs.mode != PadMode::Constant)
      return bad_data("Pad: axis {} has no element to repeat", i);
    auto& table = tables.emplace_back();
    for (int64_t at = 0; at < padded; ++at) {
      const int64_t source = pad_source(attrs.mode, at - pads[i].before, size);
      table.push_back(source < 0 ? -1 : source * strides[i]);
    }
  }
  const Tensor* value = ctx.has_input(1) ? &ctx.in(1) : nullptr;
  if (value != nullptr && value->count() != 1) return bad_data("Pad: {} values to pad with, not 1", value->count());
  ctx.outputs[0] = gather_by_axes(input, tables, ctx.threads, value);
  return {};
}

std::vector<WorkedCase> pad_cases() {
  const Type image(DType::F32, {1, 2, 5, 7});
  const Dims around = {0, 0, 1, 2, 0, 0, 3, 1};
  return {
      {"zeros_f32", PadAttrs{PadMode::Constant, around, {}}, {image}},
      {"value_f32", PadAttrs{PadMode::Constant, around, {}}, {image, Type(DType::F32, {})}},
      {"axes_f16", PadAttrs{PadMode::Constant, {2, 1, 0, 3}, {-1, 0}}, {Type(DType::F16, {3, 4, 5})}},
      {"crop_i64", PadAttrs{PadMode::Constant, {-1, 2, 1, -3}, {}}, {Type(DType::I64, {4, 6}), Type(DType::I64, {})}},
      {"reflect_f32", PadAttrs{PadMode::Reflect, around, {}}, {image}},
      {"edge_f32", PadAttrs{PadMode::Edge, around, {}}, {image}},
      {"wrap_f32", PadAttrs{PadMode::Wrap, around, {}}, {image}},
      {"far_reflect_u8", PadAttrs{PadMode::Reflect, {5, 6}, {}}, {Type(DType::U8, {3})}},
      {"packed_i4", PadAttrs{PadMode::Constant, {1, 1, 1, 1}, {}}, {Type(DType::I4, {3, 3})}},
  };
}

}  // namespace

Result<std::vector<AxisPad>> concrete_pads(const PadAttrs& attrs, int64_t rank) {
  const auto pads = bound(attrs.pads);
  const auto given = attrs.axes.empty() ? affine_table(rank, 1) : bound(attrs.axes);
  STROP_ASSIGN(const auto axes, normalize_axes(given, rank, "(C1) pad"));
  if (pads.size() != 2 * axes.size()) return violates("(C2) {} pads for {} axes", pads.size(), axes.size());
  std::vector<AxisPad> result(static_cast<size_t>(rank));
  for (size_t i = 0; i < axes.size(); ++i) result[static_cast<size_t>(axes[i])] = {pads[i], pads[i + axes.size()]};
  return result;
}

int64_t pad_source(PadMode mode, int64_t at, int64_t size) {
  if (at >= 0 && at < size) return at;
  const auto modulo = [](int64_t value, int64_t period) { return (value % period + period) % period; };
  switch (mode) {
    case PadMode::Constant: return -1;
    case PadMode::Edge: return std::clamp<int64_t>(at, 0, size - 1);
    case PadMode::Wrap: return modulo(at, size);
    case PadMode::Reflect: break;
  }
  if (size == 1) return 0;
  const int64_t phase = modulo(at, 2 * (size - 1));
  return phase < size ? phase : 2 * (size - 1) - phase;
}

const Operator kPad = {
    .name = "Pad",
    .make_attrs = [] { return Attrs(PadAttrs{}); },
    .infer = infer_pad,
    .evaluate = evaluate_pad,
    .cases = pad_cases,
};

std::span<const Operator* const> pad_operators() {
  static constexpr std::array kOperators = {&kPad};
  return kOperators;
}

}  // namespace strop::ops
