#include <algorithm>
#include <array>

#include "kernels/resize/resize.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/resize/resize.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::ResizeProblem;
using tactics::Problem;

// The resized axes in memory order, ascending: one, or two side by side.
Result<std::vector<int64_t>> memory_axes(const ResizeAttrs& attrs, int64_t rank) {
  std::vector<int64_t> axes;
  for (const int64_t axis : attrs.axes) {
    STROP_ASSIGN(const int64_t normal, normalize_axis(axis, rank, "axis"));
    axes.push_back(static_cast<int64_t>(resize_memory_axis(attrs.channels_last, normal, rank)));
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::optional<std::string> why_not(const Problem& problem) {
  const auto& attrs = problem.attrs.as<ResizeAttrs>();
  if (problem.in(0).dtype != DType::F32) return "only f32";
  if (!problem.in(0).has_rank()) return "the operand's rank is not known";
  if (attrs.coordinates == ResizeCoordinates::TfCropAndResize) return "elements outside are extrapolated";
  const auto axes = memory_axes(attrs, problem.in(0).rank());
  if (!axes.ok()) return axes.error().message;
  const bool fits = axes->size() == 1 || (axes->size() == 2 && (*axes)[1] == (*axes)[0] + 1);
  if (!fits) return "neither one axis nor two side by side are resized";
  for (const int64_t axis : *axes) {
    const auto size = problem.in(0).dim(axis).as_constant();
    if (size && *size > INT32_MAX) return "an axis of more than 2^31 elements";
  }
  return std::nullopt;
}

kernels::ResizeTable table_of(const ResizePlan& plan, int64_t axis, int64_t size) {
  const auto found = std::find_if(plan.axes.begin(), plan.axes.end(),
                                  [&](const ResizeAxis& each) { return static_cast<int64_t>(each.axis) == axis; });
  kernels::ResizeTable table;
  if (found == plan.axes.end()) {
    table.in = table.out = size;
    return table;
  }
  table.in = found->in;
  table.out = found->out;
  table.taps = found->taps;
  for (int64_t k = 0; k < found->taps; ++k) {
    for (int64_t i = 0; i < found->out; ++i) {
      const auto from = static_cast<size_t>(i * found->taps + k);
      table.indices.push_back(static_cast<int32_t>(found->indices[from]));
      if (found->taps > 1) table.weights.push_back(static_cast<float>(found->weights[from]));
    }
  }
  return table;
}

class ResizeLaunch final : public tactics::Launch {
 public:
  ResizeProblem problem;
  int64_t scratch_bytes = 0;
  int64_t workspace_bytes() const override { return scratch_bytes; }
  Result<void> run(const tactics::LaunchArgs& args) const override {
    kernels::resize(problem, args.inputs[0].as<const float>(), args.outputs[0].as<float>(), args.workspace,
                    args.threads);
    return {};
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare(const tactics::PrepareArgs& args) {
  const auto& attrs = args.problem.attrs.as<ResizeAttrs>();
  const auto dims = args.problem.in_dims(0);
  STROP_ASSIGN(const ResizePlan plan, plan_resize(attrs, dims));
  STROP_ASSIGN(const auto axes, memory_axes(attrs, std::ssize(dims)));
  auto launch = std::make_unique<ResizeLaunch>();
  ResizeProblem& resize = launch->problem;
  resize.outer = count_between(dims, 0, axes.front());
  resize.inner = count_between(dims, axes.back() + 1, std::ssize(dims));
  if (axes.size() == 2) resize.rows = table_of(plan, axes[0], dims[static_cast<size_t>(axes[0])]);
  resize.columns = table_of(plan, axes.back(), dims[static_cast<size_t>(axes.back())]);
  launch->scratch_bytes = kernels::resize_scratch_bytes(resize, args.threads);
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

constexpr tactics::Tactic kTables = {
    .name = "Resize.cpu.tables",
    .op = "Resize",
    .why_not = why_not,
    .prepare = prepare,
};

}  // namespace

std::span<const tactics::Tactic* const> resize_cpu_tactics() {
  static constexpr std::array kTactics = {&kTables};
  return kTactics;
}

}  // namespace strop::ops
