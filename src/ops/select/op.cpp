#include <algorithm>
#include <array>
#include <numeric>

#include "ops/element_map.h"
#include "ops/element_order.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/select/select.h"

namespace strop::ops {
namespace {

// The slices `picks` along `axis`, in that order.
Tensor take_slices(const Tensor& data, int64_t axis, const std::vector<int64_t>& picks, Threads& threads) {
  const auto strides = strides_of(data.dims());
  AxisTables tables;
  for (int64_t i = 0; i < data.rank(); ++i) {
    const int64_t stride = strides[static_cast<size_t>(i)];
    if (i != axis) {
      tables.push_back(affine_table(data.dim(i), stride));
      continue;
    }
    auto& table = tables.emplace_back(picks);
    for (int64_t& offset : table) offset *= stride;
  }
  return gather_by_axes(data, tables, threads);
}

Result<void> infer_compress(InferContext& ctx) {
  STROP_ASSIGN(const TensorType data, ctx.tensor(0));
  STROP_ASSIGN(const TensorType condition, ctx.tensor(1));
  const auto& attrs = ctx.attrs.as<CompressAttrs>();
  if (condition.dtype != DType::Bool) return violates("(C1) the condition is {}, not bool", to_string(condition.dtype));
  if (attrs.flatten) return ctx.outputs[0] = Type(data.dtype, {ctx.unbacked()}), Result<void>();
  if (!data.has_rank()) return ctx.outputs[0] = Type::unranked(data.dtype), Result<void>();
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, data.rank(), "(C2) axis"));
  Dims dims = data.dims();
  dims[static_cast<size_t>(axis)] = ctx.unbacked();
  ctx.outputs[0] = Type(data.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_compress(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<CompressAttrs>();
  const Tensor data = attrs.flatten ? ctx.in(0).reshaped({ctx.in(0).count()}) : ctx.in(0);
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.flatten ? 0 : attrs.axis, data.rank(), "(C2) axis"));
  std::vector<int64_t> picks;
  const auto condition = load_i64(ctx.in(1));
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] == 0) continue;
    if (static_cast<int64_t>(i) >= data.dim(axis))
      return bad_data("Compress: condition {} of an axis of {}", i, data.dim(axis));
    picks.push_back(static_cast<int64_t>(i));
  }
  ctx.outputs[0] = take_slices(data, axis, picks, ctx.threads);
  return {};
}

std::vector<WorkedCase> compress_cases() {
  const Tensor condition = store_i64(DType::Bool, {3}, std::array<int64_t, 3>{0, 1, 1});
  return {
      {"rows_f32", CompressAttrs{false, 0}, {Type(DType::F32, {3, 4}), Type(DType::Bool, {3})}, 1, {{1, condition}}},
      {"columns_i64",
       CompressAttrs{false, -1},
       {Type(DType::I64, {2, 5}), Type(DType::Bool, {3})},
       1,
       {{1, condition}}},
      {"flat_f16", CompressAttrs{}, {Type(DType::F16, {2, 3}), Type(DType::Bool, {3})}, 1, {{1, condition}}},
  };
}

Result<void> infer_non_zero(InferContext& ctx) {
  STROP_ASSIGN(const TensorType data, ctx.tensor(0));
  ctx.outputs[0] = Type(DType::I64, {data.has_rank() ? Dim(data.rank()) : ctx.unbacked(), ctx.unbacked()});
  return {};
}

std::vector<bool> non_zero_elements(const Tensor& data) {
  std::vector<bool> result(static_cast<size_t>(data.count()));
  if (data.dtype() == DType::String) {
    for (size_t i = 0; i < result.size(); ++i) result[i] = !data.strings()[i].empty();
  } else if (is_integer(data.dtype()) || data.dtype() == DType::Bool) {
    const auto values = load_i64(data);
    std::transform(values.begin(), values.end(), result.begin(), [](int64_t value) { return value != 0; });
  } else {
    const auto values = load_f64(data);
    std::transform(values.begin(), values.end(), result.begin(), [](double value) { return value != 0; });
  }
  return result;
}

Result<void> evaluate_non_zero(EvalContext& ctx) {
  const Tensor& data = ctx.in(0);
  const auto non_zero = non_zero_elements(data);
  const int64_t count = std::count(non_zero.begin(), non_zero.end(), true);
  std::vector<int64_t> coordinates(static_cast<size_t>(data.rank() * count));
  size_t next = 0;
  for_each_element(data.dims(), [&](const std::vector<int64_t>& at, int64_t linear) {
    if (!non_zero[static_cast<size_t>(linear)]) return;
    for (size_t axis = 0; axis < at.size(); ++axis) coordinates[axis * static_cast<size_t>(count) + next] = at[axis];
    ++next;
  });
  ctx.outputs[0] = store_i64(DType::I64, {data.rank(), count}, coordinates);
  return {};
}

std::vector<WorkedCase> non_zero_cases() {
  const Tensor mask = store_i64(DType::Bool, {2, 3}, std::array<int64_t, 6>{1, 0, 1, 0, 0, 1});
  return {
      {"mask_bool", NoAttrs{}, {Type(DType::Bool, {2, 3})}, 1, {{0, mask}}},
      {"all_f32", NoAttrs{}, {Type(DType::F32, {2, 2, 2})}},
  };
}

Result<void> infer_unique(InferContext& ctx) {
  STROP_ASSIGN(const TensorType data, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<UniqueAttrs>();
  const Dim found = ctx.unbacked();
  Dim slices = data.has_rank() ? data.count() : ctx.unbacked();
  if (attrs.flatten) {
    ctx.outputs[0] = Type(data.dtype, {found});
  } else if (!data.has_rank()) {
    ctx.outputs[0] = Type::unranked(data.dtype);
    slices = ctx.unbacked();
  } else {
    STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, data.rank(), "(C1) axis"));
    Dims dims = data.dims();
    slices = std::exchange(dims[static_cast<size_t>(axis)], found);
    ctx.outputs[0] = Type(data.dtype, std::move(dims));
  }
  for (size_t i = 1; i < ctx.outputs.size(); ++i) ctx.outputs[i] = Type(DType::I64, {i == 2 ? slices : found});
  return {};
}

// Equal slices as groups: the number of each slice's group, and each group's first slice.
struct Groups {
  std::vector<int64_t> of_slice;
  std::vector<int64_t> first;
};

// The elements of slice `s` along the middle axis of [outer, slices, inner], as one comparable row.
Groups group_slices(const std::vector<int64_t>& ranks, int64_t outer, int64_t slices, int64_t inner, bool sorted) {
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(slices));
  for (int64_t s = 0; s < slices; ++s) {
    for (int64_t o = 0; o < outer; ++o) {
      const auto begin = ranks.begin() + (o * slices + s) * inner;
      rows[static_cast<size_t>(s)].insert(rows[static_cast<size_t>(s)].end(), begin, begin + inner);
    }
  }
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  std::vector<int64_t> first;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || rows[order[i - 1]] != rows[order[i]]) first.push_back(static_cast<int64_t>(order[i]));
  }
  if (!sorted) std::sort(first.begin(), first.end());
  Groups groups{std::vector<int64_t>(rows.size()), first};
  std::vector<int64_t> group_of_first(rows.size());
  for (size_t g = 0; g < first.size(); ++g) group_of_first[static_cast<size_t>(first[g])] = static_cast<int64_t>(g);
  size_t leader = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || rows[order[i - 1]] != rows[order[i]]) leader = order[i];
    groups.of_slice[order[i]] = group_of_first[leader];
  }
  return groups;
}

Result<void> evaluate_unique(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<UniqueAttrs>();
  const Tensor data = attrs.flatten ? ctx.in(0).reshaped({ctx.in(0).count()}) : ctx.in(0);
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.flatten ? 0 : attrs.axis, data.rank(), "(C1) axis"));
  const int64_t outer = count_between(data.dims(), 0, axis);
  const int64_t inner = count_between(data.dims(), axis + 1, data.rank());
  const Groups groups = group_slices(ranks_of_elements(data), outer, data.dim(axis), inner, attrs.sorted);
  ctx.outputs[0] = take_slices(data, axis, groups.first, ctx.threads);
  if (ctx.wants(1)) ctx.outputs[1] = Tensor::of_i64(groups.first);
  if (ctx.wants(2)) ctx.outputs[2] = Tensor::of_i64(groups.of_slice);
  if (ctx.wants(3)) {
    std::vector<int64_t> counts(groups.first.size(), 0);
    for (const int64_t group : groups.of_slice) ++counts[static_cast<size_t>(group)];
    ctx.outputs[3] = Tensor::of_i64(std::move(counts));
  }
  return {};
}

std::vector<WorkedCase> unique_cases() {
  return {
      {"elements_i64", UniqueAttrs{}, {Type(DType::I64, {4, 5})}, 4},
      {"first_seen_i32", UniqueAttrs{true, 0, false}, {Type(DType::I32, {17})}, 4},
      {"columns_u8", UniqueAttrs{false, 1, true}, {Type(DType::U8, {1, 30})}, 4},
  };
}

}  // namespace

const Operator kCompress = {
    .name = "Compress",
    .make_attrs = [] { return Attrs(CompressAttrs{}); },
    .infer = infer_compress,
    .evaluate = evaluate_compress,
    .cases = compress_cases,
};

const Operator kNonZero = {
    .name = "NonZero", .infer = infer_non_zero, .evaluate = evaluate_non_zero, .cases = non_zero_cases};

const Operator kUnique = {
    .name = "Unique",
    .make_attrs = [] { return Attrs(UniqueAttrs{}); },
    .infer = infer_unique,
    .evaluate = evaluate_unique,
    .cases = unique_cases,
};

std::span<const Operator* const> select_operators() {
  static constexpr std::array kOperators = {&kCompress, &kNonZero, &kUnique};
  return kOperators;
}

}  // namespace strop::ops
