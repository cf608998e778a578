#include <array>

#include "kernels/quantize/quantize.h"
#include "ops/families.h"
#include "ops/quantize/quantize.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using tactics::Launch;
using tactics::LaunchArgs;
using tactics::PrepareArgs;
using tactics::Problem;

constexpr int64_t kGrain = 16384;  // elements that one task should have

/// Quantisation, or back, of all runs of a layout.
template <class T, bool kQuantize>
class LinearLaunch final : public Launch {
 public:
  LinearLaunch(const ScaleLayout& layout, bool has_zero_point) : layout_(layout), has_zero_point_(has_zero_point) {
    const int64_t elements = layout.outer * layout.axis * layout.inner;
    elements_per_run_ = layout.runs() > 0 ? std::max<int64_t>(elements / layout.runs(), 1) : 1;
  }

  Result<void> run(const LaunchArgs& args) const override {
    const auto& kernels = kernels::quantize_kernels<T>(kernels::best_cpu_target());
    // A run whose elements share one scale may be cut anywhere: a single one is cut for the threads' sake.
    const int64_t cuts = layout_.runs() == 1 ? std::max<int64_t>(elements_per_run_ / kGrain, 1) : 1;
    const int64_t grain = std::max<int64_t>(kGrain / elements_per_run_, 1);
    parallel_for(args.threads, layout_.runs() * cuts, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        auto part = layout_.run(i / cuts);
        const int64_t from = part.count * (i % cuts) / cuts;
        const int64_t to = part.count * (i % cuts + 1) / cuts;
        one(kernels, args, {part.first + from, to - from, part.scale + from * part.scale_step, part.scale_step});
      }
    });
    return {};
  }

 private:
  void one(const kernels::QuantizeKernels<T>& kernels, const LaunchArgs& args, const ScaleLayout::Run& part) const {
    kernels::QuantizeRun<T> run;
    run.count = part.count;
    run.step = part.scale_step;
    run.scale = args.inputs[1].as<const float>() + part.scale;
    if (has_zero_point_) run.zero_point = args.inputs[2].as<const T>() + part.scale;
    if constexpr (kQuantize) {
      kernels.quantize(run, args.inputs[0].as<const float>() + part.first, args.outputs[0].as<T>() + part.first);
    } else {
      kernels.dequantize(run, args.inputs[0].as<const T>() + part.first, args.outputs[0].as<float>() + part.first);
    }
  }

  ScaleLayout layout_;
  bool has_zero_point_;
  int64_t elements_per_run_ = 1;
};

bool has_loops(DType dtype) {
  return dtype == DType::U8 || dtype == DType::I8 || dtype == DType::U16 || dtype == DType::I16;
}

std::optional<std::string> why_not(const Problem& problem, DType quantized, DType real) {
  if (real != DType::F32 || problem.in(1).dtype != DType::F32) return "values and scale must be f32";
  if (!has_loops(quantized)) return "only integers of 8 and 16 bits";
  if (!problem.in(0).has_rank() || !problem.in(1).has_rank()) return "an operand's rank is not known";
  return std::nullopt;
}

std::optional<std::string> why_not_quantize(const Problem& problem) {
  if (problem.attrs.as<QuantizeLinearAttrs>().precision != DType::F32) return "divides in f32";
  return why_not(problem, problem.out().dtype, problem.in(0).dtype);
}

std::optional<std::string> why_not_dequantize(const Problem& problem) {
  return why_not(problem, problem.in(0).dtype, problem.out().dtype);
}

template <bool kQuantize>
std::unique_ptr<Launch> make_launch(DType dtype, const ScaleLayout& layout, bool has_zero_point) {
  switch (dtype) {
    case DType::U8: return std::make_unique<LinearLaunch<uint8_t, kQuantize>>(layout, has_zero_point);
    case DType::I8: return std::make_unique<LinearLaunch<int8_t, kQuantize>>(layout, has_zero_point);
    case DType::U16: return std::make_unique<LinearLaunch<uint16_t, kQuantize>>(layout, has_zero_point);
    case DType::I16: return std::make_unique<LinearLaunch<int16_t, kQuantize>>(layout, has_zero_point);
    default: STROP_UNREACHABLE("no loops for {}", to_string(dtype));
  }
}

Result<std::unique_ptr<Launch>> prepare_quantize(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto& attrs = problem.attrs.as<QuantizeLinearAttrs>();
  STROP_ASSIGN(const ScaleLayout layout,
               scale_layout(attrs.axis, attrs.block_size, problem.in_dims(0), problem.in_dims(1)));
  return make_launch<true>(problem.out().dtype, layout, problem.has_input(2));
}

Result<std::unique_ptr<Launch>> prepare_dequantize(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto& attrs = problem.attrs.as<DequantizeLinearAttrs>();
  STROP_ASSIGN(const ScaleLayout layout,
               scale_layout(attrs.axis, attrs.block_size, problem.in_dims(0), problem.in_dims(1)));
  return make_launch<false>(problem.in(0).dtype, layout, problem.has_input(2));
}

/// Range first, then quantisation with what follows from it.
class DynamicLaunch final : public Launch {
 public:
  DynamicLaunch(int64_t count, int threads) : count_(count), parts_(std::clamp<int64_t>(count / kGrain, 1, threads)) {}

  int64_t workspace_bytes() const override { return parts_ * static_cast<int64_t>(sizeof(kernels::FloatRange)); }

  Result<void> run(const LaunchArgs& args) const override {
    const auto target = kernels::best_cpu_target();
    const auto* x = args.inputs[0].as<const float>();
    auto* ranges = static_cast<kernels::FloatRange*>(args.workspace);
    const auto of_part = [&](int64_t i, int) {
      const int64_t from = count_ * i / parts_;
      ranges[i] = kernels::float_range(target, x + from, count_ * (i + 1) / parts_ - from);
    };
    run_parts(args.threads, of_part);
    kernels::FloatRange range;
    for (int64_t i = 0; i < parts_; ++i) {
      range.minimum = std::min(range.minimum, ranges[i].minimum);
      range.maximum = std::max(range.maximum, ranges[i].maximum);
    }
    const DynamicScale found = dynamic_scale(range.minimum, range.maximum);
    if (args.outputs.size() > 1 && args.outputs[1].data) *args.outputs[1].as<float>() = found.scale;
    if (args.outputs.size() > 2 && args.outputs[2].data) *args.outputs[2].as<uint8_t>() = found.zero_point;
    const auto& kernels = kernels::quantize_kernels<uint8_t>(target);
    auto* y = args.outputs[0].as<uint8_t>();
    run_parts(args.threads, [&](int64_t i, int) {
      const int64_t from = count_ * i / parts_;
      kernels.quantize({count_ * (i + 1) / parts_ - from, &found.scale, &found.zero_point, 0}, x + from, y + from);
    });
    return {};
  }

 private:
  template <class Body>
  void run_parts(Threads& threads, const Body& body) const {
    if (parts_ == 1) return body(0, 0);
    threads.run(parts_, body);
  }

  int64_t count_;
  int64_t parts_;
};

constexpr tactics::Tactic kQuantizeLoops = {
    .name = "QuantizeLinear.cpu.loops",
    .numerics = tactics::Numerics::Exact,
    .op = "QuantizeLinear",
    .why_not = why_not_quantize,
    .prepare = prepare_quantize,
};

constexpr tactics::Tactic kDequantizeLoops = {
    .name = "DequantizeLinear.cpu.loops",
    .numerics = tactics::Numerics::Exact,
    .op = "DequantizeLinear",
    .why_not = why_not_dequantize,
    .prepare = prepare_dequantize,
};

constexpr tactics::Tactic kDynamicLoops = {
    .name = "DynamicQuantizeLinear.cpu.loops",
    .numerics = tactics::Numerics::Exact,
    .op = "DynamicQuantizeLinear",
    .why_not = [](const Problem& problem) -> std::optional<std::string> {
      if (!problem.in(0).has_rank()) return "the operand's rank is not known";
      return std::nullopt;
    },
    .prepare = [](const PrepareArgs& args) -> Result<std::unique_ptr<Launch>> {
      return std::unique_ptr<Launch>(
          std::make_unique<DynamicLaunch>(element_count(args.problem.in_dims(0)), args.threads));
    },
};

}  // namespace

std::span<const tactics::Tactic* const> quantize_cpu_tactics() {
  static constexpr std::array kTactics = {&kQuantizeLoops, &kDequantizeLoops, &kDynamicLoops};
  return kTactics;
}

}  // namespace strop::ops
