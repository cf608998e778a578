// Where the planner does not make a view, the bytes are copied.
#include <array>

#include "ops/families.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

std::optional<std::string> why_not(const tactics::Problem& problem) { return tactics::why_not_bytes(problem.in(0)); }

Result<std::unique_ptr<tactics::Launch>> prepare_copy(const tactics::PrepareArgs& args) {
  return tactics::copy_operand(
      kernels::StridedCopy(kernels::dense_axes(args.problem.in_dims(0)), tactics::element_bytes(args.problem.in(0))));
}

constexpr tactics::Tactic tactic_of(std::string_view name, std::string_view op) {
  return {.name = name, .numerics = tactics::Numerics::Exact, .op = op, .why_not = why_not, .prepare = prepare_copy};
}
constexpr tactics::Tactic kReshapeCopy = tactic_of("Reshape.cpu.copy", "Reshape");
constexpr tactics::Tactic kByRuleCopy = tactic_of("ReshapeByRule.cpu.copy", "ReshapeByRule");

}  // namespace

std::span<const tactics::Tactic* const> view_cpu_tactics() {
  static constexpr std::array kTactics = {&kReshapeCopy, &kByRuleCopy};
  return kTactics;
}

}  // namespace strop::ops
