/// Sizes of values and places of views, at given register values.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.h"

namespace strop::plan {

/// What one tensor may have, so that sizes in bytes and their sums stay far below 2^63.
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

/// The number of elements; nullopt if a dimension is unknown or negative, or there are more than kMaxElements.
std::optional<int64_t> count_elements(const TypeDesc& type, const std::vector<int64_t>& registers);

/// Whether the view, its pitch included, lies within the value that owns the bytes. True where a register that this
/// depends on is kUnknown: nothing can be said yet.
bool view_fits(const Block& block, int32_t view, const std::vector<int64_t>& registers);

}  // namespace strop::plan
