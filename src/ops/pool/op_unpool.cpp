#include <algorithm>

#include "ops/element_map.h"
#include "ops/late.h"
#include "ops/pool/pool.h"

namespace strop::ops {
namespace {

// The shape whose elements the indices count. Errors: (C2), (C3).
Result<Dims> pooled_from(const MaxUnpoolAttrs& attrs, const Dims& x) {
  const size_t spatial = attrs.kernel.size();
  // (C2) the rank is the kernel's.
  if (x.size() != spatial + 2)
    return violates("(C2) a window of {} axes over an operand of rank {}", spatial, x.size());
  // (C3) attributes fit.
  if (attrs.strides.size() != spatial || attrs.pads.size() != 2 * spatial) {
    return violates("(C3) strides or pads do not fit {} spatial axes", spatial);
  }
  Dims dims = x;
  for (size_t i = 0; i < spatial; ++i) {
    for (const int64_t number : {attrs.kernel[i], attrs.strides[i], attrs.pads[i], attrs.pads[spatial + i]}) {
      STROP_TRY(check_sizes({Dim(number)}));
    }
    STROP_TRY(check_sizes({dims[2 + i], Dim(attrs.strides[i])}));
    dims[2 + i] = (dims[2 + i] - Dim(1)) * Dim(attrs.strides[i]) + Dim(attrs.kernel[i] - attrs.pads[i]) -
                  Dim(attrs.pads[spatial + i]);
    if (dims[2 + i].is_constant() && dims[2 + i].constant() < 0) return violates("(C3) the pads leave no elements");
  }
  STROP_TRY(check_sizes(dims));
  return dims;
}

Result<void> infer_max_unpool(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<MaxUnpoolAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const TensorType indices, ctx.tensor(1));
  // (C1) one index per element.
  if (indices.dtype != DType::I64) return violates("(C1) the indices are {}, not i64", to_string(indices.dtype));
  ctx.outputs[0] = Type::unranked(x.dtype);
  if (!x.has_rank()) return {};
  STROP_ASSIGN(Dims dims, pooled_from(attrs, x.dims()));
  const auto given = dims_field(ctx, "output_shape", attrs.output_shape);
  if (!given) {
    dims = unbacked_dims(ctx, x.rank());
  } else if (!given->empty()) {
    if (given->size() != x.dims().size())
      return violates("(C4) output_shape has {} axes, not {}", given->size(), x.rank());
    STROP_TRY(check_sizes(*given));
    dims = *given;
  }
  ctx.outputs[0] = Type(x.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_max_unpool(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<MaxUnpoolAttrs>();
  const Tensor& x = ctx.in(0);
  if (ctx.in(1).dims() != x.dims()) return bad_data("MaxUnpool: {} elements, {} indices", x.count(), ctx.in(1).count());
  STROP_ASSIGN(const Dims counted_dims, pooled_from(attrs, to_dims(x.dims())));
  const std::vector<int64_t> counted = *as_constants(counted_dims);
  const std::vector<int64_t> dims = attrs.output_shape.empty() ? counted : bound(attrs.output_shape);
  if (std::any_of(dims.begin(), dims.end(), [](int64_t size) { return size < 0; })) {
    return bad_data("MaxUnpool: output_shape {} has a negative size", to_string(to_dims(dims)));
  }
  const std::vector<int64_t> indices = load_i64(ctx.in(1));
  const int64_t count = element_count(counted);
  const auto strides = strides_of(dims);
  Tensor result(x.dtype(), dims);
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t rest = indices[i];
    if (rest < 0 || rest >= count) return bad_data("MaxUnpool: index {} is outside [0, {})", rest, count);
    int64_t to = 0;
    for (size_t axis = counted.size(); axis-- > 0; rest /= counted[axis]) {
      const int64_t at = rest % counted[axis];
      if (at >= dims[axis])
        return bad_data("MaxUnpool: index {} is outside output_shape {}", indices[i], to_string(to_dims(dims)));
      to += at * strides[axis];
    }
    copy_elements(result, to, x, static_cast<int64_t>(i), 1);
  }
  ctx.outputs[0] = std::move(result);
  return {};
}

std::vector<WorkedCase> max_unpool_cases() {
  const MaxUnpoolAttrs attrs{{2, 2}, {2, 2}, {0, 0, 0, 0}, {}};
  MaxUnpoolAttrs larger = attrs;
  larger.output_shape = {1, 1, 5, 5};
  const Type x(DType::F32, {1, 1, 2, 2});
  const Type indices(DType::I64, {1, 1, 2, 2});
  const Tensor places = store_i64(DType::I64, {1, 1, 2, 2}, std::vector<int64_t>{5, 7, 13, 15});
  return {{"f32", attrs, {x, indices}, 1, {{1, places}}}, {"larger_f32", larger, {x, indices}, 1, {{1, places}}}};
}

}  // namespace

const Operator kMaxUnpool = {
    .name = "MaxUnpool",
    .make_attrs = [] { return Attrs(MaxUnpoolAttrs{}); },
    .infer = infer_max_unpool,
    .evaluate = evaluate_max_unpool,
    .cases = max_unpool_cases,
};

}  // namespace strop::ops
