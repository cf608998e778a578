#include <array>

#include "ops/families.h"
#include "ops/transpose/transpose.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using tactics::Problem;

Result<std::unique_ptr<tactics::Launch>> prepare_copy(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto input = kernels::dense_axes(problem.in_dims(0));
  auto axes = kernels::dense_axes(problem.out_dims());
  STROP_ASSIGN(const auto perm, full_permutation(problem.attrs.as<TransposeAttrs>().perm, problem.in(0).rank()));
  for (size_t i = 0; i < axes.size(); ++i) axes[i].src_stride = input[static_cast<size_t>(perm[i])].src_stride;
  return tactics::copy_operand(kernels::StridedCopy(std::move(axes), tactics::element_bytes(problem.in(0))));
}

constexpr tactics::Tactic kCopy = {
    .name = "Transpose.cpu.strided_copy",
    .numerics = tactics::Numerics::Exact,
    .op = "Transpose",
    .why_not = tactics::why_not_bytes,
    .prepare = prepare_copy,
};

}  // namespace

std::span<const tactics::Tactic* const> transpose_cpu_tactics() {
  static constexpr std::array kTactics = {&kCopy};
  return kTactics;
}

}  // namespace strop::ops
