#include <array>

#include "ops/expand/expand.h"
#include "ops/families.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using tactics::Launch;
using tactics::PrepareArgs;

Result<std::unique_ptr<Launch>> prepare_expand(const PrepareArgs& args) {
  const auto& problem = args.problem;
  const auto input = kernels::dense_axes(problem.in_dims(0));
  auto axes = kernels::dense_axes(problem.out_dims());
  const size_t lead = axes.size() - input.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool repeats = i < lead || input[i - lead].size == 1;
    axes[i].src_stride = repeats ? 0 : input[i - lead].src_stride;
  }
  return tactics::copy_operand(kernels::StridedCopy(std::move(axes), tactics::element_bytes(problem.in(0))));
}

// Every axis becomes two: the repeats, which stand still in the source, and the elements.
Result<std::unique_ptr<Launch>> prepare_tile(const PrepareArgs& args) {
  const auto& problem = args.problem;
  const auto input = kernels::dense_axes(problem.in_dims(0));
  const auto output = kernels::dense_axes(problem.out_dims());
  std::vector<kernels::CopyAxis> axes;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t repeats = input[i].size == 0 ? 0 : output[i].size / input[i].size;
    axes.push_back({repeats, 0, input[i].size * output[i].dst_stride});
    axes.push_back({input[i].size, input[i].src_stride, output[i].dst_stride});
  }
  return tactics::copy_operand(kernels::StridedCopy(std::move(axes), tactics::element_bytes(problem.in(0))));
}

constexpr tactics::Tactic kExpandCopy = {
    .name = "Expand.cpu.strided_copy",
    .numerics = tactics::Numerics::Exact,
    .op = "Expand",
    .why_not = tactics::why_not_bytes,
    .prepare = prepare_expand,
};

constexpr tactics::Tactic kTileCopy = {
    .name = "Tile.cpu.strided_copy",
    .numerics = tactics::Numerics::Exact,
    .op = "Tile",
    .why_not = tactics::why_not_bytes,
    .prepare = prepare_tile,
};

}  // namespace

std::span<const tactics::Tactic* const> expand_cpu_tactics() {
  static constexpr std::array kTactics = {&kExpandCopy, &kTileCopy};
  return kTactics;
}

}  // namespace strop::ops
