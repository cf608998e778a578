#include <array>
#include <cmath>

#include "ops/dim_rules.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/fill/fill.h"
#include "ops/index_data.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

// Shape vectors are short; longer tensors are not worth tracking symbolically.
constexpr int64_t kMaxKnown = 64;

Result<void> infer_fill(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<FillAttrs>();
  if (attrs.value.count() != 1) return violates("(C1) the value has {} elements, not 1", attrs.value.count());
  const DType dtype = attrs.value.dtype();
  auto shape = dims_field(ctx, "shape", attrs.shape);
  if (!shape) {
    const auto rank = dims_field_length(ctx, "shape", attrs.shape);
    ctx.outputs[0] = rank ? Type(dtype, unbacked_dims(ctx, *rank)) : Type::unranked(dtype);
    return {};
  }
  for (const Dim& dim : *shape) {
    if (dim.is_constant() && dim.constant() < 0)
      return violates("(C2) the shape {} has a negative dimension", to_string(*shape));
  }
  STROP_TRY(check_sizes(*shape));
  const auto count = product(*shape).as_constant();
  if (is_integer(dtype) && shape->size() <= 1 && count && *count <= kMaxKnown) {
    ctx.known_outputs[0] = Dims(static_cast<size_t>(*count), Dim(load_i64(attrs.value)[0]));
  }
  ctx.outputs[0] = Type(dtype, *std::move(shape));
  return {};
}

Result<void> evaluate_fill(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<FillAttrs>();
  const auto dims = bound(attrs.shape);
  for (const int64_t dim : dims) {
    if (dim < 0) return bad_data("Fill: the shape {} has a negative dimension", to_string(attrs.shape));
  }
  Tensor result(attrs.value.dtype(), dims);
  if (result.count() > 0) copy_elements(result, 0, attrs.value, 0, 1);
  for (int64_t done = 1; done < result.count(); done *= 2) {
    copy_elements(result, done, result, 0, std::min(done, result.count() - done));
  }
  ctx.outputs[0] = std::move(result);
  return {};
}

std::vector<WorkedCase> fill_cases() {
  return {
      {"ones_f32", FillAttrs{{3, 5}, Tensor::scalar(DType::F32, 1)}, {}},
      {"scalar_i64", FillAttrs{{}, Tensor::scalar(DType::I64, -7)}, {}},
      {"empty_u8", FillAttrs{{2, 0}, Tensor::scalar(DType::U8, 3)}, {}},
      {"half_f16", FillAttrs{{1000}, Tensor::scalar(DType::F16, 0.5)}, {}},
      {"packed_i4", FillAttrs{{3, 3}, Tensor::scalar(DType::I4, -3)}, {}},
  };
}

// ceil((limit - start) / delta), at least 0; nullopt if the sign of delta is not known or the numbers are absurd.
std::optional<Dim> range_length(const Dim& start, const Dim& limit, const Dim& delta) {
  const auto step = delta.as_constant();
  if (!step || *step == 0 || !check_sizes({start}).ok() || !check_sizes({limit}).ok() || !check_sizes({delta}).ok()) {
    return std::nullopt;
  }
  return larger(*step > 0 ? ceil_div(limit - start, delta) : ceil_div(start - limit, Dim(-*step)), Dim(0));
}

Result<void> infer_range(InferContext& ctx) {
  STROP_ASSIGN(const TensorType start, ctx.tensor(0));
  for (size_t i = 1; i < 3; ++i) {
    STROP_ASSIGN(const TensorType other, ctx.tensor(i));
    if (other.dtype != start.dtype)
      return violates("(C1) operand {} is {}, operand 0 {}", i, to_string(other.dtype), to_string(start.dtype));
  }
  std::array<std::optional<Dim>, 3> values;
  for (size_t i = 0; i < 3; ++i) {
    const auto& known = ctx.known_inputs[i];
    if (known && known->size() == 1) values[i] = known->front();
  }
  std::optional<Dim> length;
  if (values[0] && values[1] && values[2]) length = range_length(*values[0], *values[1], *values[2]);
  if (length && length->is_constant() && length->constant() <= kMaxKnown) {
    Dims contents;
    for (int64_t i = 0; i < length->constant(); ++i) contents.push_back(*values[0] + Dim(i) * *values[2]);
    ctx.known_outputs[0] = std::move(contents);
  }
  ctx.outputs[0] = Type(start.dtype, {length ? *length : ctx.unbacked()});
  return {};
}

Result<void> evaluate_range(EvalContext& ctx) {
  const DType dtype = ctx.in(0).dtype();
  for (size_t i = 0; i < 3; ++i) {
    if (ctx.in(i).count() != 1) return bad_data("Range: operand {} has {} elements, not 1", i, ctx.in(i).count());
  }
  if (is_integer(dtype)) {
    const int64_t start = load_i64(ctx.in(0))[0];
    const int64_t delta = load_i64(ctx.in(2))[0];
    if (delta == 0) return bad_data("Range: delta is 0");
    const auto steps = range_length(Dim(start), Dim(load_i64(ctx.in(1))[0]), Dim(delta));
    if (!steps) return bad_data("Range: numbers beyond 2^40");
    const int64_t length = steps->constant();
    ctx.outputs[0] = store_i64(dtype, {length}, affine_table(length, delta, start));
    return {};
  }
  const double start = load_f64(ctx.in(0))[0];
  const double delta = load_f64(ctx.in(2))[0];
  const double steps = std::ceil((load_f64(ctx.in(1))[0] - start) / delta);
  if (delta == 0 || !(steps < 0x1p40)) return bad_data("Range: from {} by {} has no end", start, delta);
  std::vector<double> values(static_cast<size_t>(std::max(steps, 0.0)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * delta;
  ctx.outputs[0] = store_f64(dtype, {static_cast<int64_t>(values.size())}, values);
  return {};
}

std::vector<WorkedCase> range_cases() {
  const auto given = [](DType dtype, double start, double limit, double delta) {
    return std::vector<std::pair<size_t, Tensor>>{
        {0, Tensor::scalar(dtype, start)}, {1, Tensor::scalar(dtype, limit)}, {2, Tensor::scalar(dtype, delta)}};
  };
  const auto types = [](DType dtype) { return std::vector<Type>(3, Type(dtype, Dims{})); };
  return {
      {"up_f32", NoAttrs{}, types(DType::F32), 1, given(DType::F32, 1, 5, 0.75)},
      {"down_i64", NoAttrs{}, types(DType::I64), 1, given(DType::I64, 10, -3, -4)},
      {"empty_i32", NoAttrs{}, types(DType::I32), 1, given(DType::I32, 3, 3, 1)},
  };
}

Result<void> infer_eye_like(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<EyeLikeAttrs>();
  if (input.has_rank() && input.rank() != 2) return violates("(C1) rank {}, not 2", input.rank());
  ctx.outputs[0] = Type(attrs.dtype, input.has_rank() ? input.dims() : unbacked_dims(ctx, 2));
  return {};
}

Result<void> evaluate_eye_like(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<EyeLikeAttrs>();
  const int64_t rows = ctx.in(0).dim(0);
  const int64_t columns = ctx.in(0).dim(1);
  Tensor result(attrs.dtype, {rows, columns});
  const Tensor one = Tensor::scalar(attrs.dtype, 1);
  for (int64_t i = 0; i < rows; ++i) {
    if (i + attrs.k >= 0 && i + attrs.k < columns) copy_elements(result, i * columns + i + attrs.k, one, 0, 1);
  }
  ctx.outputs[0] = std::move(result);
  return {};
}

std::vector<WorkedCase> eye_like_cases() {
  return {
      {"main_f32", EyeLikeAttrs{}, {Type(DType::F32, {3, 4})}},
      {"below_i64", EyeLikeAttrs{DType::I64, -1}, {Type(DType::I32, {4, 3})}},
  };
}

Result<void> infer_one_hot(InferContext& ctx) {
  STROP_ASSIGN(const TensorType indices, ctx.tensor(0));
  STROP_ASSIGN(const TensorType values, ctx.tensor(1));
  const auto& attrs = ctx.attrs.as<OneHotAttrs>();
  if (!indices.has_rank()) return ctx.outputs[0] = Type::unranked(values.dtype), Result<void>();
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, indices.rank() + 1, "(C1) axis"));
  const auto depth = dim_field(ctx, "depth", attrs.depth);
  Dims dims = indices.dims();
  dims.insert(dims.begin() + axis, depth ? *depth : ctx.unbacked());
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(values.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_one_hot(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<OneHotAttrs>();
  const Tensor& indices = ctx.in(0);
  if (ctx.in(1).count() != 2) return bad_data("OneHot: {} values, not [off, on]", ctx.in(1).count());
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, indices.rank() + 1, "(C1) axis"));
  const int64_t depth = bound({attrs.depth})[0];
  if (depth < 0) return bad_data("OneHot: depth {}", depth);
  const int64_t outer = count_between(indices.dims(), 0, axis);
  const int64_t inner = count_between(indices.dims(), axis, indices.rank());
  std::vector<int64_t> picks;
  if (is_integer(indices.dtype())) {
    picks = load_i64(indices);
  } else {
    for (const double value : load_f64(indices)) picks.push_back(static_cast<int64_t>(value));
  }
  std::vector<int64_t> is_on(static_cast<size_t>(outer * depth * inner), 0);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t at = wrap_index(picks[static_cast<size_t>(o * inner + i)], depth);
      if (at >= 0) is_on[static_cast<size_t>((o * depth + at) * inner + i)] = 1;
    }
  }
  auto dims = indices.dims();
  dims.insert(dims.begin() + axis, depth);
  ctx.outputs[0] = gather_elements(ctx.in(1), std::move(dims), is_on);
  return {};
}

std::vector<WorkedCase> one_hot_cases() {
  const Tensor picks = store_i64(DType::I64, {2, 3}, std::array<int64_t, 6>{0, 3, -1, 9, 2, 1});
  const std::vector<Type> types = {Type(DType::I64, {2, 3}), Type(DType::F32, {2})};
  return {
      {"last_axis_f32", OneHotAttrs{-1, 4}, types, 1, {{0, picks}}},
      {"middle_axis_f32", OneHotAttrs{1, 5}, types, 1, {{0, picks}}},
  };
}

}  // namespace

const Operator kFill = {
    .name = "Fill",
    .make_attrs = [] { return Attrs(FillAttrs{}); },
    .infer = infer_fill,
    .evaluate = evaluate_fill,
    .cases = fill_cases,
};

const Operator kRange = {.name = "Range", .infer = infer_range, .evaluate = evaluate_range, .cases = range_cases};

const Operator kEyeLike = {
    .name = "EyeLike",
    .make_attrs = [] { return Attrs(EyeLikeAttrs{}); },
    .infer = infer_eye_like,
    .evaluate = evaluate_eye_like,
    .cases = eye_like_cases,
};

const Operator kOneHot = {
    .name = "OneHot",
    .make_attrs = [] { return Attrs(OneHotAttrs{}); },
    .infer = infer_one_hot,
    .evaluate = evaluate_one_hot,
    .cases = one_hot_cases,
};

std::span<const Operator* const> fill_operators() {
  static constexpr std::array kOperators = {&kFill, &kRange, &kEyeLike, &kOneHot};
  return kOperators;
}

}  // namespace strop::ops
