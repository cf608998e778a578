#include <algorithm>
#include <array>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/index_data.h"
#include "ops/late.h"
#include "ops/scatter/scatter.h"

namespace strop::ops {
namespace {

template <class T>
T combine(ScatterReduction reduction, T old, T update) {
  switch (reduction) {
    case ScatterReduction::None: return update;
    case ScatterReduction::Add: return static_cast<T>(old + update);
    case ScatterReduction::Mul: return static_cast<T>(old * update);
    case ScatterReduction::Max: return old < update ? update : old;
    case ScatterReduction::Min: return update < old ? update : old;
  }
  return update;
}

template <class T>
void combine_all(ScatterReduction reduction, std::vector<T>& data, const std::vector<T>& updates,
                 const std::vector<int64_t>& targets) {
  for (size_t i = 0; i < targets.size(); ++i) {
    T& at = data[static_cast<size_t>(targets[i])];
    at = combine(reduction, at, updates[i]);
  }
}

std::vector<uint64_t> as_unsigned(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

// data with update element i met at element targets[i], in order. Integers wrap; floats are combined in double.
Result<Tensor> scatter(const Tensor& data, const Tensor& updates, const std::vector<int64_t>& targets,
                       ScatterReduction reduction) {
  const DType dtype = data.dtype();
  if (reduction == ScatterReduction::None) {
    Tensor result = data.clone();
    for (size_t i = 0; i < targets.size(); ++i) copy_elements(result, targets[i], updates, static_cast<int64_t>(i), 1);
    return result;
  }
  if (is_float(dtype)) {
    auto values = load_f64(data);
    combine_all(reduction, values, load_f64(updates), targets);
    return store_f64(dtype, data.dims(), values);
  }
  if (is_signed_integer(dtype)) {
    const bool ordered = reduction == ScatterReduction::Max || reduction == ScatterReduction::Min;
    if (ordered) {
      auto values = load_i64(data);
      combine_all(reduction, values, load_i64(updates), targets);
      return store_i64(dtype, data.dims(), values);
    }
  }
  if (!is_integer(dtype) && dtype != DType::Bool) return bad_data("scatter: no reduction of {}", to_string(dtype));
  // Sums and products modulo 2^64 are the same for both signs, and unsigned ones are defined where they wrap.
  auto values = as_unsigned(load_i64(data));
  combine_all(reduction, values, as_unsigned(load_i64(updates)), targets);
  return store_i64(dtype, data.dims(), std::vector<int64_t>(values.begin(), values.end()));
}

Result<TensorType> check_operands(InferContext& ctx) {
  STROP_ASSIGN(const TensorType data, ctx.tensor(0));
  STROP_ASSIGN(const TensorType indices, ctx.tensor(1));
  STROP_ASSIGN(const TensorType updates, ctx.tensor(2));
  if (indices.dtype != DType::I32 && indices.dtype != DType::I64) {
    return violates("(C1) indices are {}, not i32 or i64", to_string(indices.dtype));
  }
  if (updates.dtype != data.dtype)
    return violates("(C2) updates are {}, the data {}", to_string(updates.dtype), to_string(data.dtype));
  ctx.outputs[0] = data;
  return data;
}

Result<void> infer_scatter_elements(InferContext& ctx) {
  STROP_ASSIGN(const TensorType data, check_operands(ctx));
  if (!data.has_rank()) return {};
  STROP_TRY(normalize_axis(ctx.attrs.as<ScatterElementsAttrs>().axis, data.rank(), "(C3) axis"));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const TensorType& other = ctx.inputs[i].tensor;
    if (other.has_rank() && other.rank() != data.rank())
      return violates("(C4) operand {} has rank {}, the data {}", i, other.rank(), data.rank());
  }
  return {};
}

Result<void> evaluate_scatter_elements(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<ScatterElementsAttrs>();
  const Tensor& data = ctx.in(0);
  const Tensor& indices = ctx.in(1);
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, data.rank(), "(C3) axis"));
  if (indices.dims() != ctx.in(2).dims()) return bad_data("ScatterElements: indices and updates differ in shape");
  for (int64_t i = 0; i < data.rank(); ++i) {
    if (i != axis && indices.dim(i) > data.dim(i))
      return bad_data("ScatterElements: indices are larger than the data in axis {}", i);
  }
  STROP_ASSIGN(auto targets, load_indices(indices, data.dim(axis), "ScatterElements"));
  const auto strides = strides_of(data.dims());
  for_each_element(indices.dims(), [&](const std::vector<int64_t>& at, int64_t linear) {
    int64_t& target = targets[static_cast<size_t>(linear)];
    target *= strides[static_cast<size_t>(axis)];
    for (size_t i = 0; i < at.size(); ++i) target += static_cast<int64_t>(i) == axis ? 0 : at[i] * strides[i];
  });
  STROP_ASSIGN(ctx.outputs[0], scatter(data, ctx.in(2), targets, attrs.reduction));
  return {};
}

std::vector<WorkedCase> scatter_elements_cases() {
  const Tensor picks = store_i64(DType::I64, {2, 3}, std::array<int64_t, 6>{1, 0, -1, 0, 2, 1});
  const Tensor repeated = store_i64(DType::I32, {1, 4}, std::array<int64_t, 4>{1, 1, 0, 1});
  const auto types = [](DType dtype) {
    return std::vector<Type>{Type(dtype, {3, 3}), Type(DType::I64, {2, 3}), Type(dtype, {2, 3})};
  };
  const std::vector<Type> row = {Type(DType::F32, {2, 5}), Type(DType::I32, {1, 4}), Type(DType::F32, {1, 4})};
  using Attributes = ScatterElementsAttrs;
  return {
      {"rows_f32", Attributes{0, ScatterReduction::None}, types(DType::F32), 1, {{1, picks}}},
      {"rows_i64_add", Attributes{0, ScatterReduction::Add}, types(DType::I64), 1, {{1, picks}}},
      {"repeated_f32_add", Attributes{1, ScatterReduction::Add}, row, 1, {{1, repeated}}},
      {"repeated_f32_mul", Attributes{1, ScatterReduction::Mul}, row, 1, {{1, repeated}}},
      {"repeated_f32_max", Attributes{1, ScatterReduction::Max}, row, 1, {{1, repeated}}},
      {"repeated_f32_min", Attributes{1, ScatterReduction::Min}, row, 1, {{1, repeated}}},
  };
}

Result<void> infer_scatter_nd(InferContext& ctx) {
  STROP_ASSIGN(const TensorType data, check_operands(ctx));
  const TensorType& indices = ctx.inputs[1].tensor;
  if (!data.has_rank() || !indices.has_rank()) return {};
  if (indices.rank() < 1) return violates("(C3) indices are a scalar");
  const auto tuple = indices.dims().back().as_constant();
  if (tuple && *tuple > data.rank())
    return violates("(C4) tuples of {} indices into data of rank {}", *tuple, data.rank());
  return {};
}

Result<void> evaluate_scatter_nd(EvalContext& ctx) {
  const Tensor& data = ctx.in(0);
  const Tensor& indices = ctx.in(1);
  const Tensor& updates = ctx.in(2);
  const int64_t tuple = indices.dims().back();
  const int64_t tuples = count_between(indices.dims(), 0, indices.rank() - 1);
  const int64_t slice = count_between(data.dims(), tuple, data.rank());
  if (updates.count() != tuples * slice)
    return bad_data("ScatterND: {} updates for {} slices of {}", updates.count(), tuples, slice);
  const auto strides = strides_of(data.dims());
  const auto values = load_i64(indices);
  std::vector<int64_t> targets(static_cast<size_t>(updates.count()));
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t first = 0;
    for (int64_t k = 0; k < tuple; ++k) {
      const int64_t value = values[static_cast<size_t>(t * tuple + k)];
      const int64_t at = wrap_index(value, data.dim(k));
      if (at < 0) return index_error("ScatterND", value, data.dim(k));
      first += at * strides[static_cast<size_t>(k)];
    }
    for (int64_t i = 0; i < slice; ++i) targets[static_cast<size_t>(t * slice + i)] = first + i;
  }
  STROP_ASSIGN(ctx.outputs[0], scatter(data, updates, targets, ctx.attrs.as<ScatterNDAttrs>().reduction));
  return {};
}

std::vector<WorkedCase> scatter_nd_cases() {
  const Tensor pairs = store_i64(DType::I64, {3, 2}, std::array<int64_t, 6>{0, 1, 1, -1, 0, 1});
  const auto types = [](DType dtype) {
    return std::vector<Type>{Type(dtype, {2, 3, 4}), Type(DType::I64, {3, 2}), Type(dtype, {3, 4})};
  };
  return {
      {"slices_f32", ScatterNDAttrs{}, types(DType::F32), 1, {{1, pairs}}},
      {"slices_f16", ScatterNDAttrs{}, types(DType::F16), 1, {{1, pairs}}},
      {"slices_f32_add", ScatterNDAttrs{ScatterReduction::Add}, types(DType::F32), 1, {{1, pairs}}},
      {"slices_i32_max", ScatterNDAttrs{ScatterReduction::Max}, types(DType::I32), 1, {{1, pairs}}},
  };
}

Result<void> infer_tensor_scatter(InferContext& ctx) {
  STROP_ASSIGN(const TensorType cache, ctx.tensor(0));
  STROP_ASSIGN(const TensorType update, ctx.tensor(1));
  if (update.dtype != cache.dtype)
    return violates("(C1) the update is {}, the cache {}", to_string(update.dtype), to_string(cache.dtype));
  if (cache.has_rank()) {
    STROP_ASSIGN(const int64_t axis,
                 normalize_axis(ctx.attrs.as<TensorScatterAttrs>().axis, cache.rank(), "(C2) axis"));
    if (axis == 0) return violates("(C2) axis 0 is the batch");
    if (update.has_rank() && update.rank() != cache.rank())
      return violates("(C3) the update has rank {}, the cache {}", update.rank(), cache.rank());
  }
  ctx.outputs[0] = cache;
  return {};
}

Result<void> evaluate_tensor_scatter(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<TensorScatterAttrs>();
  const Tensor& cache = ctx.in(0);
  const Tensor& update = ctx.in(1);
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, cache.rank(), "(C2) axis"));
  const auto at_axis = static_cast<size_t>(axis);
  auto expected = cache.dims();
  expected[at_axis] = update.dim(axis);
  if (update.dims() != expected) return bad_data("TensorScatter: the update's shape does not fit the cache's");
  std::vector<int64_t> positions(static_cast<size_t>(cache.dim(0)), 0);
  if (ctx.has_input(2)) positions = load_i64(ctx.in(2));
  const int64_t length = cache.dim(axis);
  const int64_t room = attrs.circular ? length - 1 : length - update.dim(axis);
  for (const int64_t position : positions) {
    if (position < 0 || position > room || update.dim(axis) > length) {
      return bad_data("TensorScatter: {} elements at position {} of {}", update.dim(axis), position, length);
    }
  }
  const auto strides = strides_of(cache.dims());
  std::vector<int64_t> targets(static_cast<size_t>(update.count()));
  for_each_element(update.dims(), [&](const std::vector<int64_t>& at, int64_t linear) {
    const int64_t along = (positions[static_cast<size_t>(at[0])] + at[at_axis]) % length;
    int64_t sum = along * strides[at_axis];
    for (size_t i = 0; i < at.size(); ++i) sum += i == at_axis ? 0 : at[i] * strides[i];
    targets[static_cast<size_t>(linear)] = sum;
  });
  STROP_ASSIGN(ctx.outputs[0], scatter(cache, update, targets, ScatterReduction::None));
  return {};
}

std::vector<WorkedCase> tensor_scatter_cases() {
  const Tensor positions = Tensor::of_i64({1, 3});
  const std::vector<Type> types = {Type(DType::F32, {2, 3, 5, 4}), Type(DType::F32, {2, 3, 2, 4}),
                                   Type(DType::I64, {2})};
  return {
      {"linear_f32", TensorScatterAttrs{}, types, 1, {{2, positions}}},
      {"circular_f32", TensorScatterAttrs{-2, true}, types, 1, {{2, Tensor::of_i64({4, 0})}}},
      {"at_start_f16", TensorScatterAttrs{1, false}, {Type(DType::F16, {2, 4, 3}), Type(DType::F16, {2, 2, 3})}},
  };
}

}  // namespace

const Operator kScatterElements = {
    .name = "ScatterElements",
    .make_attrs = [] { return Attrs(ScatterElementsAttrs{}); },
    .infer = infer_scatter_elements,
    .evaluate = evaluate_scatter_elements,
    .cases = scatter_elements_cases,
    .in_place_operand = 0,
};

const Operator kScatterND = {
    .name = "ScatterND",
    .make_attrs = [] { return Attrs(ScatterNDAttrs{}); },
    .infer = infer_scatter_nd,
    .evaluate = evaluate_scatter_nd,
    .cases = scatter_nd_cases,
    .in_place_operand = 0,
};

const Operator kTensorScatter = {
    .name = "TensorScatter",
    .make_attrs = [] { return Attrs(TensorScatterAttrs{}); },
    .infer = infer_tensor_scatter,
    .evaluate = evaluate_tensor_scatter,
    .cases = tensor_scatter_cases,
    .in_place_operand = 0,
};

std::span<const Operator* const> scatter_operators() {
  static constexpr std::array kOperators = {&kScatterElements, &kScatterND, &kTensorScatter};
  return kOperators;
}

}  // namespace strop::ops
