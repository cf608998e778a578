#include <array>

#include "ops/families.h"
#include "ops/fill/fill.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using tactics::Launch;
using tactics::Problem;

std::optional<std::string> why_not(const Problem& problem) { return tactics::why_not_bytes(problem.out()); }

class FillLaunch final : public Launch {
 public:
  FillLaunch(Tensor value, kernels::StridedCopy copy) : value_(std::move(value)), copy_(std::move(copy)) {}
  Result<void> run(const tactics::LaunchArgs& args) const override {
    copy_.run(value_.raw(), args.outputs[0].data, args.threads);
    return {};
  }

 private:
  Tensor value_;
  kernels::StridedCopy copy_;
};

Result<std::unique_ptr<Launch>> prepare_fill(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  auto axes = kernels::dense_axes(problem.out_dims());
  for (auto& axis : axes) axis.src_stride = 0;
  kernels::StridedCopy copy(std::move(axes), tactics::element_bytes(problem.out()));
  return std::unique_ptr<Launch>(std::make_unique<FillLaunch>(problem.attrs.as<FillAttrs>().value, std::move(copy)));
}

constexpr tactics::Tactic kRepeat = {
    .name = "Fill.cpu.repeat",
    .numerics = tactics::Numerics::Exact,
    .op = "Fill",
    .why_not = why_not,
    .prepare = prepare_fill,
};

}  // namespace

std::span<const tactics::Tactic* const> fill_cpu_tactics() {
  static constexpr std::array kTactics = {&kRepeat};
  return kTactics;
}

}  // namespace strop::ops
