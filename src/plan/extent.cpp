#include "plan/extent.h"

#include <algorithm>

namespace strop::plan {

std::optional<int64_t> count_elements(const TypeDesc& type, const std::vector<int64_t>& registers) {
  int64_t count = 1;
  bool empty = false;
  for (const Reg reg : *type.dims) {
    const int64_t dim = registers[static_cast<size_t>(reg)];
    if (dim < 0 || (dim > 0 && count > kMaxElements / dim)) return std::nullopt;
    empty |= dim == 0;
    count *= std::max<int64_t>(dim, 1);
  }
  return empty ? 0 : count;
}

namespace {

bool is_known(const TypeDesc& type, const std::vector<int64_t>& registers) {
  return std::none_of(type.dims->begin(), type.dims->end(),
                      [&](Reg reg) { return registers[static_cast<size_t>(reg)] == kUnknown; });
}

// Elements from the first to the last of a value with rows that lie `pitch` apart.
std::optional<int64_t> extent(const ValueDesc& value, const std::vector<int64_t>& registers) {
  const auto count = count_elements(value.type, registers);
  if (!count || *count == 0 || value.pitch == kNone) return count;
  const int64_t row = value.type.dims->empty() ? 1 : registers[static_cast<size_t>(value.type.dims->back())];
  const int64_t pitch = registers[static_cast<size_t>(value.pitch)];
  if (pitch < row || pitch > kMaxElements / *count) return std::nullopt;
  return (*count / row - 1) * pitch + row;
}

}  // namespace

bool view_fits(const Block& block, int32_t view, const std::vector<int64_t>& registers) {
  const ValueDesc* value = &block.values[static_cast<size_t>(view)];
  const auto unknown = [&](Reg reg) { return reg != kNone && registers[static_cast<size_t>(reg)] == kUnknown; };
  if (!is_known(value->type, registers) || unknown(value->pitch)) return true;
  const auto wanted = extent(*value, registers);
  if (!wanted) return false;
  if (value->whole) {
    const TypeDesc& base = block.values[static_cast<size_t>(value->base)].type;
    if (is_known(base, registers) && count_elements(base, registers) != wanted) return false;
  }
  int64_t offset = 0;
  while (value->storage == Storage::View) {
    if (unknown(value->offset_elements)) return true;
    const int64_t step = value->offset_elements == kNone ? 0 : registers[static_cast<size_t>(value->offset_elements)];
    if (step < 0 || step > kMaxElements || offset > kMaxElements) return false;
    offset += step;
    value = &block.values[static_cast<size_t>(value->base)];
  }
  if (!is_known(value->type, registers)) return true;
  const auto available = count_elements(value->type, registers);
  return available && offset + *wanted <= *available;
}

}  // namespace strop::plan
