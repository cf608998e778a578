#include <array>

#include "kernels/pool/pool.h"
#include "kernels/pool/pool_planes.h"
#include "ops/families.h"
#include "ops/pool/pool.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::PoolProblem;
using tactics::Problem;

std::optional<std::string> common_why_not(const Problem& problem) {
  if (problem.in(0).dtype != DType::F32) return "only f32";
  if (!problem.in(0).has_rank()) return "the operand's rank is not known";
  if (problem.in(0).rank() > 5) return "more than three spatial axes";
  if (problem.outputs.size() > 1) return "indices are wanted";
  if (problem.attrs.as<PoolAttrs>().kind == PoolKind::Lp) return "neither maximum nor average";
  return std::nullopt;
}

std::optional<std::string> why_not_last(const Problem& problem) {
  if (auto reason = common_why_not(problem)) return reason;
  if (!problem.attrs.as<PoolAttrs>().channels_last) return "not channels-last";
  return std::nullopt;
}

std::optional<std::string> why_not_planes(const Problem& problem) {
  if (auto reason = common_why_not(problem)) return reason;
  if (problem.attrs.as<PoolAttrs>().channels_last) return "not channels-first";
  return std::nullopt;
}

PoolProblem describe(const Problem& problem) {
  const auto& attrs = problem.attrs.as<PoolAttrs>();
  const auto in = problem.in_dims(0);
  const auto out = problem.out_dims();
  const size_t spatial = attrs.kernel.size();
  const size_t first = attrs.channels_last ? 1 : 2;
  PoolProblem pool;
  pool.kind = attrs.kind == PoolKind::Max ? kernels::PoolKind::Max
              : attrs.count_include_pad   ? kernels::PoolKind::AverageWithPads
                                          : kernels::PoolKind::Average;
  pool.batch = in[0];
  pool.channels = attrs.channels_last ? in.back() : in[1];
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    pool.in[axis] = in[first + i];
    pool.out[axis] = out[first + i];
    pool.window.kernel[axis] = attrs.kernel[i];
    pool.window.stride[axis] = attrs.strides[i];
    pool.window.dilation[axis] = attrs.dilations[i];
    pool.window.pad_begin[axis] = attrs.pads[i].constant();
    pool.window.pad_end[axis] = attrs.pads[spatial + i].constant();
  }
  return pool;
}

class LastLaunch final : public tactics::Launch {
 public:
  PoolProblem pool;
  Result<void> run(const tactics::LaunchArgs& args) const override {
    kernels::pool(pool, args.inputs[0].as<const float>(), args.outputs[0].as<float>(), args.threads);
    return {};
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare_last(const tactics::PrepareArgs& args) {
  auto launch = std::make_unique<LastLaunch>();
  launch->pool = describe(args.problem);
  if (!args.input_pitches.empty()) launch->pool.in_pixel_stride = args.input_pitches[0];
  if (!args.output_pitches.empty()) launch->pool.out_pixel_stride = args.output_pitches[0];
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

class PlanesLaunch final : public tactics::Launch {
 public:
  PoolProblem pool;
  int64_t scratch_bytes = 0;
  int64_t workspace_bytes() const override { return scratch_bytes; }
  Result<void> run(const tactics::LaunchArgs& args) const override {
    kernels::pool_planes(pool, args.inputs[0].as<const float>(), args.outputs[0].as<float>(), args.workspace,
                         args.threads);
    return {};
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare_planes(const tactics::PrepareArgs& args) {
  auto launch = std::make_unique<PlanesLaunch>();
  launch->pool = describe(args.problem);
  launch->scratch_bytes = kernels::pool_planes_scratch_bytes(launch->pool, args.threads);
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

constexpr tactics::Tactic kLast = {
    .name = "Pool.cpu.channels_last",
    .op = "Pool",
    .why_not = why_not_last,
    .prepare = prepare_last,
    .pitched_inputs = 1,
    .pitched_output = true,
};

constexpr tactics::Tactic kPlanes = {
    .name = "Pool.cpu.planes",
    .op = "Pool",
    .why_not = why_not_planes,
    .prepare = prepare_planes,
};

}  // namespace

std::span<const tactics::Tactic* const> pool_cpu_tactics() {
  static constexpr std::array kTactics = {&kLast, &kPlanes};
  return kTactics;
}

}  // namespace strop::ops
