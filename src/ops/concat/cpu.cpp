#include <array>

#include "ops/concat/concat.h"
#include "ops/families.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using tactics::CopyLaunch;

Result<std::unique_ptr<tactics::Launch>> prepare_copy(const tactics::PrepareArgs& args) {
  const auto& problem = args.problem;
  STROP_ASSIGN(const int64_t axis, normalize_axis(problem.attrs.as<ConcatAttrs>().axis, problem.in(0).rank(), "axis"));
  const auto at = static_cast<size_t>(axis);
  const auto output = kernels::dense_axes(problem.out_dims());
  std::vector<CopyLaunch::Step> steps;
  int64_t first = 0;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    auto axes = kernels::dense_axes(problem.in_dims(i));
    for (size_t j = 0; j < axes.size(); ++j) axes[j].dst_stride = output[j].dst_stride;
    const int64_t size = axes[at].size;
    steps.push_back(
        {static_cast<int>(i), kernels::StridedCopy(std::move(axes), tactics::element_bytes(problem.out()), 0, first)});
    first += size * output[at].dst_stride;
  }
  return CopyLaunch::make(std::move(steps));
}

constexpr tactics::Tactic kCopy = {
    .name = "Concat.cpu.strided_copy",
    .numerics = tactics::Numerics::Exact,
    .op = "Concat",
    .why_not = tactics::why_not_bytes,
    .prepare = prepare_copy,
};

}  // namespace

std::span<const tactics::Tactic* const> concat_cpu_tactics() {
  static constexpr std::array kTactics = {&kCopy};
  return kTactics;
}

}  // namespace strop::ops
