#include <array>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/gather/gather.h"
#include "ops/index_data.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

// The operands' types with the constraint that all share: (C1) integer indices.
struct Operands {
  TensorType data, indices;
  bool ranked() const { return data.has_rank() && indices.has_rank(); }
};
Result<Operands> operand_types(const InferContext& ctx) {
  STROP_ASSIGN(const TensorType data, ctx.tensor(0));
  STROP_ASSIGN(const TensorType indices, ctx.tensor(1));
  if (indices.dtype != DType::I32 && indices.dtype != DType::I64) {
    return violates("(C1) indices are {}, not i32 or i64", to_string(indices.dtype));
  }
  return Operands{data, indices};
}

void infer_known(InferContext& ctx) {
  const auto& contents = ctx.known_inputs[0];
  const auto indices = ctx.known_inputs[1] ? as_constants(*ctx.known_inputs[1]) : std::nullopt;
  if (!contents || !indices) return;
  Dims result;
  for (const int64_t index : *indices) {
    const int64_t at = wrap_index(index, static_cast<int64_t>(contents->size()));
    if (at < 0) return;
    result.push_back((*contents)[static_cast<size_t>(at)]);
  }
  ctx.known_outputs[0] = std::move(result);
}

Result<void> infer_gather(InferContext& ctx) {
  STROP_ASSIGN(const Operands operands, operand_types(ctx));
  const auto& [data, indices] = operands;
  if (!operands.ranked()) return ctx.outputs[0] = Type::unranked(data.dtype), Result<void>();
  STROP_ASSIGN(const int64_t axis, normalize_axis(ctx.attrs.as<GatherAttrs>().axis, data.rank(), "(C2) axis"));
  Dims dims(data.dims().begin(), data.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), data.dims().begin() + axis + 1, data.dims().end());
  if (data.rank() == 1 && dims.size() <= 1) infer_known(ctx);
  ctx.outputs[0] = Type(data.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_gather(EvalContext& ctx) {
  const Tensor& data = ctx.in(0);
  const Tensor& indices = ctx.in(1);
  STROP_ASSIGN(const int64_t axis, normalize_axis(ctx.attrs.as<GatherAttrs>().axis, data.rank(), "(C2) axis"));
  STROP_ASSIGN(const auto picks, load_indices(indices, data.dim(axis), "Gather"));
  const auto strides = strides_of(data.dims());
  AxisTables tables;
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < data.rank(); ++i) {
    const int64_t stride = strides[static_cast<size_t>(i)];
    if (i != axis) {
      tables.push_back(affine_table(data.dim(i), stride));
      dims.push_back(data.dim(i));
      continue;
    }
    auto& table = tables.emplace_back(picks);
    for (int64_t& offset : table) offset *= stride;
    dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  }
  ctx.outputs[0] = gather_by_axes(data, tables, ctx.threads).reshaped(std::move(dims));
  return {};
}

std::vector<WorkedCase> gather_cases() {
  const Tensor picks = store_i64(DType::I64, {2, 3}, std::array<int64_t, 6>{4, 0, -1, 2, 2, 1});
  const Tensor narrow = store_i64(DType::I32, {4}, std::array<int64_t, 4>{0, -2, 1, 1});
  const auto of = [](const Tensor& tensor) { return std::vector<std::pair<size_t, Tensor>>{{1, tensor}}; };
  const Type wide_type(DType::I64, {2, 3});
  return {
      {"rows_f32", GatherAttrs{0}, {Type(DType::F32, {5, 16}), wide_type}, 1, of(picks)},
      {"middle_axis_f16", GatherAttrs{1}, {Type(DType::F16, {3, 5, 4}), wide_type}, 1, of(picks)},
      {"last_axis_i32_indices", GatherAttrs{-1}, {Type(DType::F32, {3, 5}), Type(DType::I32, {4})}, 1, of(narrow)},
      {"scalar_index_i64",
       GatherAttrs{0},
       {Type(DType::I64, {5}), Type(DType::I64, {})},
       1,
       of(Tensor::scalar(DType::I64, 3))},
      {"packed_u4", GatherAttrs{0}, {Type(DType::U4, {3, 3}), Type(DType::I32, {4})}, 1, of(narrow)},
  };
}

Result<void> infer_gather_elements(InferContext& ctx) {
  STROP_ASSIGN(const Operands operands, operand_types(ctx));
  const auto& [data, indices] = operands;
  if (data.has_rank()) {
    STROP_TRY(normalize_axis(ctx.attrs.as<GatherAttrs>().axis, data.rank(), "(C2) axis"));
  }
  if (operands.ranked() && data.rank() != indices.rank()) {
    return violates("(C3) indices have rank {}, the data {}", indices.rank(), data.rank());
  }
  ctx.outputs[0] = TensorType{data.dtype, indices.shape, {}};
  return {};
}

Result<void> evaluate_gather_elements(EvalContext& ctx) {
  const Tensor& data = ctx.in(0);
  const Tensor& indices = ctx.in(1);
  STROP_ASSIGN(const int64_t axis, normalize_axis(ctx.attrs.as<GatherAttrs>().axis, data.rank(), "(C2) axis"));
  STROP_ASSIGN(const auto picks, load_indices(indices, data.dim(axis), "GatherElements"));
  for (int64_t i = 0; i < data.rank(); ++i) {
    if (i != axis && indices.dim(i) > data.dim(i))
      return bad_data("GatherElements: indices are larger than the data in axis {}", i);
  }
  const auto strides = strides_of(data.dims());
  std::vector<int64_t> index(picks.size());
  for_each_element(indices.dims(), [&](const std::vector<int64_t>& at, int64_t linear) {
    int64_t sum = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      sum += strides[i] * (static_cast<int64_t>(i) == axis ? picks[static_cast<size_t>(linear)] : at[i]);
    }
    index[static_cast<size_t>(linear)] = sum;
  });
  ctx.outputs[0] = gather_elements(data, indices.dims(), index);
  return {};
}

std::vector<WorkedCase> gather_elements_cases() {
  const Tensor picks = store_i64(DType::I64, {2, 3}, std::array<int64_t, 6>{1, 2, 0, -1, 0, 0});
  return {
      {"rows_f32", GatherAttrs{0}, {Type(DType::F32, {3, 3}), Type(DType::I64, {2, 3})}, 1, {{1, picks}}},
      {"columns_i64", GatherAttrs{1}, {Type(DType::I64, {2, 3}), Type(DType::I64, {2, 3})}, 1, {{1, picks}}},
  };
}

Result<void> infer_gather_nd(InferContext& ctx) {
  STROP_ASSIGN(const Operands operands, operand_types(ctx));
  const auto& [data, indices] = operands;
  const int64_t batch = ctx.attrs.as<GatherNDAttrs>().batch_dims;
  ctx.outputs[0] = Type::unranked(data.dtype);
  if (!operands.ranked()) return {};
  if (indices.rank() < 1 || batch < 0 || batch >= indices.rank()) {
    return violates("(C2) {} batch dimensions with indices of rank {}", batch, indices.rank());
  }
  const auto tuple = indices.dims().back().as_constant();
  if (!tuple) return {};
  if (*tuple < 1 || batch + *tuple > data.rank()) {
    return violates("(C3) tuples of {} indices after {} batch dimensions, data of rank {}", *tuple, batch, data.rank());
  }
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), data.dims().begin() + batch + *tuple, data.dims().end());
  ctx.outputs[0] = Type(data.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_gather_nd(EvalContext& ctx) {
  const Tensor& data = ctx.in(0);
  const Tensor& indices = ctx.in(1);
  const int64_t batch = ctx.attrs.as<GatherNDAttrs>().batch_dims;
  const int64_t tuple = indices.dims().back();
  const auto values = load_i64(indices);
  const auto strides = strides_of(data.dims());
  const int64_t tuples = count_between(indices.dims(), 0, indices.rank() - 1);
  const int64_t batches = count_between(indices.dims(), 0, batch);
  const int64_t slice = count_between(data.dims(), batch + tuple, data.rank());
  const int64_t batch_stride = count_between(data.dims(), batch, data.rank());
  if (batches != count_between(data.dims(), 0, batch)) return bad_data("GatherND: the batch dimensions differ");
  std::vector<int64_t> index(static_cast<size_t>(tuples * slice));
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t first = t / (tuples / batches) * batch_stride;
    for (int64_t k = 0; k < tuple; ++k) {
      const int64_t value = values[static_cast<size_t>(t * tuple + k)];
      const int64_t at = wrap_index(value, data.dim(batch + k));
      if (at < 0) return index_error("GatherND", value, data.dim(batch + k));
      first += at * strides[static_cast<size_t>(batch + k)];
    }
    for (int64_t i = 0; i < slice; ++i) index[static_cast<size_t>(t * slice + i)] = first + i;
  }
  std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), data.dims().begin() + batch + tuple, data.dims().end());
  ctx.outputs[0] = gather_elements(data, std::move(dims), index);
  return {};
}

std::vector<WorkedCase> gather_nd_cases() {
  const Tensor pairs = store_i64(DType::I64, {3, 2}, std::array<int64_t, 6>{0, 1, 1, -1, 0, 0});
  const Tensor batched = store_i64(DType::I64, {2, 1}, std::array<int64_t, 2>{1, 0});
  return {
      {"slices_f32", GatherNDAttrs{0}, {Type(DType::F32, {2, 3, 4}), Type(DType::I64, {3, 2})}, 1, {{1, pairs}}},
      {"elements_i64", GatherNDAttrs{0}, {Type(DType::I64, {2, 3}), Type(DType::I64, {3, 2})}, 1, {{1, pairs}}},
      {"batch_f16", GatherNDAttrs{1}, {Type(DType::F16, {2, 2, 5}), Type(DType::I64, {2, 1})}, 1, {{1, batched}}},
  };
}

}  // namespace

const Operator kGather = {
    .name = "Gather",
    .make_attrs = [] { return Attrs(GatherAttrs{}); },
    .infer = infer_gather,
    .evaluate = evaluate_gather,
    .cases = gather_cases,
};

const Operator kGatherElements = {
    .name = "GatherElements",
    .make_attrs = [] { return Attrs(GatherAttrs{}); },
    .infer = infer_gather_elements,
    .evaluate = evaluate_gather_elements,
    .cases = gather_elements_cases,
};

const Operator kGatherND = {
    .name = "GatherND",
    .make_attrs = [] { return Attrs(GatherNDAttrs{}); },
    .infer = infer_gather_nd,
    .evaluate = evaluate_gather_nd,
    .cases = gather_nd_cases,
};

std::span<const Operator* const> gather_operators() {
  static constexpr std::array kOperators = {&kGather, &kGatherElements, &kGatherND};
  return kOperators;
}

}  // namespace strop::ops
