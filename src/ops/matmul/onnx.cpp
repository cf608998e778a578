#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/onnx_matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/transpose/transpose.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<ValueId> reshape(NodeContext& ctx, ValueId value, Dims shape) {
  return ctx.emit(kReshape, ReshapeAttrs{std::move(shape), false}, {value});
}

Result<ValueId> scaled(NodeContext& ctx, ValueId value, double factor, DType dtype) {
  if (factor == 1.0) return value;
  ScalarProgram program;
  const int32_t x = program.add_input(0, dtype);
  const int32_t constant =
      is_float(dtype) ? program.add_number(dtype, factor) : program.add_integer(dtype, static_cast<int64_t>(factor));
  program.outputs = {program.add(Fn::Mul, {x, constant})};
  return ctx.emit(kPointwise, PointwiseAttrs{std::move(program)}, {value});
}

Result<void> import_matmul(NodeContext& ctx) {
  STROP_TRY(ctx.tensor(0));
  STROP_TRY(ctx.tensor(1));
  STROP_ASSIGN(const ValueId product, emit_matmul(ctx, ctx.input(0), ctx.input(1)));
  return ctx.set_output(0, product);
}

// Y = alpha * A' * B' + beta * C. Before opset 7, C broadcasts only with the attribute `broadcast`; the shapes tell.
Result<void> import_gemm(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType a, ctx.tensor(0));
  STROP_ASSIGN(const TensorType b, ctx.tensor(1));
  if ((a.has_rank() && a.rank() != 2) || (b.has_rank() && b.rank() != 2))
    return ctx.invalid("A and B must have rank 2");
  STROP_ASSIGN(const double alpha, ctx.attr_float("alpha", 1.0));
  STROP_ASSIGN(const double beta, ctx.attr_float("beta", 1.0));
  STROP_ASSIGN(const int64_t trans_a, ctx.attr_int("transA", 0));
  STROP_ASSIGN(const int64_t trans_b, ctx.attr_int("transB", 0));
  STROP_ASSIGN(ValueId sum,
               ctx.emit(kMatMul, MatMulAttrs{trans_a != 0, trans_b != 0, {}}, {ctx.input(0), ctx.input(1)}));
  STROP_ASSIGN(sum, scaled(ctx, sum, alpha, a.dtype));
  if (ctx.has_input(2) && beta != 0.0) {
    STROP_ASSIGN(const ValueId addend, scaled(ctx, ctx.input(2), beta, a.dtype));
    ScalarProgram program;
    const int32_t x = program.add_input(0, a.dtype);
    const int32_t y = program.add_input(1, a.dtype);
    program.outputs = {program.add(Fn::Add, {x, y})};
    STROP_ASSIGN(sum, ctx.emit(kPointwise, PointwiseAttrs{std::move(program)}, {sum, addend}));
  }
  return ctx.set_output(0, sum);
}

}  // namespace

Result<ValueId> emit_matmul(NodeContext& ctx, ValueId left, ValueId right) {
  const TensorType a = ctx.graph().value(left).type.tensor;
  const TensorType b = ctx.graph().value(right).type.tensor;
  if (!a.has_rank() || !b.has_rank()) return ctx.unsupported("the rank of an operand is not known");
  if (a.rank() == 0 || b.rank() == 0) return ctx.invalid("an operand is a scalar");
  if (a.rank() == 1) {
    STROP_ASSIGN(left, reshape(ctx, left, {Dim(1), a.dim(0)}));
  }
  if (b.rank() == 1) {
    STROP_ASSIGN(right, reshape(ctx, right, {b.dim(0), Dim(1)}));
  }
  STROP_ASSIGN(ValueId product, ctx.emit(kMatMul, MatMulAttrs{}, {left, right}));
  if (a.rank() == 1 || b.rank() == 1) {
    Dims dims = ctx.graph().value(product).type.tensor.dims();
    if (b.rank() == 1) dims.pop_back();
    if (a.rank() == 1) dims.erase(dims.end() - (b.rank() == 1 ? 1 : 2));
    STROP_ASSIGN(product, reshape(ctx, product, std::move(dims)));
  }
  return product;
}

std::span<const onnx::Importer> matmul_importers() {
  static constexpr std::array<onnx::Importer, 2> kImporters = {{
      {"MatMul", import_matmul},
      {"Gemm", import_gemm},
  }};
  return kImporters;
}

}  // namespace strop::ops
