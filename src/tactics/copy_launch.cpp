#include "tactics/copy_launch.h"

namespace strop::tactics {

std::optional<std::string> why_not_bytes(const TensorType& type) {
  if (type.dtype == DType::String) return "strings are objects, not bytes";
  if (is_sub_byte(type.dtype)) return fmt::format("elements of {} share bytes", to_string(type.dtype));
  if (type.layout.blocked_axis >= 0) return "a blocked layout";
  if (!type.has_rank()) return "unknown rank";
  // Tile makes two axes of each.
  if (type.rank() * 2 > static_cast<int64_t>(kernels::StridedCopy::kMaxAxes))
    return fmt::format("rank {}", type.rank());
  return std::nullopt;
}

std::optional<std::string> why_not_bytes(const Problem& problem) {
  for (const auto* types : {&problem.inputs, &problem.outputs}) {
    for (const Type& type : *types) {
      if (type.is_none()) continue;
      if (!type.is_tensor()) return "not a tensor";
      if (auto reason = why_not_bytes(type.tensor)) return reason;
    }
  }
  return std::nullopt;
}

int64_t element_bytes(const TensorType& type) { return byte_size(type.dtype, 1); }

std::unique_ptr<Launch> copy_operand(kernels::StridedCopy copy) {
  std::vector<CopyLaunch::Step> steps;
  steps.push_back({0, std::move(copy)});
  return std::make_unique<CopyLaunch>(std::move(steps));
}

}  // namespace strop::tactics
