#include <algorithm>

#include "ops/families.h"
#include "ops/pointwise/onnx_build.h"
#include "ops/scalar_functions.h"
#include "ops/view/view.h"

namespace strop::ops {

using ir::ValueId;
using onnx::NodeContext;

Result<ValueId> emit_pointwise(NodeContext& ctx, const ScalarProgram& program, std::vector<ValueId> operands) {
  return ctx.emit(kPointwise, PointwiseAttrs{simplify(program)}, std::move(operands));
}

Result<void> emit_program(NodeContext& ctx, const ScalarProgram& program, std::vector<ValueId> operands) {
  STROP_ASSIGN(const ValueId result, emit_pointwise(ctx, program, std::move(operands)));
  return ctx.set_output(0, result);
}

Result<TensorType> operand_for(NodeContext& ctx, Fn fn, size_t index) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(index));
  if (is_defined(fn, type.dtype)) return type;
  return ctx.invalid("operand {} must not be {}", index, to_string(type.dtype));
}

Result<ValueId> second_operand(NodeContext& ctx) {
  if (ctx.opset() >= 7 || !ctx.has_attr("axis")) return ctx.input(1);
  STROP_ASSIGN(const TensorType a, ctx.tensor(0));
  STROP_ASSIGN(const TensorType b, ctx.tensor(1));
  STROP_ASSIGN(const int64_t raw_axis, ctx.attr_int("axis"));
  if (!a.has_rank() || !b.has_rank()) return ctx.unsupported("broadcasting along an axis needs operands of known rank");
  const auto axis = normalize_axis(raw_axis, a.rank() + 1, "axis");
  if (!axis.ok()) return ctx.invalid("{}", axis.error().message);
  const int64_t trailing = a.rank() - *axis - b.rank();
  if (trailing < 0)
    return ctx.invalid("operand 1 of rank {} does not fit operand 0 of rank {} at axis {}", b.rank(), a.rank(), *axis);
  if (trailing == 0) return ctx.input(1);
  Dims shape = b.dims();
  shape.insert(shape.end(), static_cast<size_t>(trailing), Dim(1));
  return ctx.emit(kReshape, ReshapeAttrs{shape}, {ctx.input(1)});
}

std::span<const onnx::Importer> pointwise_importers() {
  static const std::vector<onnx::Importer> all = [] {
    std::vector<onnx::Importer> rows;
    for (const auto& part : {unary_importers(), binary_importers(), activation_importers(), cast_importers()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

}  // namespace strop::ops
