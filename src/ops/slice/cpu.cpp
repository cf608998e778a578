#include <algorithm>
#include <array>

#include "ops/families.h"
#include "ops/slice/slice.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using kernels::StridedCopy;
using tactics::CopyLaunch;
using tactics::Launch;
using tactics::PrepareArgs;

Result<std::unique_ptr<Launch>> prepare_slice(const PrepareArgs& args) {
  const auto& problem = args.problem;
  STROP_ASSIGN(const auto parts, concrete_slices(problem.attrs.as<SliceAttrs>(), problem.in_dims(0)));
  const auto input = kernels::dense_axes(problem.in_dims(0));
  auto axes = kernels::dense_axes(problem.out_dims());
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].src_stride = input[i].src_stride * parts[i].step;
    first += input[i].src_stride * parts[i].first;
  }
  return tactics::copy_operand(StridedCopy(std::move(axes), tactics::element_bytes(problem.in(0)), first));
}

Result<std::unique_ptr<Launch>> prepare_split(const PrepareArgs& args) {
  const auto& problem = args.problem;
  STROP_ASSIGN(const int64_t axis, normalize_axis(problem.attrs.as<SplitAttrs>().axis, problem.in(0).rank(), "axis"));
  const auto input = kernels::dense_axes(problem.in_dims(0));
  std::vector<CopyLaunch::Step> steps;
  int64_t first = 0;
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    auto axes = kernels::dense_axes(problem.out_dims(i));
    for (size_t j = 0; j < axes.size(); ++j) axes[j].src_stride = input[j].src_stride;
    const auto at = static_cast<size_t>(axis);
    const int64_t size = axes[at].size;
    steps.push_back(
        {0, StridedCopy(std::move(axes), tactics::element_bytes(problem.in(0)), first), static_cast<int>(i)});
    first += size * input[at].src_stride;
  }
  return CopyLaunch::make(std::move(steps));
}

// Bytes of zero first, then the window that both sides share.
Result<std::unique_ptr<Launch>> prepare_center_crop_pad(const PrepareArgs& args) {
  const auto& problem = args.problem;
  const auto input = kernels::dense_axes(problem.in_dims(0));
  auto axes = kernels::dense_axes(problem.out_dims());
  auto all = axes;
  for (auto& axis : all) axis.src_stride = 0;
  int64_t from = 0;
  int64_t to = 0;
  bool pads = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = input[i].size;
    const int64_t wanted = axes[i].size;
    axes[i].src_stride = input[i].src_stride;
    axes[i].size = std::min(size, wanted);
    if (wanted < size) from += (size - wanted) / 2 * input[i].src_stride;
    if (wanted > size) to += (wanted - size) / 2 * axes[i].dst_stride;
    pads = pads || wanted > size;
  }
  const int64_t bytes = tactics::element_bytes(problem.in(0));
  std::vector<CopyLaunch::Step> steps;
  if (pads) steps.push_back({CopyLaunch::kZeros, StridedCopy(std::move(all), bytes)});
  steps.push_back({0, StridedCopy(std::move(axes), bytes, from, to)});
  return CopyLaunch::make(std::move(steps));
}

constexpr tactics::Tactic kSliceCopy = {
    .name = "Slice.cpu.strided_copy",
    .numerics = tactics::Numerics::Exact,
    .op = "Slice",
    .why_not = tactics::why_not_bytes,
    .prepare = prepare_slice,
};

constexpr tactics::Tactic kSplitCopy = {
    .name = "Split.cpu.strided_copy",
    .numerics = tactics::Numerics::Exact,
    .op = "Split",
    .why_not = tactics::why_not_bytes,
    .prepare = prepare_split,
};

constexpr tactics::Tactic kCenterCropPadCopy = {
    .name = "CenterCropPad.cpu.strided_copy",
    .numerics = tactics::Numerics::Exact,
    .op = "CenterCropPad",
    .why_not = tactics::why_not_bytes,
    .prepare = prepare_center_crop_pad,
};

}  // namespace

std::span<const tactics::Tactic* const> slice_cpu_tactics() {
  static constexpr std::array kTactics = {&kSliceCopy, &kSplitCopy, &kCenterCropPadCopy};
  return kTactics;
}

}  // namespace strop::ops
