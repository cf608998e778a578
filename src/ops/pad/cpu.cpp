#include <algorithm>
#include <array>

#include "ops/families.h"
#include "ops/pad/pad.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using kernels::CopyAxis;
using kernels::StridedCopy;
using tactics::CopyLaunch;
using tactics::Problem;

// Where the operand lies in the result, per axis: elements [begin, end) come from operand element `first` on.
struct Window {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first = 0;
};

class PadPlan {
 public:
  PadPlan(const Problem& problem, const std::vector<AxisPad>& pads)
      : mode_(problem.attrs.as<PadAttrs>().mode),
        bytes_(tactics::element_bytes(problem.in(0))),
        input_(kernels::dense_axes(problem.in_dims(0))),
        output_(kernels::dense_axes(problem.out_dims())) {
    for (size_t i = 0; i < pads.size(); ++i) {
      const int64_t begin = std::clamp<int64_t>(pads[i].before, 0, output_[i].size);
      const int64_t end = std::clamp<int64_t>(pads[i].before + input_[i].size, begin, output_[i].size);
      windows_.push_back({begin, end, begin - pads[i].before});
      before_.push_back(pads[i].before);
    }
    value_ = problem.has_input(1) ? 1 : CopyLaunch::kZeros;
  }

  std::vector<CopyLaunch::Step> steps() {
    copy_window();
    // From the last axis to the first: the borders of an axis span the axes after it, theirs being done, and only the
    // window of those before it.
    for (size_t axis = output_.size(); axis-- > 0;) {
      if (mode_ == PadMode::Constant) {
        fill_border(axis, 0, windows_[axis].begin);
        fill_border(axis, windows_[axis].end, output_[axis].size);
      } else {
        mirror_border(axis, 0, windows_[axis].begin);
        mirror_border(axis, windows_[axis].end, output_[axis].size);
      }
    }
    return std::move(steps_);
  }

 private:
  void copy_window() {
    auto axes = output_;
    int64_t from = 0;
    int64_t to = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i] = {windows_[i].end - windows_[i].begin, input_[i].src_stride, output_[i].dst_stride};
      from += windows_[i].first * input_[i].src_stride;
      to += windows_[i].begin * output_[i].dst_stride;
    }
    add(0, StridedCopy(std::move(axes), bytes_, from, to));
  }

  // The region whose `axis` is [begin, end); `source` strides are the result's own, or 0 for the value.
  void fill_border(size_t axis, int64_t begin, int64_t end) {
    auto axes = region(axis, end - begin);
    for (CopyAxis& each : axes) each.src_stride = 0;
    add(value_, StridedCopy(std::move(axes), bytes_, 0, region_offset(axis, begin)));
  }

  // Runs of border elements whose sources inside the window advance evenly are one copy.
  void mirror_border(size_t axis, int64_t begin, int64_t end) {
    const auto source = [&](int64_t at) {
      return pad_source(mode_, at - before_[axis], input_[axis].size) + before_[axis];
    };
    while (begin < end) {
      int64_t run = 1;
      const int64_t step = begin + 1 < end ? source(begin + 1) - source(begin) : 0;
      while (begin + run < end && source(begin + run) - source(begin + run - 1) == step) ++run;
      auto axes = region(axis, run);
      axes[axis].src_stride = step * output_[axis].dst_stride;
      add(CopyLaunch::kOwnOutput,
          StridedCopy(std::move(axes), bytes_, region_offset(axis, source(begin)), region_offset(axis, begin)));
      begin += run;
    }
  }

  std::vector<CopyAxis> region(size_t axis, int64_t size) const {
    auto axes = output_;
    for (size_t i = 0; i < axis; ++i) axes[i].size = windows_[i].end - windows_[i].begin;
    axes[axis].size = size;
    return axes;
  }
  int64_t region_offset(size_t axis, int64_t begin) const {
    int64_t offset = begin * output_[axis].dst_stride;
    for (size_t i = 0; i < axis; ++i) offset += windows_[i].begin * output_[i].dst_stride;
    return offset;
  }
  void add(int source, StridedCopy copy) {
    if (!copy.empty()) steps_.push_back({source, std::move(copy)});
  }

  PadMode mode_;
  int64_t bytes_;
  std::vector<CopyAxis> input_;
  std::vector<CopyAxis> output_;
  std::vector<Window> windows_;
  std::vector<int64_t> before_;
  int value_ = CopyLaunch::kZeros;
  std::vector<CopyLaunch::Step> steps_;
};

std::optional<std::string> why_not(const Problem& problem) {
  if (auto reason = tactics::why_not_bytes(problem)) return reason;
  const auto& attrs = problem.attrs.as<PadAttrs>();
  if (attrs.mode == PadMode::Constant) return std::nullopt;
  for (const Dim& pad : attrs.pads) {
    if (!pad.is_constant() || pad.constant() < 0) return "pads that may be negative with elements of the operand";
  }
  return std::nullopt;
}

Result<std::unique_ptr<tactics::Launch>> prepare_copy(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  STROP_ASSIGN(const auto pads, concrete_pads(problem.attrs.as<PadAttrs>(), problem.in(0).rank()));
  return CopyLaunch::make(PadPlan(problem, pads).steps());
}

constexpr tactics::Tactic kCopy = {
    .name = "Pad.cpu.strided_copy",
    .numerics = tactics::Numerics::Exact,
    .op = "Pad",
    .why_not = why_not,
    .prepare = prepare_copy,
};

}  // namespace

std::span<const tactics::Tactic* const> pad_cpu_tactics() {
  static constexpr std::array kTactics = {&kCopy};
  return kTactics;
}

}  // namespace strop::ops
