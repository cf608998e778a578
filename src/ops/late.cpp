#include "ops/late.h"

#include <algorithm>
#include <cstdlib>

namespace strop::ops {
namespace {

const std::optional<Dims>* late_contents(const InferContext& ctx, const LateField& late) {
  const auto index = static_cast<size_t>(late.operand);
  return index < ctx.known_inputs.size() && ctx.known_inputs[index] ? &ctx.known_inputs[index] : nullptr;
}

}  // namespace

const LateField* late_field(const InferContext& ctx, std::string_view field) {
  const auto it =
      std::find_if(ctx.late.begin(), ctx.late.end(), [&](const LateField& late) { return late.field == field; });
  return it == ctx.late.end() ? nullptr : &*it;
}

std::optional<Dims> dims_field(const InferContext& ctx, std::string_view field, const Dims& value) {
  const LateField* late = late_field(ctx, field);
  if (late == nullptr) return value;
  const auto* contents = late_contents(ctx, *late);
  return contents != nullptr ? *contents : std::nullopt;
}

std::optional<Dim> dim_field(const InferContext& ctx, std::string_view field, const Dim& value) {
  const auto dims = dims_field(ctx, field, {value});
  return dims && dims->size() == 1 ? std::optional(dims->front()) : std::nullopt;
}

std::optional<int64_t> int_field(const InferContext& ctx, std::string_view field, int64_t value) {
  const auto dim = dim_field(ctx, field, Dim(value));
  return dim ? dim->as_constant() : std::nullopt;
}

constexpr int64_t kLongestField = 1024;

std::optional<int64_t> dims_field_length(const InferContext& ctx, std::string_view field, const Dims& value) {
  if (const auto dims = dims_field(ctx, field, value)) return static_cast<int64_t>(dims->size());
  const auto index = static_cast<size_t>(late_field(ctx, field)->operand);
  if (!ctx.has_input(index) || !ctx.inputs[index].is_tensor()) return std::nullopt;
  const TensorType& type = ctx.inputs[index].tensor;
  if (!type.has_rank()) return std::nullopt;
  const auto length = type.rank() == 0 ? std::optional<int64_t>(1) : type.count().as_constant();
  // Longer ones fail when they run. Inference must not make a dimension for each of 10^12 first.
  return length && *length <= kLongestField ? length : std::nullopt;
}

Dims unbacked_dims(InferContext& ctx, int64_t rank) {
  Dims dims;
  for (int64_t i = 0; i < rank; ++i) dims.push_back(ctx.unbacked());
  return dims;
}

std::vector<int64_t> bound(const Dims& field) {
  auto values = as_constants(field);
  STROP_CHECK(values.has_value(), "{} is not bound at evaluation", to_string(field));
  return *std::move(values);
}

Result<void> check_sizes(const Dims& sizes) {
  int64_t total = 1;
  for (const Dim& size : sizes) {
    const int64_t value = size.as_constant().value_or(1);
    const bool too_large = value > kMaxElements || value < -kMaxElements ||
                           __builtin_mul_overflow(total, std::max<int64_t>(std::abs(value), 1), &total);
    if (too_large || total > kMaxElements) return violates("{} is more than 2^40 elements", to_string(sizes));
  }
  return {};
}

Result<std::vector<int64_t>> normalize_axes(const std::vector<int64_t>& axes, int64_t rank, std::string_view what) {
  std::vector<int64_t> result;
  for (const int64_t axis : axes) {
    STROP_ASSIGN(const int64_t normal, normalize_axis(axis, rank, what));
    if (std::find(result.begin(), result.end(), normal) != result.end()) {
      return violates("{} names axis {} twice", what, normal);
    }
    result.push_back(normal);
  }
  return result;
}

}  // namespace strop::ops
