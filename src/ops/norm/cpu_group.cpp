#include <algorithm>
#include <cmath>

#include "kernels/reduce/row_kernels.h"
#include "ops/element_map.h"
#include "ops/norm/cpu_norm.h"
#include "ops/norm/norm.h"
#include "tactics/line_program.h"

namespace strop::ops {
namespace {

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

  Centering channel_centering(const LaunchArgs& args, int64_t channel, const GroupStatistics& group) const {
    const double scale = has_scale_ ? static_cast<double>(args.inputs[kNormScaleInput].as<const float>()[channel]) : 1;
    const double bias = has_bias_ ? static_cast<double>(args.inputs[kNormBiasInput].as<const float>()[channel]) : 0;
    return centering(group.mean, group.inverse * scale, bias);
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
    const GroupStatistics found = row_statistics(kernels_, x, count, epsilon_);
    for (int64_t i = 0; i < group_channels(); ++i) {
      const int64_t line = first_line + i;
      const auto [mean, factor, shift] = channel_centering(args, line % channels_, found);
      float* y = args.outputs[0].as<float>() + line * pixels_;
      kernels_.center_row({x + i * pixels_, pixels_, mean, factor, shift, y});
      if (!epilogue_.empty()) epilogue_.run(args, {line, 0, pixels_, y, y});
    }
  }
};

/// Channels last: moments per channel over sections of pixels, which are joined in order.
class ChannelsLastLaunch final : public GroupNormLaunch {
 public:
  using GroupNormLaunch::GroupNormLaunch;

  int64_t workspace_bytes() const override {
    const auto doubles = static_cast<int64_t>(sizeof(double)), floats = static_cast<int64_t>(sizeof(float));
    return (2 * kSections * doubles + 3 * floats) * batch_ * channels_;
  }

  Result<void> run(const LaunchArgs& args) const override {
    if (is_empty()) return {};
    const Work work = work_in(args.workspace);
    // First the means in fp32, then the moments around them; the means' room then holds the exact ones.
    add_sections(args, nullptr, work.sums, nullptr);
    each_group([&](int64_t item, int64_t group) {
      const double mean = group_sum(work.sums, item, group) / static_cast<double>(group_channels() * pixels_);
      std::fill_n(work.means + item * channels_ + group * group_channels(), group_channels(), static_cast<float>(mean));
    });
    add_sections(args, work.means, work.sums, work.squares);
    each_group([&](int64_t item, int64_t group) {
      const int64_t first = group * group_channels();
      const kernels::Moments moments{group_sum(work.sums, item, group), group_sum(work.squares, item, group)};
      const auto shift = static_cast<double>(work.means[item * channels_ + first]);
      const GroupStatistics found = statistics_of(moments, shift, group_channels() * pixels_, epsilon_);
      for (int64_t c = first; c < first + group_channels(); ++c) {
        const Centering with = channel_centering(args, c, found);
        const int64_t at = item * channels_ + c;
        work.means[at] = with.mean;
        work.factors[at] = with.factor;
        work.shifts[at] = with.shift;
      }
    });
    each_block(args, [&](int64_t item, int64_t line, int64_t lines) { finish_lines(args, work, item, line, lines); });
    return {};
  }

 private:
  static constexpr int64_t kSections = 16;
  static constexpr int64_t kJoinedRows = 256;  // in fp32, before they go to double

  /// Sums per item, section and channel; the others per item and channel.
  struct Work {
    double *sums, *squares;
    float *means, *factors, *shifts;
  };
  Work work_in(void* workspace) const {
    const int64_t channels = batch_ * channels_;
    auto* sums = static_cast<double*>(workspace);
    auto* means = reinterpret_cast<float*>(sums + 2 * kSections * channels);
    return {sums, sums + kSections * channels, means, means + channels, means + 2 * channels};
  }

  template <class Body>
  void each_group(const Body& body) const {
    for (int64_t i = 0; i < batch_ * groups_; ++i) body(i / groups_, i % groups_);
  }

  /// body(item, first line, lines) for blocks of an item's lines.
  template <class Body>
  void each_block(const LaunchArgs& args, const Body& body) const {
    const int64_t lines = std::clamp<int64_t>(8192 / channels_, 1, kJoinedRows);
    const int64_t blocks = (pixels_ + lines - 1) / lines;
    parallel_for(args.threads, batch_ * blocks, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * lines;
        body(i / blocks, i / blocks * pixels_ + first, std::min(lines, pixels_ - first));
      }
    });
  }

  // The lines after the prologue, which has run before.
  const float* prepared(const LaunchArgs& args, int64_t line) const {
    return (prologue_.empty() ? args.inputs[0].as<const float>() : args.outputs[0].as<const float>()) +
           line * channels_;
  }

  // Per section of an item's pixels, moments per channel. The first time (no means) the prologue runs, into the result.
  void add_sections(const LaunchArgs& args, const float* means, double* sums, double* squares) const {
    parallel_for(args.threads, batch_ * kSections, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t item = i / kSections, section = i % kSections;
        const int64_t last = pixels_ * (section + 1) / kSections;
        kernels::ColumnMoments block{.columns = channels_, .sums = sums + i * channels_};
        std::fill_n(block.sums, channels_, 0.0);
        if (means != nullptr) {
          block.shift = means + item * channels_;
          block.squares = squares + i * channels_;
          std::fill_n(block.squares, channels_, 0.0);
        }
        for (int64_t p = pixels_ * section / kSections; p < last; p += kJoinedRows) {
          const int64_t line = item * pixels_ + p;
          block.rows = std::min(kJoinedRows, last - p);
          for (int64_t k = 0; means == nullptr && !prologue_.empty() && k < block.rows; ++k)
            values(args, line + k, channels_);
          block.x = prepared(args, line);
          kernels_.column_moments(block);
        }
      }
    });
  }

  double group_sum(const double* sums, int64_t item, int64_t group) const {
    double total = 0;
    for (int64_t section = 0; section < kSections; ++section) {
      const double* of_section = sums + (item * kSections + section) * channels_ + group * group_channels();
      for (int64_t c = 0; c < group_channels(); ++c) total += of_section[c];
    }
    return total;
  }

  void finish_lines(const LaunchArgs& args, const Work& work, int64_t item, int64_t line, int64_t lines) const {
    const int64_t at = item * channels_;
    float* y = args.outputs[0].as<float>() + line * channels_;
    kernels_.center_columns(
        {prepared(args, line), lines, channels_, work.means + at, work.factors + at, work.shifts + at, y});
    if (epilogue_.empty()) return;
    for (int64_t k = 0; k < lines; ++k) {
      epilogue_.run(args, {line + k, 0, channels_, y + k * channels_, y + k * channels_});
    }
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
