/// Attribute fields in inference: what is known of one whose value an operand supplies at run time.
#pragma once

#include <optional>
#include <string_view>

#include "ops/operator.h"

namespace strop::ops {

/// The operand that supplies `field`, or null if the attribute itself holds the value.
const LateField* late_field(const InferContext& ctx, std::string_view field);

/// The field's value: the attribute's, or the symbolic contents of the operand that supplies it; nullopt if unknown.
std::optional<Dims> dims_field(const InferContext& ctx, std::string_view field, const Dims& value);
std::optional<Dim> dim_field(const InferContext& ctx, std::string_view field, const Dim& value);
std::optional<int64_t> int_field(const InferContext& ctx, std::string_view field, int64_t value);

/// How many entries a Dims field has: the attribute's, or what the operand's type says; nullopt if unknown.
std::optional<int64_t> dims_field_length(const InferContext& ctx, std::string_view field, const Dims& value);

/// `rank` dimensions known only when the data are.
Dims unbacked_dims(InferContext& ctx, int64_t rank);

/// The values of a field at evaluation, where late fields are filled in and symbols bound.
std::vector<int64_t> bound(const Dims& field);

/// Axes in [-rank, rank) made non-negative and checked to be distinct; errors name `what`.
Result<std::vector<int64_t>> normalize_axes(const std::vector<int64_t>& axes, int64_t rank, std::string_view what);

/// No tensor has more elements than this: numbers from a model that ask for more are refused before they are computed
/// with, so that arithmetic on dimensions cannot overflow.
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

/// Constants among `sizes`, each and multiplied (zeros and signs aside), are at most kMaxElements. The error shows
/// `sizes`.
Result<void> check_sizes(const Dims& sizes);

/// A violated constraint: "(C1) message".
template <class... Args>
Error violates(fmt::format_string<Args...> format, Args&&... args) {
  return error(ErrorCode::InvalidModel, format, std::forward<Args>(args)...);
}

/// Data that an operator cannot work on, met while it runs.
template <class... Args>
Error bad_data(fmt::format_string<Args...> format, Args&&... args) {
  return error(ErrorCode::InvalidArgument, format, std::forward<Args>(args)...);
}

}  // namespace strop::ops
