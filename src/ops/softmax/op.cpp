#include <array>
#include <cmath>
#include <limits>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/softmax/softmax.h"

namespace strop::ops {
namespace {

// The axis where groups begin: with flatten it may be the rank itself.
Result<int64_t> first_axis(const SoftmaxAttrs& attrs, int64_t rank) {
  if (attrs.flatten && attrs.axis == rank) return rank;
  return normalize_axis(attrs.axis, rank, "(C2) axis");
}

Result<void> infer_softmax(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<SoftmaxAttrs>();
  STROP_ASSIGN(const TensorType type, infer_prologue(ctx, attrs.programs()));
  // (C1) floating point.
  if (!is_float(type.dtype)) return violates("(C1) softmax of {}", to_string(type.dtype));
  if (type.has_rank()) STROP_TRY(first_axis(attrs, type.rank()));
  STROP_ASSIGN(ctx.outputs[0], infer_result(ctx, attrs.programs(), type));
  return {};
}

// One group: elements x[0], x[stride], …
struct Group {
  const double* x;
  double* y;
  int64_t length;
  int64_t stride;
};

int64_t first_greatest(const Group& group) {
  int64_t best = 0;
  for (int64_t i = 1; i < group.length; ++i) {
    const double at_best = group.x[best * group.stride];
    const double value = group.x[i * group.stride];
    if (!std::isnan(at_best) && (std::isnan(value) || value > at_best)) best = i;
  }
  return best;
}

void evaluate_group(SoftmaxKind kind, const Group& group) {
  const int64_t greatest = first_greatest(group);
  const double most = group.x[greatest * group.stride];
  if (kind == SoftmaxKind::Hardmax) {
    for (int64_t i = 0; i < group.length; ++i) group.y[i * group.stride] = i == greatest ? 1 : 0;
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < group.length; ++i) sum += std::exp(group.x[i * group.stride] - most);
  const double log_sum = std::log(sum);
  for (int64_t i = 0; i < group.length; ++i) {
    const double distance = group.x[i * group.stride] - most;
    group.y[i * group.stride] = kind == SoftmaxKind::Softmax ? std::exp(distance) / sum : distance - log_sum;
  }
}

Result<void> evaluate_softmax(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<SoftmaxAttrs>();
  const Tensor input = apply_prologue(ctx, attrs.programs());
  STROP_ASSIGN(const SoftmaxShape shape, softmax_shape(attrs, input.dims()));
  const auto x = load_f64(input);
  ReferenceSums sums{input.dtype(), input.dims(), std::vector<double>(x.size()), {}};
  const int64_t groups = x.empty() ? 0 : shape.outer * shape.inner;
  parallel_for(
      ctx.threads, groups, 4096 / std::max<int64_t>(shape.length, 1) + 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = i / shape.inner * shape.length * shape.inner + i % shape.inner;
          evaluate_group(attrs.kind, {x.data() + first, sums.numbers.data() + first, shape.length, shape.inner});
        }
      });
  ctx.outputs[0] = finish_result(ctx, attrs.programs(), sums);
  return {};
}

SoftmaxAttrs along(int64_t axis, SoftmaxKind kind = SoftmaxKind::Softmax) {
  SoftmaxAttrs attrs;
  attrs.kind = kind;
  attrs.axis = axis;
  return attrs;
}

SoftmaxAttrs flattened(int64_t axis) {
  SoftmaxAttrs attrs = along(axis);
  attrs.flatten = true;
  return attrs;
}

// softmax(x / 8 + mask)
SoftmaxAttrs scaled_masked() {
  SoftmaxAttrs attrs;
  auto& before = attrs.prologue;
  const int32_t x = before.add_input(0, DType::F32);
  const int32_t scaled = before.add(Fn::Mul, {x, before.add_number(DType::F32, 0.125)});
  before.outputs = {before.add(Fn::Add, {scaled, before.add_input(1, DType::F32)})};
  return attrs;
}

// softmax(x) * y
SoftmaxAttrs with_epilogue() {
  SoftmaxAttrs attrs;
  auto& after = attrs.epilogue;
  const int32_t result = after.add_input(0, DType::F32);
  after.outputs = {after.add(Fn::Mul, {result, after.add_input(1, DType::F32)})};
  return attrs;
}

std::vector<WorkedCase> softmax_cases() {
  const auto f32 = [](const std::vector<int64_t>& dims) { return Type(DType::F32, to_dims(dims)); };
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor special = store_f64(
      DType::F32, {5, 3}, std::vector<double>{-inf, -inf, -inf, inf, 1, 2, nan, 1, 2, -inf, 1, 2, 1e30, -1e30, 1e30});
  return {
      {"last_axis", along(-1), {f32({33, 77})}},
      {"last_axis_long", along(-1), {f32({3, 2049})}},
      {"last_axis_short", along(-1), {f32({65, 5})}},
      {"first_axis", along(0), {f32({40, 27})}},
      {"middle_axis", along(1), {f32({3, 20, 34})}},
      {"flattened", flattened(1), {f32({6, 5, 7})}},
      {"scores", along(-1), {f32({2, 3, 16, 128})}},
      {"scaled_masked", scaled_masked(), {f32({2, 3, 16, 50}), f32({2, 1, 1, 50})}},
      {"scaled_masked_full", scaled_masked(), {f32({2, 3, 16, 50}), f32({1, 1, 16, 50})}},
      {"times", with_epilogue(), {f32({9, 30}), f32({9, 30})}},
      {"special_values", along(-1), {f32({5, 3})}, 1, {{0, special}}},
      {"special_values_log", along(-1, SoftmaxKind::LogSoftmax), {f32({5, 3})}, 1, {{0, special}}},
      {"log", along(-1, SoftmaxKind::LogSoftmax), {f32({33, 77})}},
      {"log_first_axis", along(0, SoftmaxKind::LogSoftmax), {f32({40, 27})}},
      {"hard", along(-1, SoftmaxKind::Hardmax), {f32({9, 30})}},
      {"hard_first_axis", along(0, SoftmaxKind::Hardmax), {f32({9, 30})}},
      {"one", along(-1), {f32({4, 1})}},
      {"empty", along(-1), {f32({4, 0})}},
      {"f16", along(-1), {Type(DType::F16, {4, 30})}},
      {"f64", along(0), {Type(DType::F64, {4, 30})}},
  };
}

}  // namespace

Result<SoftmaxShape> softmax_shape(const SoftmaxAttrs& attrs, const std::vector<int64_t>& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  STROP_ASSIGN(const int64_t axis, first_axis(attrs, rank));
  const int64_t end = attrs.flatten ? rank : axis + 1;
  return SoftmaxShape{count_between(dims, 0, axis), count_between(dims, axis, end), count_between(dims, end, rank)};
}

bool groups_are_rows(const SoftmaxAttrs& attrs, int64_t rank) {
  return attrs.flatten || attrs.axis == -1 || attrs.axis == rank - 1;
}

int64_t line_axes(const SoftmaxAttrs& attrs, int64_t rank) {
  const int64_t axis = attrs.axis < 0 ? attrs.axis + rank : attrs.axis;
  if (attrs.flatten) return rank - axis;
  return groups_are_rows(attrs, rank) ? 1 : rank - 1 - axis;
}

const Operator kSoftmax = {
    .name = "Softmax",
    .make_attrs = [] { return Attrs(SoftmaxAttrs{}); },
    .infer = infer_softmax,
    .evaluate = evaluate_softmax,
    .cases = softmax_cases,
};

std::span<const Operator* const> softmax_operators() {
  static constexpr std::array kOperators = {&kSoftmax};
  return kOperators;
}

}  // namespace strop::ops
