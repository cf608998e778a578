#include <algorithm>
#include <array>

#include "ops/dim_rules.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/slice/slice.h"

namespace strop::ops {
namespace {

// Exporters write INT32_MAX or INT64_MAX (or their negatives) for "to the end": beyond any axis of unknown size. Where
// the size is known, bounds are exact as far as arithmetic on them cannot overflow.
int64_t far_bound(const Dim& size) { return size.is_constant() ? INT64_MAX / 2 : INT32_MAX; }

// The fields as far as inference knows them.
struct KnownSlice {
  std::optional<Dims> axes, starts, ends, steps;
};

KnownSlice known_fields(const InferContext& ctx, int64_t rank) {
  const auto& attrs = ctx.attrs.as<SliceAttrs>();
  KnownSlice known{dims_field(ctx, "axes", attrs.axes), dims_field(ctx, "starts", attrs.starts),
                   dims_field(ctx, "ends", attrs.ends), dims_field(ctx, "steps", attrs.steps)};
  const auto count = dims_field_length(ctx, "starts", attrs.starts);
  if (known.axes && known.axes->empty()) {
    known.axes.reset();
    if (count) {
      known.axes.emplace();
      for (int64_t i = 0; i < std::min(*count, rank); ++i) known.axes->push_back(Dim(i));
    }
  }
  if (known.steps && known.steps->empty() && count) known.steps = Dims(static_cast<size_t>(*count), Dim(1));
  return known;
}

// The contents of a slice of a known vector, where first and count are constant.
void slice_known(InferContext& ctx, const AxisSlice& part) {
  const auto& contents = ctx.known_inputs[0];
  if (!contents || !part.first.is_constant() || !part.count.is_constant()) return;
  Dims result;
  for (int64_t i = 0; i < part.count.constant(); ++i) {
    result.push_back((*contents)[static_cast<size_t>(part.first.constant() + i * part.step)]);
  }
  ctx.known_outputs[0] = std::move(result);
}

Result<void> infer_slice(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  if (!input.has_rank()) return ctx.outputs[0] = Type::unranked(input.dtype), Result<void>();
  const KnownSlice known = known_fields(ctx, input.rank());
  const auto axis_values = known.axes ? as_constants(*known.axes) : std::nullopt;
  if (!axis_values) return ctx.outputs[0] = Type(input.dtype, unbacked_dims(ctx, input.rank())), Result<void>();
  STROP_ASSIGN(const auto axes, normalize_axes(*axis_values, input.rank(), "(C1) slice"));
  Dims dims = input.dims();
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = dims[static_cast<size_t>(axes[i])];
    for (const auto* values : {&known.starts, &known.ends, &known.steps}) {
      if (*values && (*values)->size() != axes.size()) {
        return violates("(C2) {} axes with {} starts, ends or steps", axes.size(), (*values)->size());
      }
    }
    const auto step = known.steps ? (*known.steps)[i].as_constant() : std::nullopt;
    if (step && *step == 0) return violates("(C3) the step of axis {} is 0", axes[i]);
    if (!step || !known.starts || !known.ends) {
      dim = ctx.unbacked();
      continue;
    }
    const AxisSlice part = slice_axis(dim, (*known.starts)[i], (*known.ends)[i], *step);
    dim = part.count;
    if (input.rank() == 1) slice_known(ctx, part);
  }
  if (axes.empty()) ctx.known_outputs[0] = ctx.known_inputs[0];
  ctx.outputs[0] = Type(input.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_slice(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  STROP_ASSIGN(const auto parts, concrete_slices(ctx.attrs.as<SliceAttrs>(), input.dims()));
  const auto strides = strides_of(input.dims());
  AxisTables tables;
  for (size_t i = 0; i < parts.size(); ++i) {
    tables.push_back(affine_table(parts[i].count, parts[i].step * strides[i], parts[i].first * strides[i]));
  }
  ctx.outputs[0] = gather_by_axes(input, tables, ctx.threads);
  return {};
}

std::vector<WorkedCase> slice_cases() {
  return {
      {"columns_f32", SliceAttrs{{1}, {3}, {11}, {}}, {Type(DType::F32, {7, 19})}},
      {"rows_f32", SliceAttrs{{0}, {1}, {-1}, {}}, {Type(DType::F32, {9, 4, 5})}},
      {"steps_f16", SliceAttrs{{0, 2}, {1, 0}, {INT64_MAX, 7}, {2, 3}}, {Type(DType::F16, {8, 3, 9})}},
      {"reversed_i64", SliceAttrs{{1}, {-1}, {INT64_MIN}, {-1}}, {Type(DType::I64, {3, 6})}},
      {"backwards_by_two_u8", SliceAttrs{{0}, {7}, {1}, {-2}}, {Type(DType::U8, {10, 3})}},
      {"nothing_f32", SliceAttrs{{0}, {5}, {2}, {}}, {Type(DType::F32, {8, 2})}},
      {"packed_u4", SliceAttrs{{0}, {1}, {6}, {}}, {Type(DType::U4, {7})}},
  };
}

Result<void> infer_split(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<SplitAttrs>();
  const auto sizes = dims_field(ctx, "sizes", attrs.sizes);
  if (sizes && sizes->size() < ctx.outputs.size()) {
    return violates("(C2) {} sizes for {} outputs", sizes->size(), ctx.outputs.size());
  }
  int64_t axis = 0;
  if (input.has_rank()) {
    STROP_ASSIGN(axis, normalize_axis(attrs.axis, input.rank(), "(C1) axis"));
  }
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    ctx.outputs[i] = Type::unranked(input.dtype);
    if (!input.has_rank()) continue;
    Dims dims = input.dims();
    dims[static_cast<size_t>(axis)] = sizes ? (*sizes)[i] : ctx.unbacked();
    ctx.outputs[i] = Type(input.dtype, std::move(dims));
  }
  return {};
}

Result<void> evaluate_split(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto& attrs = ctx.attrs.as<SplitAttrs>();
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C1) axis"));
  const auto sizes = bound(attrs.sizes);
  int64_t total = 0;
  for (const int64_t size : sizes) total += size;
  if (total != input.dim(axis) || std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
    return bad_data("Split: the sizes {} do not add up to the {} of axis {}", to_string(attrs.sizes), input.dim(axis),
                    axis);
  }
  const int64_t outer = count_between(input.dims(), 0, axis);
  const int64_t inner = count_between(input.dims(), axis + 1, input.rank());
  int64_t first = 0;
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    auto dims = input.dims();
    dims[static_cast<size_t>(axis)] = sizes[i];
    Tensor part(input.dtype(), std::move(dims));
    for (int64_t o = 0; o < outer; ++o) {
      copy_elements(part, o * sizes[i] * inner, input, (o * total + first) * inner, sizes[i] * inner);
    }
    first += sizes[i];
    ctx.outputs[i] = std::move(part);
  }
  return {};
}

std::vector<WorkedCase> split_cases() {
  return {
      {"three_parts_f32", SplitAttrs{1, {2, 3, 5}}, {Type(DType::F32, {4, 10, 3})}, 3},
      {"last_axis_f16", SplitAttrs{-1, {8, 0, 8}}, {Type(DType::F16, {5, 16})}, 3},
      {"first_axis_i64", SplitAttrs{0, {1, 4}}, {Type(DType::I64, {5, 3})}, 2},
  };
}

Result<std::vector<int64_t>> crop_pad_axes(const CenterCropPadAttrs& attrs, int64_t rank) {
  std::vector<int64_t> axes = attrs.axes;
  if (axes.empty()) {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  return normalize_axes(axes, rank, "(C1) CenterCropPad");
}

Result<void> infer_center_crop_pad(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<CenterCropPadAttrs>();
  if (!input.has_rank()) return ctx.outputs[0] = Type::unranked(input.dtype), Result<void>();
  STROP_ASSIGN(const auto axes, crop_pad_axes(attrs, input.rank()));
  const auto shape = dims_field(ctx, "shape", attrs.shape);
  if (shape && shape->size() != axes.size()) return violates("(C2) {} sizes for {} axes", shape->size(), axes.size());
  Dims dims = input.dims();
  for (size_t i = 0; i < axes.size(); ++i) dims[static_cast<size_t>(axes[i])] = shape ? (*shape)[i] : ctx.unbacked();
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(input.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_center_crop_pad(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto& attrs = ctx.attrs.as<CenterCropPadAttrs>();
  STROP_ASSIGN(const auto axes, crop_pad_axes(attrs, input.rank()));
  const auto shape = bound(attrs.shape);
  if (shape.size() != axes.size()) return bad_data("CenterCropPad: {} sizes for {} axes", shape.size(), axes.size());
  const auto strides = strides_of(input.dims());
  AxisTables tables;
  for (size_t i = 0; i < strides.size(); ++i) tables.push_back(affine_table(input.dims()[i], strides[i]));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t size = input.dims()[axis];
    const int64_t wanted = shape[i];
    if (wanted < 0) return bad_data("CenterCropPad: size {} for axis {}", wanted, axis);
    const int64_t shift = wanted > size ? -((wanted - size) / 2) : (size - wanted) / 2;
    tables[axis].assign(static_cast<size_t>(wanted), -1);
    for (int64_t j = 0; j < wanted; ++j) {
      if (j + shift >= 0 && j + shift < size) tables[axis][static_cast<size_t>(j)] = (j + shift) * strides[axis];
    }
  }
  ctx.outputs[0] = gather_by_axes(input, tables, ctx.threads);
  return {};
}

std::vector<WorkedCase> center_crop_pad_cases() {
  return {
      {"crop_and_pad_f32", CenterCropPadAttrs{{}, {10, 7, 9}}, {Type(DType::F32, {20, 8, 3})}},
      {"two_axes_f32", CenterCropPadAttrs{{1, -1}, {10, 9}}, {Type(DType::F32, {3, 20, 8})}},
  };
}

// The part is contiguous if everything before the one axis that is cut has a single element.
std::optional<Dim> slice_view_offset(const Attrs& attributes, const TensorType& operand, const TensorType& result) {
  const auto& attrs = attributes.as<SliceAttrs>();
  const auto axes = as_constants(attrs.axes);
  const auto steps = as_constants(attrs.steps);
  if (!axes || !steps || std::any_of(steps->begin(), steps->end(), [](int64_t step) { return step != 1; }))
    return std::nullopt;
  const auto cut =
      std::mismatch(operand.dims().begin(), operand.dims().end(), result.dims().begin()).first - operand.dims().begin();
  if (cut == operand.rank()) return Dim(0);
  if (!(product(Dims(operand.dims().begin(), operand.dims().begin() + cut)) == Dim(1))) return std::nullopt;
  if (!std::equal(operand.dims().begin() + cut + 1, operand.dims().end(), result.dims().begin() + cut + 1))
    return std::nullopt;
  for (size_t i = 0; i < attrs.starts.size(); ++i) {
    int64_t axis = attrs.axes.empty() ? static_cast<int64_t>(i) : (*axes)[i];
    if (axis < 0) axis += operand.rank();
    if (axis != cut) continue;
    const Dim first = slice_axis(operand.dim(cut), attrs.starts[i], attrs.ends[i], 1).first;
    return first * product(Dims(operand.dims().begin() + cut + 1, operand.dims().end()));
  }
  return std::nullopt;
}

}  // namespace

AxisSlice slice_axis(const Dim& size, const Dim& start, const Dim& end, int64_t step) {
  step = std::clamp(step, -kMaxElements, kMaxElements);  // a longer step ends the slice just as well
  const bool forward = step > 0;
  // Forward, both lie in [0, size]; backward, the start in [0, size - 1] and the end in [-1, size - 1].
  const Dim high = forward ? size : size - Dim(1);
  const auto settle = [&](const Dim& value, const Dim& low) {
    if (const auto number = value.as_constant()) {
      if (*number >= far_bound(size)) return Dim(high);
      if (*number <= -far_bound(size)) return smaller(low, high);
    }
    return clamp(wrap_negative(value, size), low, high);
  };
  const Dim first = settle(start, Dim(0));
  const Dim last = settle(end, forward ? Dim(0) : Dim(-1));
  const Dim span = forward ? last - first : first - last;
  const Dim count = larger(ceil_div(span, Dim(forward ? step : -step)), Dim(0));
  return {first, count, step};
}

Result<std::vector<ConcreteSlice>> concrete_slices(const SliceAttrs& attrs, const std::vector<int64_t>& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const auto starts = bound(attrs.starts);
  const auto ends = bound(attrs.ends);
  auto axis_values = bound(attrs.axes);
  auto steps = bound(attrs.steps);
  if (attrs.axes.empty()) axis_values = affine_table(static_cast<int64_t>(starts.size()), 1);
  if (attrs.steps.empty()) steps.assign(starts.size(), 1);
  STROP_ASSIGN(const auto axes, normalize_axes(axis_values, rank, "(C1) slice"));
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) {
    return violates("(C2) {} axes, {} starts, {} ends, {} steps", axes.size(), starts.size(), ends.size(),
                    steps.size());
  }
  std::vector<ConcreteSlice> parts;
  for (const int64_t size : dims) parts.push_back({0, size, 1});
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return violates("(C3) the step of axis {} is 0", axes[i]);
    ConcreteSlice& part = parts[static_cast<size_t>(axes[i])];
    const int64_t size = part.count;
    const AxisSlice slice = slice_axis(Dim(size), Dim(starts[i]), Dim(ends[i]), steps[i]);
    part = {slice.first.constant(), slice.count.constant(), slice.step};
  }
  return parts;
}

const Operator kSlice = {
    .name = "Slice",
    .make_attrs = [] { return Attrs(SliceAttrs{}); },
    .infer = infer_slice,
    .evaluate = evaluate_slice,
    .cases = slice_cases,
    .view_offset = slice_view_offset,
};

const Operator kSplit = {
    .name = "Split",
    .make_attrs = [] { return Attrs(SplitAttrs{}); },
    .infer = infer_split,
    .evaluate = evaluate_split,
    .cases = split_cases,
};

const Operator kCenterCropPad = {
    .name = "CenterCropPad",
    .make_attrs = [] { return Attrs(CenterCropPadAttrs{}); },
    .infer = infer_center_crop_pad,
    .evaluate = evaluate_center_crop_pad,
    .cases = center_crop_pad_cases,
};

std::span<const Operator* const> slice_operators() {
  static constexpr std::array kOperators = {&kSlice, &kSplit, &kCenterCropPad};
  return kOperators;
}

}  // namespace strop::ops
