#include <array>

#include "onnx/importer.h"
#include "ops/dim_rules.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/slice/slice.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<void> import_slice_attributes(NodeContext& ctx) {
  STROP_ASSIGN(const auto starts, ctx.attr_ints("starts"));
  STROP_ASSIGN(const auto ends, ctx.attr_ints("ends"));
  STROP_ASSIGN(const auto axes, ctx.attr_ints("axes", std::vector<int64_t>{}));
  SliceAttrs attrs{to_dims(axes), to_dims(starts), to_dims(ends), {}};
  STROP_ASSIGN(const ValueId output, ctx.emit(kSlice, std::move(attrs), {ctx.input(0)}));
  return ctx.set_output(0, output);
}

Result<void> import_slice(NodeContext& ctx) {
  SliceAttrs attrs;
  std::vector<ValueId> operands = {ctx.input(0)};
  onnx::EmitExtras extras;
  struct Row {
    std::string_view name;
    Dims* target;
  };
  const std::array<Row, 4> rows = {
      {{"starts", &attrs.starts}, {"ends", &attrs.ends}, {"axes", &attrs.axes}, {"steps", &attrs.steps}}};
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!ctx.has_input(i + 1)) continue;
    if (auto known = ctx.known(i + 1)) {
      *rows[i].target = *std::move(known);
    } else {
      extras.late.push_back({std::string(rows[i].name), static_cast<int32_t>(operands.size())});
      operands.push_back(ctx.input(i + 1));
    }
  }
  STROP_ASSIGN(const ValueId output, ctx.emit(kSlice, std::move(attrs), std::move(operands), std::move(extras)));
  return ctx.set_output(0, output);
}

// Where each part of a Split ends along the axis: by `sizes`, or else `count` equal parts, of ceil(size / count)
// elements since opset 18 (the last part is smaller), of size / count, which must divide, before.
Result<Dims> split_ends(NodeContext& ctx, const std::optional<Dims>& sizes, int64_t count,
                        const std::optional<Dim>& axis_size) {
  Dims ends;
  if (sizes) {
    Dim end(0);
    for (const Dim& part : *sizes) {
      const int64_t number = part.as_constant().value_or(0);
      if (number < 0 || number > kMaxElements) return ctx.invalid("the split size {}", number);
      ends.push_back(end = end + part);
    }
    if (sizes->size() < ctx.output_count()) {
      return ctx.invalid("{} split sizes for {} outputs", sizes->size(), ctx.output_count());
    }
    if (axis_size && axis_size->is_constant() && end.is_constant() && !(*axis_size == end)) {
      return ctx.invalid("the split sizes add up to {}, the axis has {}", end.constant(), axis_size->constant());
    }
    return ends;
  }
  if (!axis_size) return ctx.unsupported("equal parts of an operand of unknown rank");
  const Dim& size = *axis_size;
  if (ctx.opset() < 18 && size.is_constant() && size.constant() % count != 0) {
    return ctx.invalid("an axis of {} cannot be split into {} equal parts", size.constant(), count);
  }
  const Dim part = ctx.opset() < 18 ? floor_div(size, Dim(count)) : ceil_div(size, Dim(count));
  for (int64_t i = 1; i <= static_cast<int64_t>(ctx.output_count()); ++i) {
    ends.push_back(i == count ? size : smaller(part * Dim(i), size));
  }
  return ends;
}

Result<void> import_split(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", 0));
  const auto outputs_named = static_cast<int64_t>(ctx.output_count());
  STROP_ASSIGN(const int64_t count, ctx.attr_int("num_outputs", outputs_named));
  if (count < outputs_named) return ctx.invalid("num_outputs is {}, the node has {} outputs", count, outputs_named);
  std::optional<Dims> sizes;
  if (ctx.has_attr("split")) {
    STROP_ASSIGN(const auto values, ctx.attr_ints("split"));
    sizes = to_dims(values);
  }
  const bool operand = !sizes && ctx.has_input(1);
  if (operand) sizes = ctx.known(1);
  if (operand && !sizes) {
    STROP_ASSIGN(const auto outputs, ctx.emit_many(kSplit, SplitAttrs{axis, {}}, {ctx.input(0), ctx.input(1)},
                                                   ctx.output_count(), {.late = {{"sizes", 1}}}));
    return ctx.set_outputs(outputs);
  }
  std::optional<Dim> size;
  if (input.has_rank()) {
    const auto normal = normalize_axis(axis, input.rank(), "axis");
    if (!normal.ok()) return ctx.node_error(normal.error().code, normal.error().message);
    size = input.dim(*normal);
  }
  const auto ends = split_ends(ctx, sizes, count, size);
  if (!ends.ok()) return ends.error();
  for (size_t i = 0; i < ends->size(); ++i) {
    if (!ctx.wants_output(i)) continue;
    SliceAttrs attrs{{Dim(axis)}, {i == 0 ? Dim(0) : (*ends)[i - 1]}, {(*ends)[i]}, {}};
    STROP_ASSIGN(const ValueId output, ctx.emit(kSlice, std::move(attrs), {ctx.input(0)}));
    STROP_TRY(ctx.set_output(i, output));
  }
  return {};
}

Result<void> import_center_crop_pad(NodeContext& ctx) {
  STROP_ASSIGN(auto axes, ctx.attr_ints("axes", std::vector<int64_t>{}));
  CenterCropPadAttrs attrs{std::move(axes), {}};
  std::vector<ValueId> operands = {ctx.input(0)};
  onnx::EmitExtras extras;
  if (auto shape = ctx.known(1)) {
    attrs.shape = *std::move(shape);
  } else {
    operands.push_back(ctx.input(1));
    extras.late.push_back({"shape", 1});
  }
  STROP_ASSIGN(const ValueId output,
               ctx.emit(kCenterCropPad, std::move(attrs), std::move(operands), std::move(extras)));
  return ctx.set_output(0, output);
}

}  // namespace

std::span<const onnx::Importer> slice_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Slice", import_slice_attributes, 1, 9},
      onnx::Importer{"Slice", import_slice, 10},
      onnx::Importer{"Split", import_split},
      onnx::Importer{"CenterCropPad", import_center_crop_pad, 18},
  };
  return kImporters;
}

}  // namespace strop::ops
