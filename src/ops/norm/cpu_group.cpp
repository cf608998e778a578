#include <algorithm>
#include <cmath>

#include "kernels/reduce/row_kernels.h"
#include "ops/element_map.h"
#include "ops/norm/cpu_norm.h"
#include "ops/norm/norm.h"
#include "tactics/line_program.h"

namespace strop::ops {
namespace {

using kernels::RowOp;
using tactics::LaunchArgs;
using tactics::LineProgram;
using tactics::Problem;

template <bool kChannelsLast>
std::optional<std::string> why_not(const Problem& problem) {
  const auto& attrs = problem.attrs.as<GroupNormAttrs>();
  if (attrs.channels_last != kChannelsLast) return kChannelsLast ? "channels first" : "channels last";
  const TensorType& x = problem.in(0);
  if (!x.has_rank() || x.rank() < 3) return "the operand's rank is not known, or below 3";
  for (const size_t i : {kNormScaleInput, kNormBiasInput}) {
    if (problem.has_input(i) && problem.in(i).dtype != DType::F32) return "only f32";
  }
  const int64_t axes = line_axes(attrs, x.rank());
  const FusedPrograms programs = attrs.programs();
  if (auto reason = tactics::line_program_why_not(problem, {attrs.prologue, x, axes, programs.prologue_first()}))
    return reason;
  TensorType result = x;
  result.dtype = DType::F32;
  return tactics::line_program_why_not(problem, {attrs.epilogue, result, axes, programs.epilogue_first()});
}

/// What both layouts need.
class GroupNormLaunch : public tactics::Launch {
 public:
  explicit GroupNormLaunch(const Problem& problem) {
    const auto& attrs = problem.attrs.as<GroupNormAttrs>();
    const TensorType& x = problem.in(0);
    const auto dims = problem.in_dims(0);
    batch_ = dims[0];
    channels_ = attrs.channels_last ? dims.back() : dims[1];
    pixels_ = attrs.channels_last ? count_between(dims, 1, x.rank() - 1) : count_between(dims, 2, x.rank());
    groups_ = attrs.groups == 0 ? channels_ : attrs.groups;
    epsilon_ = attrs.epsilon;
    has_scale_ = problem.has_input(kNormScaleInput);
    has_bias_ = problem.has_input(kNormBiasInput);
    element_bytes_ = bit_width(x.dtype) / 8;
    const int64_t axes = line_axes(attrs, x.rank());
    TensorType result = x;
    result.dtype = DType::F32;
    prologue_ = LineProgram(problem, {attrs.prologue, x, axes, attrs.programs().prologue_first()});
    epilogue_ = LineProgram(problem, {attrs.epilogue, result, axes, attrs.programs().epilogue_first()});
  }

 protected:
  bool is_empty() const { return batch_ * channels_ * pixels_ == 0; }
  int64_t group_channels() const { return channels_ / groups_; }

  // The line's values after the prologue, in the result's buffer if there is one.
  const float* values(const LaunchArgs& args, int64_t line, int64_t length) const {
    const void* in = args.inputs[0].as<const std::byte>() + line * length * element_bytes_;
    return tactics::line_values(prologue_, args, {line, 0, length, in, args.outputs[0].as<float>() + line * length});
  }

  // y = x * factor + shift for a channel.
  struct Affine {
    float factor, shift;
  };
  Affine affine(const LaunchArgs& args, int64_t channel, double mean, double inverse) const {
    const double scale = has_scale_ ? static_cast<double>(args.inputs[kNormScaleInput].as<const float>()[channel]) : 1;
    const double bias = has_bias_ ? static_cast<double>(args.inputs[kNormBiasInput].as<const float>()[channel]) : 0;
    const double factor = inverse * scale;
    return {static_cast<float>(factor), static_cast<float>(bias - mean * factor)};
  }
  double inverse_deviation(double squares) const {
    return 1 / std::sqrt(squares / static_cast<double>(group_channels() * pixels_) + epsilon_);
  }

  int64_t batch_ = 0, channels_ = 0, pixels_ = 0, groups_ = 1;
  double epsilon_ = 0;
  bool has_scale_ = false, has_bias_ = false;
  int64_t element_bytes_ = 4;
  LineProgram prologue_, epilogue_;
  const kernels::RowKernels& kernels_ = kernels::row_kernels(kernels::best_cpu_target());
};

/// Channels first: a group is contiguous, a line one channel of it.
class PlanesLaunch final : public GroupNormLaunch {
 public:
  using GroupNormLaunch::GroupNormLaunch;

  Result<void> run(const LaunchArgs& args) const override {
    if (is_empty()) return {};
    parallel_for(args.threads, batch_ * groups_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t group = begin; group < end; ++group) run_group(args, group);
    });
    return {};
  }

 private:
  void run_group(const LaunchArgs& args, int64_t group) const {
    const int64_t first_line = group * group_channels();
    const int64_t count = group_channels() * pixels_;
    const float* x = values(args, first_line, pixels_);
    for (int64_t i = 1; i < group_channels(); ++i) values(args, first_line + i, pixels_);
    const double mean = kernels_.reduce(RowOp::Sum, x, count, 0) / static_cast<double>(count);
    const double squares = kernels_.reduce(RowOp::SumSquare, x, count, static_cast<float>(mean));
    const double inverse = inverse_deviation(squares);
    for (int64_t i = 0; i < group_channels(); ++i) {
      const int64_t line = first_line + i;
      const auto [factor, shift] = affine(args, line % channels_, mean, inverse);
      float* y = args.outputs[0].as<float>() + line * pixels_;
      kernels_.scale_shift(x + i * pixels_, pixels_, factor, shift, y);
      if (!epilogue_.empty()) epilogue_.run(args, {line, 0, pixels_, y, y});
    }
  }
};

/// Channels last: sums per channel over sections of pixels, which are joined in order.
class ChannelsLastLaunch final : public GroupNormLaunch {
 public:
  using GroupNormLaunch::GroupNormLaunch;

  int64_t workspace_bytes() const override {
    return (kSections + 2) * batch_ * channels_ * static_cast<int64_t>(sizeof(float));
  }

  Result<void> run(const LaunchArgs& args) const override {
    if (is_empty()) return {};
    // Per batch item and channel: the mean at first, then factor and shift.
    float* sums = static_cast<float*>(args.workspace);
    float* first = sums + kSections * batch_ * channels_;
    float* second = first + batch_ * channels_;
    sum_sections(args, RowOp::Sum, nullptr, sums);
    each_group([&](int64_t item, int64_t group) {
      const double mean = group_sum(sums, item, group) / static_cast<double>(group_channels() * pixels_);
      std::fill_n(first + item * channels_ + group * group_channels(), group_channels(), static_cast<float>(mean));
    });
    sum_sections(args, RowOp::SumSquare, first, sums);
    each_group([&](int64_t item, int64_t group) {
      const double inverse = inverse_deviation(group_sum(sums, item, group));
      for (int64_t c = group * group_channels(); c < (group + 1) * group_channels(); ++c) {
        const int64_t at = item * channels_ + c;
        const Affine with = affine(args, c, static_cast<double>(first[at]), inverse);
        first[at] = with.factor;
        second[at] = with.shift;
      }
    });
    parallel_for(args.threads, batch_ * pixels_, std::max<int64_t>(8192 / channels_, 1),
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t line = begin; line < end; ++line) {
                     const int64_t at = line / pixels_ * channels_;
                     float* y = args.outputs[0].as<float>() + line * channels_;
                     const float* x = prologue_.empty() ? args.inputs[0].as<const float>() + line * channels_ : y;
                     kernels_.multiply_add(x, channels_, first + at, second + at, y);
                     if (!epilogue_.empty()) epilogue_.run(args, {line, 0, channels_, y, y});
                   }
                 });
    return {};
  }

 private:
  static constexpr int64_t kSections = 16;

  template <class Body>
  void each_group(const Body& body) const {
    for (int64_t i = 0; i < batch_ * groups_; ++i) body(i / groups_, i % groups_);
  }

  // Per section of an item's pixels, sums per channel. The first time the prologue runs, into the result.
  void sum_sections(const LaunchArgs& args, RowOp op, const float* shift, float* sums) const {
    const bool first_time = shift == nullptr;
    parallel_for(args.threads, batch_ * kSections, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t item = i / kSections;
        float* acc = sums + i * channels_;
        std::fill_n(acc, channels_, 0.0f);
        for (int64_t p = pixels_ * (i % kSections) / kSections; p < pixels_ * (i % kSections + 1) / kSections; ++p) {
          const int64_t line = item * pixels_ + p;
          const float* x = first_time || prologue_.empty() ? values(args, line, channels_)
                                                           : args.outputs[0].as<const float>() + line * channels_;
          kernels_.accumulate(op, x, channels_, first_time ? nullptr : shift + item * channels_, acc);
        }
      }
    });
  }

  double group_sum(const float* sums, int64_t item, int64_t group) const {
    double total = 0;
    for (int64_t section = 0; section < kSections; ++section) {
      const float* of_section = sums + (item * kSections + section) * channels_ + group * group_channels();
      for (int64_t c = 0; c < group_channels(); ++c) total += static_cast<double>(of_section[c]);
    }
    return total;
  }
};

template <class Launch>
Result<std::unique_ptr<tactics::Launch>> prepare(const tactics::PrepareArgs& args) {
  return std::unique_ptr<tactics::Launch>(std::make_unique<Launch>(args.problem));
}

}  // namespace

const tactics::Tactic kGroupNormPlanes{
    .name = "GroupNorm.cpu.planes",
    .op = "GroupNorm",
    .why_not = why_not<false>,
    .prepare = prepare<PlanesLaunch>,
    .in_place_inputs = 1,
};

const tactics::Tactic kGroupNormChannelsLast{
    .name = "GroupNorm.cpu.channels_last",
    .op = "GroupNorm",
    .why_not = why_not<true>,
    .prepare = prepare<ChannelsLastLaunch>,
    .in_place_inputs = 1,
};

}  // namespace strop::ops
