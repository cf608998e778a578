#include <algorithm>
#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/shape/shape.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// Constants become a constant, symbols a DimsTensor. Dimensions that depend on data keep the operand, so that the order
// of computation stays visible in the graph.
Result<void> finish(NodeContext& ctx, const Dims& dims, bool scalar, const Operator& by_operand, Attrs attrs) {
  if (const auto values = as_constants(dims)) {
    const Tensor vector = Tensor::of_i64(*values);
    return ctx.set_output(0, ctx.constant_value(scalar ? vector.reshaped({}) : vector));
  }
  const bool on_data = std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_unbacked(); });
  STROP_ASSIGN(const ValueId output, on_data ? ctx.emit(by_operand, std::move(attrs), {ctx.input(0)})
                                             : ctx.emit(kDimsTensor, DimsTensorAttrs{dims, scalar}, {}));
  return ctx.set_output(0, output);
}

Result<void> import_shape(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  STROP_ASSIGN(const int64_t start, ctx.attr_int("start", 0));
  STROP_ASSIGN(const int64_t end, ctx.attr_int("end", INT64_MAX));
  const ShapeAttrs attrs{start, end};
  if (input.has_rank()) return finish(ctx, selected_dims(input.dims(), start, end), false, kShape, attrs);
  STROP_ASSIGN(const ValueId output, ctx.emit(kShape, attrs, {ctx.input(0)}));
  return ctx.set_output(0, output);
}

Result<void> import_size(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  if (input.has_rank()) return finish(ctx, {input.count()}, true, kSize, NoAttrs{});
  STROP_ASSIGN(const ValueId output, ctx.emit(kSize, NoAttrs{}, {ctx.input(0)}));
  return ctx.set_output(0, output);
}

}  // namespace

std::span<const onnx::Importer> shape_importers() {
  static constexpr std::array kImporters = {onnx::Importer{"Shape", import_shape}, onnx::Importer{"Size", import_size}};
  return kImporters;
}

}  // namespace strop::ops
