#include <vector>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/quantize/onnx_integer.h"
#include "ops/quantize/quantize.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// Scale and zero point were scalars in opset 10, where there was no axis.
Result<int64_t> axis_attribute(NodeContext& ctx) { return ctx.attr_int("axis", 1); }

Result<void> import_quantize(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType scale, ctx.tensor(1));
  QuantizeLinearAttrs attrs;
  STROP_ASSIGN(attrs.axis, axis_attribute(ctx));
  STROP_ASSIGN(attrs.block_size, ctx.attr_int("block_size", 0));
  STROP_ASSIGN(const int64_t saturate, ctx.attr_int("saturate", 1));
  attrs.saturate = saturate != 0;
  DType to = DType::U8;
  if (ctx.has_input(2)) {
    STROP_ASSIGN(const TensorType zero_point, ctx.tensor(2));
    to = zero_point.dtype;
  }
  STROP_ASSIGN(attrs.to, ctx.attr_dtype("output_dtype", to));
  if (attrs.to == DType::Undefined) attrs.to = to;
  // Integers and powers of two are no types to divide in.
  const bool divides = is_float(scale.dtype) && scale.dtype != DType::F8E8M0;
  const DType own = divides ? scale.dtype : DType::F32;
  STROP_ASSIGN(attrs.precision, ctx.attr_dtype("precision", own));
  if (attrs.precision == DType::Undefined) attrs.precision = own;
  STROP_ASSIGN(const ValueId result, ctx.emit(kQuantizeLinear, attrs, {ctx.input(0), ctx.input(1), ctx.input(2)}));
  return ctx.set_output(0, result);
}

Result<void> import_dequantize(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType scale, ctx.tensor(1));
  DequantizeLinearAttrs attrs;
  STROP_ASSIGN(attrs.axis, axis_attribute(ctx));
  STROP_ASSIGN(attrs.block_size, ctx.attr_int("block_size", 0));
  const DType own = is_float(scale.dtype) && scale.dtype != DType::F8E8M0 ? scale.dtype : DType::F32;
  STROP_ASSIGN(attrs.to, ctx.attr_dtype("output_dtype", own));
  if (attrs.to == DType::Undefined) attrs.to = own;
  STROP_ASSIGN(const ValueId result, ctx.emit(kDequantizeLinear, attrs, {ctx.input(0), ctx.input(1), ctx.input(2)}));
  return ctx.set_output(0, result);
}

Result<void> import_dynamic(NodeContext& ctx) {
  STROP_ASSIGN(const auto results, ctx.emit_many(kDynamicQuantizeLinear, NoAttrs{}, {ctx.input(0)}, 3));
  for (size_t i = 0; i < ctx.output_count(); ++i) {
    if (ctx.wants_output(i)) STROP_TRY(ctx.set_output(i, results[i]));
  }
  return {};
}

}  // namespace

std::span<const onnx::Importer> quantize_importers() {
  static const std::vector<onnx::Importer> kImporters = [] {
    std::vector<onnx::Importer> all = {
        {"QuantizeLinear", import_quantize, 10},
        {"DequantizeLinear", import_dequantize, 10},
        {"DynamicQuantizeLinear", import_dynamic, 11},
    };
    const auto integer = integer_importers();
    all.insert(all.end(), integer.begin(), integer.end());
    return all;
  }();
  return kImporters;
}

}  // namespace strop::ops
