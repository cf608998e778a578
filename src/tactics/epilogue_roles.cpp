#include "tactics/epilogue_roles.h"

namespace strop::tactics {
namespace {

// One value per channel: every other axis has size 1 (leading ones may be missing).
bool is_per_channel(const Dims& operand, const Dims& result, size_t channel_axis) {
  const size_t missing = result.size() - operand.size();
  for (size_t i = 0; i < result.size(); ++i) {
    const Dim size = i < missing ? Dim(1) : operand[i - missing];
    if (!(size == (i == channel_axis ? result[i] : Dim(1)))) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> resolve_epilogue(const Problem& problem, const EpilogueSite& site, EpilogueRoles& roles) {
  const auto simple = ops::match_simple_epilogue(site.program);
  if (!simple) return "the epilogue is more than additions and a clamp";
  roles.lo = static_cast<float>(simple->lo);
  roles.hi = static_cast<float>(simple->hi);
  const Dims& result = problem.out().dims();
  for (const int32_t operand : simple->added) {
    const size_t index = site.first_operand + static_cast<size_t>(operand) - 1;
    const TensorType& type = problem.in(index);
    if (type.dtype != DType::F32 || !type.has_rank() || type.dims().size() > result.size()) return "an epilogue operand has no fitting type";
    if (type.dims() == result && roles.residual < 0) {
      roles.residual = static_cast<int32_t>(index);
    } else if (is_per_channel(type.dims(), result, site.channel_axis) && roles.bias < 0) {
      roles.bias = static_cast<int32_t>(index);
    } else {
      return "an epilogue operand is neither one value per channel nor shaped like the result";
    }
  }
  return std::nullopt;
}

}  // namespace strop::tactics
