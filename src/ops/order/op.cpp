#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "ops/element_map.h"
#include "ops/element_order.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/order/order.h"

namespace strop::ops {
namespace {

// A tensor as [outer, length, inner] around one axis.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t element(int64_t o, int64_t i, int64_t at) const { return (o * length + at) * inner + i; }
};
Lines lines_along(const Tensor& tensor, int64_t axis) {
  return {count_between(tensor.dims(), 0, axis), tensor.dim(axis),
          count_between(tensor.dims(), axis + 1, tensor.rank())};
}

Result<void> infer_top_k(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<TopKAttrs>();
  Shape shape = input.shape;
  if (shape) {
    STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C1) axis"));
    const auto k = dim_field(ctx, "k", attrs.k);
    const auto size = input.dim(axis).as_constant();
    if (k && k->is_constant() && (k->constant() < 0 || (size && k->constant() > *size))) {
      return violates("(C2) k is {} for an axis of {}", k->constant(), input.dim(axis).to_string());
    }
    (*shape)[static_cast<size_t>(axis)] = k ? *k : ctx.unbacked();
  }
  ctx.outputs[0] = TensorType{input.dtype, shape, {}};
  if (ctx.wants_output(1)) ctx.outputs[1] = TensorType{DType::I64, shape, {}};
  return {};
}

Result<void> evaluate_top_k(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto& attrs = ctx.attrs.as<TopKAttrs>();
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C1) axis"));
  const int64_t k = bound({attrs.k})[0];
  if (k < 0 || k > input.dim(axis)) return bad_data("TopK: k is {} for an axis of {}", k, input.dim(axis));
  const auto ranks = ranks_of_elements(input);
  const Lines lines = lines_along(input, axis);
  auto dims = input.dims();
  dims[static_cast<size_t>(axis)] = k;
  std::vector<int64_t> sources(static_cast<size_t>(element_count(dims)));
  std::vector<int64_t> positions(sources.size());
  std::vector<int64_t> order(static_cast<size_t>(lines.length));
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < lines.inner; ++i) {
      std::iota(order.begin(), order.end(), int64_t{0});
      const auto rank = [&](int64_t at) { return ranks[static_cast<size_t>(lines.element(o, i, at))]; };
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return attrs.largest ? rank(a) > rank(b) : rank(a) < rank(b); });
      for (int64_t at = 0; at < k; ++at) {
        const auto target = static_cast<size_t>((o * k + at) * lines.inner + i);
        positions[target] = order[static_cast<size_t>(at)];
        sources[target] = lines.element(o, i, positions[target]);
      }
    }
  }
  ctx.outputs[0] = gather_elements(input, dims, sources);
  if (ctx.wants(1)) ctx.outputs[1] = store_i64(DType::I64, dims, positions);
  return {};
}

std::vector<WorkedCase> top_k_cases() {
  const Tensor ties = store_f64(DType::F32, {2, 4}, std::array<double, 8>{1, 3, 3, 1, -2, -2, 0, -2});
  return {
      {"last_axis_f32", TopKAttrs{-1, true, 5}, {Type(DType::F32, {3, 40})}, 2},
      {"smallest_i64", TopKAttrs{0, false, 2}, {Type(DType::I64, {6, 3})}, 2},
      {"ties_f32", TopKAttrs{1, true, 3}, {Type(DType::F32, {2, 4})}, 2, {{0, ties}}},
      {"all_f16", TopKAttrs{1, false, 7}, {Type(DType::F16, {2, 7, 2})}, 2},
      {"none_f32", TopKAttrs{0, true, 0}, {Type(DType::F32, {5})}, 2},
  };
}

Result<void> infer_arg(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<ArgAttrs>();
  if (!input.has_rank()) return ctx.outputs[0] = Type::unranked(DType::I64), Result<void>();
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C1) axis"));
  Dims dims = input.dims();
  if (attrs.keep_dims)
    dims[static_cast<size_t>(axis)] = Dim(1);
  else
    dims.erase(dims.begin() + axis);
  ctx.outputs[0] = Type(DType::I64, std::move(dims));
  return {};
}

template <bool IsMax>
Result<void> evaluate_arg(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto& attrs = ctx.attrs.as<ArgAttrs>();
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C1) axis"));
  const Lines lines = lines_along(input, axis);
  if (lines.length == 0 && lines.outer * lines.inner > 0)
    return bad_data("{}: axis {} is empty", IsMax ? "ArgMax" : "ArgMin", axis);
  auto dims = input.dims();
  if (attrs.keep_dims)
    dims[static_cast<size_t>(axis)] = 1;
  else
    dims.erase(dims.begin() + axis);
  // Ranks have NaN on top: where it must be, unless the smallest is looked for.
  std::vector<int64_t> worth = ranks_of_elements(input);
  if constexpr (!IsMax) {
    const std::vector<double> values = is_float(input.dtype()) ? load_f64(input) : std::vector<double>(worth.size());
    for (size_t i = 0; i < worth.size(); ++i) worth[i] = std::isnan(values[i]) ? INT64_MAX : -worth[i];
  }
  std::vector<int64_t> result(static_cast<size_t>(lines.outer * lines.inner));
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < lines.inner; ++i) {
      int64_t best = 0;
      for (int64_t at = 1; at < lines.length; ++at) {
        const int64_t challenger = worth[static_cast<size_t>(lines.element(o, i, at))];
        const int64_t champion = worth[static_cast<size_t>(lines.element(o, i, best))];
        if (challenger > champion || (attrs.select_last && challenger == champion)) best = at;
      }
      result[static_cast<size_t>(o * lines.inner + i)] = best;
    }
  }
  ctx.outputs[0] = store_i64(DType::I64, std::move(dims), result);
  return {};
}

std::vector<WorkedCase> arg_cases() {
  const Tensor ties = store_f64(DType::F32, {2, 3}, std::array<double, 6>{1, 1, 0, 0, 2, 0});
  const Tensor holes = store_f64(DType::F32, {2, 3}, std::array<double, 6>{1, NAN, NAN, 3, 1, 2});
  return {
      {"last_axis_f32", ArgAttrs{-1, false, false}, {Type(DType::F32, {5, 33})}},
      {"first_axis_i64", ArgAttrs{0, true, false}, {Type(DType::I64, {6, 4})}},
      {"middle_axis_f16", ArgAttrs{1, true, false}, {Type(DType::F16, {2, 9, 3})}},
      {"ties_first_f32", ArgAttrs{1, true, false}, {Type(DType::F32, {2, 3})}, 1, {{0, ties}}},
      {"ties_last_f32", ArgAttrs{1, true, true}, {Type(DType::F32, {2, 3})}, 1, {{0, ties}}},
      {"nan_first_f32", ArgAttrs{1, true, false}, {Type(DType::F32, {2, 3})}, 1, {{0, holes}}},
      {"nan_last_f32", ArgAttrs{1, true, true}, {Type(DType::F32, {2, 3})}, 1, {{0, holes}}},
  };
}

Result<void> infer_cumulative(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto axis = int_field(ctx, "axis", ctx.attrs.as<CumulativeAttrs>().axis);
  if (axis && input.has_rank()) {
    STROP_TRY(normalize_axis(*axis, input.rank(), "(C1) axis"));
  }
  ctx.outputs[0] = input;
  return {};
}

template <class T, bool IsSum>
void accumulate_lines(std::vector<T>& values, const Lines& lines, const CumulativeAttrs& attrs) {
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < lines.inner; ++i) {
      T total = IsSum ? T(0) : T(1);
      for (int64_t step = 0; step < lines.length; ++step) {
        T& at = values[static_cast<size_t>(lines.element(o, i, attrs.reverse ? lines.length - 1 - step : step))];
        const T next = IsSum ? total + at : total * at;
        at = attrs.exclusive ? total : next;
        total = next;
      }
    }
  }
}

template <bool IsSum>
Result<void> evaluate_cumulative(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto& attrs = ctx.attrs.as<CumulativeAttrs>();
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C1) axis"));
  const Lines lines = lines_along(input, axis);
  if (is_integer(input.dtype())) {
    // Unsigned arithmetic wraps, and is the same for both signs.
    const auto integers = load_i64(input);
    std::vector<uint64_t> values(integers.begin(), integers.end());
    accumulate_lines<uint64_t, IsSum>(values, lines, attrs);
    ctx.outputs[0] = store_i64(input.dtype(), input.dims(), std::vector<int64_t>(values.begin(), values.end()));
    return {};
  }
  auto values = load_f64(input);
  accumulate_lines<double, IsSum>(values, lines, attrs);
  ctx.outputs[0] = store_f64(input.dtype(), input.dims(), values);
  return {};
}

std::vector<WorkedCase> cumulative_cases() {
  return {
      {"last_axis_f32", CumulativeAttrs{-1, false, false}, {Type(DType::F32, {5, 33})}},
      {"first_axis_f32", CumulativeAttrs{0, false, false}, {Type(DType::F32, {7, 6})}},
      {"exclusive_i64", CumulativeAttrs{1, true, false}, {Type(DType::I64, {3, 5})}},
      {"reverse_exclusive_f64", CumulativeAttrs{1, true, true}, {Type(DType::F64, {2, 5, 3})}},
      {"reverse_i32", CumulativeAttrs{0, false, true}, {Type(DType::I32, {4})}},
  };
}

Result<void> infer_trilu(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  if (input.has_rank() && input.rank() < 2) return violates("(C1) rank {}, below 2", input.rank());
  ctx.outputs[0] = input;
  return {};
}

Result<void> evaluate_trilu(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto& attrs = ctx.attrs.as<TriluAttrs>();
  const int64_t rows = input.dim(input.rank() - 2);
  const int64_t columns = input.dim(input.rank() - 1);
  const int64_t k = std::clamp(bound({attrs.k})[0], -rows - 1, columns + 1);
  std::vector<int64_t> index(static_cast<size_t>(input.count()));
  for (int64_t i = 0; i < input.count(); ++i) {
    const int64_t diagonal = i % columns - i / columns % rows;
    index[static_cast<size_t>(i)] = (attrs.upper ? diagonal >= k : diagonal <= k) ? i : -1;
  }
  ctx.outputs[0] = gather_elements(input, input.dims(), index);
  return {};
}

std::vector<WorkedCase> trilu_cases() {
  return {
      {"upper_f32", TriluAttrs{true, 0}, {Type(DType::F32, {5, 7})}},
      {"lower_batch_i64", TriluAttrs{false, -1}, {Type(DType::I64, {2, 4, 3})}},
      {"far_upper_f16", TriluAttrs{true, 9}, {Type(DType::F16, {3, 3})}},
  };
}

Result<void> infer_reverse_sequence(InferContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<ReverseSequenceAttrs>();
  const bool first_or_second = attrs.batch_axis == 0 ? attrs.time_axis == 1 : attrs.time_axis == 0;
  if (!first_or_second || attrs.batch_axis < 0 || attrs.batch_axis > 1) {
    return violates("(C1) batch axis {} and time axis {} are not 0 and 1", attrs.batch_axis, attrs.time_axis);
  }
  if (input.has_rank() && input.rank() < 2) return violates("(C2) rank {}, below 2", input.rank());
  ctx.outputs[0] = input;
  return {};
}

Result<void> evaluate_reverse_sequence(EvalContext& ctx) {
  const Tensor& input = ctx.in(0);
  const auto& attrs = ctx.attrs.as<ReverseSequenceAttrs>();
  const auto lengths = load_i64(ctx.in(1));
  const int64_t batches = input.dim(attrs.batch_axis);
  const int64_t times = input.dim(attrs.time_axis);
  const auto strides = strides_of(input.dims());
  if (static_cast<int64_t>(lengths.size()) != batches)
    return bad_data("ReverseSequence: {} lengths for {} sequences", lengths.size(), batches);
  for (const int64_t length : lengths) {
    if (length < 0 || length > times) return bad_data("ReverseSequence: length {} of at most {}", length, times);
  }
  const int64_t inner = count_between(input.dims(), 2, input.rank());
  std::vector<int64_t> index(static_cast<size_t>(input.count()));
  for (int64_t a = 0; a < input.dim(0); ++a) {
    for (int64_t b = 0; b < input.dim(1); ++b) {
      const int64_t time = attrs.time_axis == 0 ? a : b;
      const int64_t length = lengths[static_cast<size_t>(attrs.batch_axis == 0 ? a : b)];
      const int64_t shift = time < length ? (length - 1 - 2 * time) * strides[static_cast<size_t>(attrs.time_axis)] : 0;
      const int64_t first = a * strides[0] + b * strides[1];
      for (int64_t i = 0; i < inner; ++i) index[static_cast<size_t>(first + i)] = first + shift + i;
    }
  }
  ctx.outputs[0] = gather_elements(input, input.dims(), index);
  return {};
}

std::vector<WorkedCase> reverse_sequence_cases() {
  const Tensor lengths = Tensor::of_i64({3, 1, 0, 4});
  const std::vector<Type> types = {Type(DType::F32, {4, 4, 2}), Type(DType::I64, {4})};
  return {
      {"time_first_f32", ReverseSequenceAttrs{1, 0}, types, 1, {{1, lengths}}},
      {"batch_first_f32", ReverseSequenceAttrs{0, 1}, types, 1, {{1, lengths}}},
  };
}

}  // namespace

const Operator kTopK = {
    .name = "TopK",
    .make_attrs = [] { return Attrs(TopKAttrs{}); },
    .infer = infer_top_k,
    .evaluate = evaluate_top_k,
    .cases = top_k_cases,
};

const Operator kArgMax = {
    .name = "ArgMax",
    .make_attrs = [] { return Attrs(ArgAttrs{}); },
    .infer = infer_arg,
    .evaluate = evaluate_arg<true>,
    .cases = arg_cases,
};

const Operator kArgMin = {
    .name = "ArgMin",
    .make_attrs = [] { return Attrs(ArgAttrs{}); },
    .infer = infer_arg,
    .evaluate = evaluate_arg<false>,
    .cases = arg_cases,
};

const Operator kCumSum = {
    .name = "CumSum",
    .make_attrs = [] { return Attrs(CumulativeAttrs{}); },
    .infer = infer_cumulative,
    .evaluate = evaluate_cumulative<true>,
    .cases = cumulative_cases,
};

const Operator kCumProd = {
    .name = "CumProd",
    .make_attrs = [] { return Attrs(CumulativeAttrs{}); },
    .infer = infer_cumulative,
    .evaluate = evaluate_cumulative<false>,
    .cases = cumulative_cases,
};

const Operator kTrilu = {
    .name = "Trilu",
    .make_attrs = [] { return Attrs(TriluAttrs{}); },
    .infer = infer_trilu,
    .evaluate = evaluate_trilu,
    .cases = trilu_cases,
};

const Operator kReverseSequence = {
    .name = "ReverseSequence",
    .make_attrs = [] { return Attrs(ReverseSequenceAttrs{}); },
    .infer = infer_reverse_sequence,
    .evaluate = evaluate_reverse_sequence,
    .cases = reverse_sequence_cases,
};

std::span<const Operator* const> order_operators() {
  static constexpr std::array kOperators = {&kTopK,    &kArgMax, &kArgMin,         &kCumSum,
                                            &kCumProd, &kTrilu,  &kReverseSequence};
  return kOperators;
}

}  // namespace strop::ops
