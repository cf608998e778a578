#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/reduce/row_kernels.h"
#include "ops/element_map.h"
#include "ops/norm/cpu_norm.h"
#include "ops/norm/norm.h"

namespace strop::ops {
namespace {

using tactics::LaunchArgs;
using tactics::Problem;

std::optional<std::string> batch_norm_why_not(const Problem& problem) {
  for (const Type& type : problem.inputs) {
    if (type.tensor.dtype != DType::F32) return "only f32";
  }
  const TensorType& x = problem.in(0);
  if (!x.has_rank() || x.rank() < 2 || !(x.layout == Layout()))
    return "the operand's rank is not known, or below 2, or it is blocked";
  return std::nullopt;
}

/// (x - mean) * factor + bias per channel, whose factors are computed anew each time.
class BatchNormLaunch final : public tactics::Launch {
 public:
  int64_t batch = 0, channels = 0, pixels = 1;
  double epsilon = 0;
  const kernels::RowKernels& loops = kernels::row_kernels(kernels::best_cpu_target());

  int64_t workspace_bytes() const override { return channels * static_cast<int64_t>(sizeof(float)); }

  Result<void> run(const LaunchArgs& args) const override {
    float* factors = static_cast<float*>(args.workspace);
    const auto* scales = args.inputs[1].as<const float>();
    const auto* biases = args.inputs[2].as<const float>();
    const auto* means = args.inputs[3].as<const float>();
    const auto* variances = args.inputs[4].as<const float>();
    for (int64_t c = 0; c < channels; ++c) {
      factors[c] =
          static_cast<float>(static_cast<double>(scales[c]) / std::sqrt(static_cast<double>(variances[c]) + epsilon));
    }
    const auto* x = args.inputs[0].as<const float>();
    float* y = args.outputs[0].as<float>();
    const int64_t length = pixels == 1 ? channels : pixels;
    const int64_t lines = pixels == 1 ? batch : batch * channels;
    parallel_for(args.threads, lines, std::max<int64_t>(8192 / std::max<int64_t>(length, 1), 1),
                 [&](int64_t begin, int64_t end, int) {
                   if (pixels == 1) {
                     const int64_t at = begin * length;
                     loops.center_columns({x + at, end - begin, channels, means, factors, biases, y + at});
                     return;
                   }
                   for (int64_t line = begin; line < end; ++line) {
                     const int64_t c = line % channels;
                     loops.center_row({x + line * length, length, means[c], factors[c], biases[c], y + line * length});
                   }
                 });
    return {};
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare_batch_norm(const tactics::PrepareArgs& args) {
  const auto dims = args.problem.in_dims(0);
  auto launch = std::make_unique<BatchNormLaunch>();
  launch->batch = dims[0];
  launch->channels = dims[1];
  launch->pixels = count_between(dims, 2, static_cast<int64_t>(dims.size()));
  launch->epsilon = args.problem.attrs.as<BatchNormAttrs>().epsilon;
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

std::optional<std::string> local_response_norm_why_not(const Problem& problem) {
  const TensorType& x = problem.in(0);
  if (x.dtype != DType::F32) return "only f32";
  if (!x.has_rank() || !(x.layout == Layout())) return "the operand's rank is not known, or it is blocked";
  return std::nullopt;
}

/// Channel by channel over a tile of pixels: the squares of the window's channels are summed anew for each.
class LocalResponseNormLaunch final : public tactics::Launch {
 public:
  int64_t batch = 0, channels = 0, pixels = 1;
  LocalResponseNormAttrs attrs;
  const kernels::RowKernels& loops = kernels::row_kernels(kernels::best_cpu_target());

  Result<void> run(const LaunchArgs& args) const override {
    const int64_t tiles = (pixels + kTile - 1) / kTile;
    parallel_for(args.threads, batch * tiles, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % tiles * kTile;
        run_tile(args, i / tiles * channels * pixels + first, std::min(kTile, pixels - first));
      }
    });
    return {};
  }

 private:
  static constexpr int64_t kTile = 512;

  void run_tile(const LaunchArgs& args, int64_t first, int64_t count) const {
    const float* x = args.inputs[0].as<const float>() + first;
    float* y = args.outputs[0].as<float>() + first;
    std::array<float, kTile> sums;
    const auto alpha = static_cast<float>(attrs.alpha / static_cast<double>(attrs.size));
    for (int64_t c = 0; c < channels; ++c) {
      std::fill_n(sums.begin(), count, 0.0f);
      const int64_t last = std::min(c + attrs.size / 2, channels - 1);
      for (int64_t k = std::max<int64_t>(c - (attrs.size - 1) / 2, 0); k <= last; ++k) {
        loops.accumulate(kernels::RowOp::SumSquare, x + k * pixels, count, nullptr, sums.data());
      }
      loops.divide_by_power({x + c * pixels, sums.data(), count, static_cast<float>(attrs.bias), alpha,
                             static_cast<float>(attrs.beta), y + c * pixels});
    }
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare_local_response_norm(const tactics::PrepareArgs& args) {
  const auto dims = args.problem.in_dims(0);
  auto launch = std::make_unique<LocalResponseNormLaunch>();
  launch->batch = dims[0];
  launch->channels = dims[1];
  launch->pixels = count_between(dims, 2, static_cast<int64_t>(dims.size()));
  launch->attrs = args.problem.attrs.as<LocalResponseNormAttrs>();
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

}  // namespace

const tactics::Tactic kBatchNormPlanes{
    .name = "BatchNorm.cpu.scale_shift",
    .op = "BatchNorm",
    .why_not = batch_norm_why_not,
    .prepare = prepare_batch_norm,
    .in_place_inputs = 1,
};

const tactics::Tactic kLocalResponseNormTiles{
    .name = "LocalResponseNorm.cpu.tiles",
    .op = "LocalResponseNorm",
    .why_not = local_response_norm_why_not,
    .prepare = prepare_local_response_norm,
};

}  // namespace strop::ops
