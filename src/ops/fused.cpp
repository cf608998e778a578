#include "ops/fused.h"

#include "ops/element_map.h"

namespace strop::ops {
namespace {

template <class T>
std::span<const T> part(std::span<const T> operands, size_t first, size_t count) {
  first = std::min(first, operands.size());
  return operands.subspan(first, std::min(count, operands.size() - first));
}

}  // namespace

AlongLine along_line(const Dims& operand, const Dims& base, int64_t axes) {
  std::optional<AlongLine> result;  // none as long as there are only axes of size 1
  for (size_t i = 0; i < static_cast<size_t>(axes); ++i) {
    const Dim& of_base = base[base.size() - 1 - i];
    if (of_base == Dim(1)) continue;
    const Dim own = i < operand.size() ? operand[operand.size() - 1 - i] : Dim(1);
    if (!(own == Dim(1)) && !(own == of_base)) return AlongLine::Mixed;  // which of the two is not known
    const AlongLine axis = own == Dim(1) ? AlongLine::Constant : AlongLine::Dense;
    if (result.value_or(axis) != axis) return AlongLine::Mixed;
    result = axis;
  }
  return result.value_or(AlongLine::Constant);
}

Result<TensorType> infer_prologue(const InferContext& ctx, const FusedPrograms& programs) {
  STROP_ASSIGN(TensorType type, ctx.tensor(0));
  const auto operands = part(ctx.inputs, programs.prologue_first(), programs.prologue_count());
  STROP_ASSIGN(type.dtype, infer_epilogue(programs.prologue, type, operands));
  return type;
}

Result<TensorType> infer_result(const InferContext& ctx, const FusedPrograms& programs, const TensorType& result) {
  const auto operands = part(ctx.inputs, programs.epilogue_first(), programs.epilogue_count());
  TensorType type = result;
  STROP_ASSIGN(type.dtype, infer_epilogue(programs.epilogue, result, operands));
  return type;
}

Tensor apply_prologue(const EvalContext& ctx, const FusedPrograms& programs) {
  const Tensor& input = ctx.in(0);
  if (programs.prologue.empty()) return input;
  ReferenceSums values{input.dtype(), input.dims(), {}, {}};
  if (is_float(input.dtype())) {
    values.numbers = load_f64(input);
  } else {
    values.integers = load_i64(input);
  }
  const auto operands = part(ctx.inputs, programs.prologue_first(), programs.prologue_count());
  return apply_epilogue(programs.prologue, values, operands, ctx.threads);
}

Tensor finish_result(const EvalContext& ctx, const FusedPrograms& programs, const ReferenceSums& sums) {
  const auto operands = part(ctx.inputs, programs.epilogue_first(), programs.epilogue_count());
  return apply_epilogue(programs.epilogue, sums, operands, ctx.threads);
}

std::vector<double> broadcast_f64(const Tensor& tensor, const std::vector<int64_t>& dims, Threads& threads) {
  if (tensor.dims() == dims) return load_f64(tensor);
  const auto strides = strides_of(tensor.dims());
  const size_t missing = dims.size() - tensor.dims().size();
  AxisTables tables;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool own = axis >= missing && tensor.dims()[axis - missing] != 1;
    tables.push_back(affine_table(dims[axis], own ? strides[axis - missing] : 0));
  }
  return load_f64(gather_by_axes(tensor, tables, threads));
}

}  // namespace strop::ops
