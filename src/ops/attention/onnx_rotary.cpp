#include "ops/attention/onnx_rotary.h"

#include "ops/concat/concat.h"
#include "ops/gather/gather.h"
#include "ops/pointwise/pointwise.h"
#include "ops/slice/slice.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<ValueId> reshape(NodeContext& ctx, ValueId value, Dims shape) {
  return ctx.emit(kReshape, ReshapeAttrs{std::move(shape), false}, {value});
}

// Elements [from, to) by `step` of the last axis.
Result<ValueId> columns(NodeContext& ctx, ValueId value, const Dim& from, const Dim& to, int64_t step = 1) {
  return ctx.emit(kSlice, SliceAttrs{{Dim(-1)}, {from}, {to}, {Dim(step)}}, {value});
}

// cos_cache or sin_cache for every token, with a head axis of size 1: [b, 1, s, r/2], or [b, s, 1, r/2] if heads are
// inner.
Result<ValueId> angles(NodeContext& ctx, size_t operand, bool heads_inner) {
  STROP_TRY(ctx.tensor(operand));  // it must be there
  ValueId cache = ctx.input(operand);
  if (ctx.has_input(3)) {
    STROP_ASSIGN(cache, ctx.emit(kGather, GatherAttrs{0}, {cache, ctx.input(3)}));
  }
  const TensorType& type = ctx.graph().value(cache).type.tensor;
  if (!type.has_rank() || type.rank() != 3)
    return ctx.invalid("operand {} is {} for the tokens; rank 3 is needed", operand, to_string(type));
  Dims shape = type.dims();
  shape.insert(shape.begin() + (heads_inner ? 2 : 1), Dim(1));
  return reshape(ctx, cache, std::move(shape));
}

// x1 cos - x2 sin and x1 sin + x2 cos of operands x1, x2, cos, sin.
ScalarProgram rotation(DType dtype) {
  ScalarProgram program;
  const int32_t x1 = program.add_input(0, dtype);
  const int32_t x2 = program.add_input(1, dtype);
  const int32_t cos = program.add_input(2, dtype);
  const int32_t sin = program.add_input(3, dtype);
  const int32_t real = program.add(Fn::Sub, {program.add(Fn::Mul, {cos, x1}), program.add(Fn::Mul, {sin, x2})});
  const int32_t imaginary = program.add(Fn::Add, {program.add(Fn::Mul, {sin, x1}), program.add(Fn::Mul, {cos, x2})});
  program.outputs = {real, imaginary};
  return program;
}

// The rotated pairs side by side again, in the shape `dims` of what was rotated.
Result<ValueId> join_pairs(NodeContext& ctx, const std::vector<ValueId>& halves, bool interleaved, const Dims& dims) {
  if (!interleaved) return ctx.emit(kConcat, ConcatAttrs{-1}, halves);
  Dims column = dims;
  column.back() = floor_div(column.back(), Dim(2));
  column.push_back(Dim(1));
  std::vector<ValueId> columns_of_pairs;
  for (const ValueId half : halves) {
    STROP_ASSIGN(const ValueId value, reshape(ctx, half, column));
    columns_of_pairs.push_back(value);
  }
  STROP_ASSIGN(const ValueId pairs, ctx.emit(kConcat, ConcatAttrs{-1}, columns_of_pairs));
  return reshape(ctx, pairs, dims);
}

}  // namespace

Result<void> import_rotary_embedding(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  STROP_ASSIGN(const int64_t interleaved, ctx.attr_int("interleaved", 0));
  STROP_ASSIGN(const int64_t rotary_dim, ctx.attr_int("rotary_embedding_dim", 0));
  STROP_ASSIGN(const int64_t heads, ctx.attr_int("num_heads", 0));
  if (!input.has_rank()) return ctx.unsupported("the rank of operand 0 must be known");
  if (input.rank() != 3 && input.rank() != 4)
    return ctx.invalid("operand 0 is {}; rank 3 or 4 is needed", to_string(input));
  const bool heads_inner = input.rank() == 3;
  if (heads_inner && heads < 1) return ctx.invalid("num_heads is needed for an operand 0 of rank 3");
  ValueId x = ctx.input(0);
  Dims dims = input.dims();
  if (heads_inner) {
    dims = {dims[0], dims[1], Dim(heads), floor_div(dims[2], Dim(heads))};
    STROP_ASSIGN(x, reshape(ctx, x, dims));
  }
  const Dim size = dims.back();
  const Dim rotated = rotary_dim > 0 ? Dim(rotary_dim) : size;
  const Dim half = floor_div(rotated, Dim(2));
  const int64_t step = interleaved != 0 ? 2 : 1;
  STROP_ASSIGN(const ValueId x1, columns(ctx, x, Dim(0), step == 2 ? rotated : half, step));
  STROP_ASSIGN(const ValueId x2, columns(ctx, x, step == 2 ? Dim(1) : half, rotated, step));
  STROP_ASSIGN(const ValueId cos, angles(ctx, 1, heads_inner));
  STROP_ASSIGN(const ValueId sin, angles(ctx, 2, heads_inner));
  STROP_ASSIGN(const auto halves,
               ctx.emit_many(kPointwise, PointwiseAttrs{rotation(input.dtype)}, {x1, x2, cos, sin}, 2));
  Dims rotated_dims = dims;
  rotated_dims.back() = rotated;
  STROP_ASSIGN(ValueId result, join_pairs(ctx, halves, interleaved != 0, rotated_dims));
  if (!(rotated == size)) {
    STROP_ASSIGN(const ValueId rest, columns(ctx, x, rotated, size));
    STROP_ASSIGN(result, ctx.emit(kConcat, ConcatAttrs{-1}, {result, rest}));
  }
  if (heads_inner) {
    STROP_ASSIGN(result, reshape(ctx, result, input.dims()));
  }
  return ctx.set_output(0, result);
}

}  // namespace strop::ops
