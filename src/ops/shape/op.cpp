#include <algorithm>
#include <array>

#include "ops/families.h"
#include "ops/late.h"
#include "ops/shape/shape.h"

namespace strop::ops {
namespace {

Result<void> infer_dims_tensor(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<DimsTensorAttrs>();
  if (attrs.scalar && attrs.dims.size() != 1) return violates("(C1) {} dimensions for a scalar", attrs.dims.size());
  ctx.outputs[0] = Type(DType::I64, attrs.scalar ? Dims{} : Dims{Dim(static_cast<int64_t>(attrs.dims.size()))});
  ctx.known_outputs[0] = attrs.dims;
  return {};
}

Result<void> evaluate_dims_tensor(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<DimsTensorAttrs>();
  const Tensor vector = Tensor::of_i64(bound(attrs.dims));
  ctx.outputs[0] = attrs.scalar ? vector.reshaped({}) : vector;
  return {};
}

std::vector<WorkedCase> dims_tensor_cases() {
  return {{"vector", DimsTensorAttrs{{2, 3, 5}}, {}}, {"scalar", DimsTensorAttrs{{7}, true}, {}}};
}

Result<void> infer_shape(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<ShapeAttrs>();
  if (!input.has_rank()) return ctx.outputs[0] = Type(DType::I64, {ctx.unbacked()}), Result<void>();
  Dims dims = selected_dims(input.dims(), attrs.start, attrs.end);
  ctx.outputs[0] = Type(DType::I64, {Dim(static_cast<int64_t>(dims.size()))});
  ctx.known_outputs[0] = std::move(dims);
  return {};
}

Result<void> evaluate_shape(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<ShapeAttrs>();
  ctx.outputs[0] = Tensor::of_i64(bound(selected_dims(to_dims(ctx.in(0).dims()), attrs.start, attrs.end)));
  return {};
}

std::vector<WorkedCase> shape_cases() {
  return {
      {"all_f32", ShapeAttrs{}, {Type(DType::F32, {2, 3, 4})}},
      {"last_two_i8", ShapeAttrs{-2}, {Type(DType::I8, {2, 3, 4})}},
      {"nothing_f32", ShapeAttrs{2, 1}, {Type(DType::F32, {2, 3, 4})}},
  };
}

Result<void> infer_size(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  ctx.outputs[0] = Type(DType::I64, Dims{});
  if (input.has_rank()) ctx.known_outputs[0] = Dims{input.count()};
  return {};
}

Result<void> evaluate_size(EvalContext& ctx) {
  ctx.outputs[0] = Tensor::of_i64({ctx.in(0).count()}).reshaped({});
  return {};
}

std::vector<WorkedCase> size_cases() { return {{"all_f32", NoAttrs{}, {Type(DType::F32, {2, 3, 4})}}}; }

}  // namespace

Dims selected_dims(const Dims& dims, int64_t start, int64_t end) {
  const auto rank = static_cast<int64_t>(dims.size());
  const auto settle = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t first = settle(start);
  const int64_t last = std::max(first, settle(end));
  return Dims(dims.begin() + first, dims.begin() + last);
}

const Operator kDimsTensor = {
    .name = "DimsTensor",
    .make_attrs = [] { return Attrs(DimsTensorAttrs{}); },
    .infer = infer_dims_tensor,
    .evaluate = evaluate_dims_tensor,
    .cases = dims_tensor_cases,
};

const Operator kShape = {
    .name = "Shape",
    .make_attrs = [] { return Attrs(ShapeAttrs{}); },
    .infer = infer_shape,
    .evaluate = evaluate_shape,
    .cases = shape_cases,
};

const Operator kSize = {.name = "Size", .infer = infer_size, .evaluate = evaluate_size, .cases = size_cases};

std::span<const Operator* const> shape_operators() {
  static constexpr std::array kOperators = {&kDimsTensor, &kShape, &kSize};
  return kOperators;
}

}  // namespace strop::ops
