#include <array>

#include "ops/dim_rules.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/reduce/reduce.h"

namespace strop::ops {
namespace {

bool can_reduce(ReduceKind kind, DType dtype) {
  if (is_float(dtype) || is_integer(dtype)) return true;
  return dtype == DType::Bool && (kind == ReduceKind::Max || kind == ReduceKind::Min);
}

// The dimensions of the result, as far as the axes are known; nullopt: not even the rank.
Result<Shape> infer_dims(InferContext& ctx, const ReduceAttrs& attrs, const Dims& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const auto known = dims_field(ctx, "axes", attrs.axes);
  const auto axes = known ? as_constants(*known) : std::nullopt;
  if (axes) {
    STROP_ASSIGN(const auto reduced, reduced_axes(*axes, attrs.all_if_empty, rank));
    return Shape(remaining_dims(dims, reduced, attrs.keep_dims));
  }
  // Unknown axes: with keep_dims each dimension is 1 or what it was.
  if (attrs.keep_dims) return Shape(unbacked_dims(ctx, rank));
  const auto count = dims_field_length(ctx, "axes", attrs.axes);
  if (!count || (*count == 0 && attrs.all_if_empty)) return Shape();
  return Shape(unbacked_dims(ctx, std::max<int64_t>(rank - *count, 0)));
}

// Contents of a reduced vector of dimensions, as exporters compute element counts with.
std::optional<Dim> reduce_known(ReduceKind kind, const Dims& contents) {
  std::optional<Dim> result;
  if (kind == ReduceKind::Sum) result = Dim(0);
  if (kind == ReduceKind::Prod) result = Dim(1);
  for (const Dim& dim : contents) {
    switch (kind) {
      case ReduceKind::Sum: result = *result + dim; break;
      case ReduceKind::Prod: result = *result * dim; break;
      case ReduceKind::Max: result = result ? larger(*result, dim) : dim; break;
      case ReduceKind::Min: result = result ? smaller(*result, dim) : dim; break;
      default: return std::nullopt;
    }
  }
  return result;
}

Result<void> infer_reduce(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<ReduceAttrs>();
  STROP_ASSIGN(TensorType type, infer_prologue(ctx, attrs.programs()));
  // (C1) numbers; bool for max and min.
  if (!can_reduce(attrs.kind, type.dtype)) return violates("(C1) cannot reduce {}", to_string(type.dtype));
  const Shape input = type.shape;
  if (input) {
    STROP_ASSIGN(type.shape, infer_dims(ctx, attrs, *input));
  }
  STROP_ASSIGN(const TensorType result, infer_result(ctx, attrs.programs(), type));
  ctx.outputs[0] = result;
  const bool plain = attrs.prologue.empty() && attrs.epilogue.empty();
  if (plain && input && input->size() == 1 && result.has_rank() && !ctx.known_inputs.empty() && ctx.known_inputs[0]) {
    const bool all = result.rank() == 0 || result.dim(0) == Dim(1);
    const auto known = all ? reduce_known(attrs.kind, *ctx.known_inputs[0]) : std::nullopt;
    if (known) ctx.known_outputs[0] = Dims{*known};
  }
  return {};
}

Result<void> evaluate_reduce(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<ReduceAttrs>();
  const Tensor input = apply_prologue(ctx, attrs.programs());
  STROP_ASSIGN(const auto reduced, reduced_axes(bound(attrs.axes), attrs.all_if_empty, input.rank()));
  auto dims = bound(remaining_dims(to_dims(input.dims()), reduced, attrs.keep_dims));
  const ReferenceSums sums = evaluate_reduction(attrs.kind, input, reduced, std::move(dims), ctx.threads);
  ctx.outputs[0] = finish_result(ctx, attrs.programs(), sums);
  return {};
}

}  // namespace

Result<std::vector<bool>> reduced_axes(const std::vector<int64_t>& axes, bool all_if_empty, int64_t rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty() && all_if_empty);
  STROP_ASSIGN(const auto normal, normalize_axes(axes, rank, "(C2) axis"));
  for (const int64_t axis : normal) reduced[static_cast<size_t>(axis)] = true;
  return reduced;
}

std::optional<ReduceLines> reduce_lines(const ReduceAttrs& attrs, const Dims& dims) {
  const auto axes = as_constants(attrs.axes);
  if (!axes) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims.size());
  auto reduced = reduced_axes(*axes, attrs.all_if_empty, rank);
  if (!reduced.ok() || rank == 0) return std::nullopt;
  ReduceLines lines{*std::move(reduced), 0, false};
  // Axes of size 1 belong to either side.
  std::optional<bool> side;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    const auto i = static_cast<size_t>(axis);
    if (!(dims[i] == Dim(1))) {
      if (side && *side != lines.reduced[i]) break;
      side = lines.reduced[i];
    }
    ++lines.axes;
  }
  lines.rows = side.value_or(true);
  return lines;
}

Dims remaining_dims(const Dims& dims, const std::vector<bool>& reduced, bool keep_dims) {
  Dims result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i]) {
      result.push_back(dims[i]);
    } else if (keep_dims) {
      result.push_back(Dim(1));
    }
  }
  return result;
}

const Operator kReduce = {
    .name = "Reduce",
    .make_attrs = [] { return Attrs(ReduceAttrs{}); },
    .infer = infer_reduce,
    .evaluate = evaluate_reduce,
    .cases = reduce_cases,
};

std::span<const Operator* const> reduce_operators() {
  static constexpr std::array kOperators = {&kReduce};
  return kOperators;
}

}  // namespace strop::ops
