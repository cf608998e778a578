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

constexpr int64_t kTaskElements = 8192;

std::optional<std::string> why_not(const Problem& problem) {
  const auto& attrs = problem.attrs.as<LayerNormAttrs>();
  const TensorType& x = problem.in(0);
  if (!x.has_rank()) return "the operand's rank is not known";
  const int64_t axes = line_axes(attrs, x.rank());
  const FusedPrograms programs = attrs.programs();
  if (auto reason = tactics::line_program_why_not(problem, {attrs.prologue, x, axes, programs.prologue_first()}))
    return reason;
  TensorType result = x;
  result.dtype = DType::F32;
  for (const size_t i : {kNormScaleInput, kNormBiasInput}) {
    if (problem.has_input(i) && !is_row_vector(problem.in(i), x, axes))
      return "scale and bias are not f32 values per element of a row";
  }
  if (problem.outputs.size() > 2 && attrs.stash != DType::F32) return "statistics that are not f32";
  return tactics::line_program_why_not(problem, {attrs.epilogue, result, axes, programs.epilogue_first()});
}

class LayerNormLaunch final : public tactics::Launch {
 public:
  int64_t rows = 0, length = 0;
  double epsilon = 0;
  bool rms = false;
  bool has_scale = false, has_bias = false;
  int64_t element_bytes = 4;  // of operand 0
  LineProgram prologue, epilogue;
  const kernels::RowKernels& loops = kernels::row_kernels(kernels::best_cpu_target());

  Result<void> run(const LaunchArgs& args) const override {
    const int64_t grain = std::max<int64_t>(kTaskElements / std::max<int64_t>(length, 1), 1);
    parallel_for(args.threads, rows, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) run_row(args, row);
    });
    return {};
  }

 private:
  static float* output(const LaunchArgs& args, size_t index) {
    return index < args.outputs.size() ? args.outputs[index].as<float>() : nullptr;
  }

  void run_row(const LaunchArgs& args, int64_t row) const {
    const int64_t first = row * length;
    float* y = output(args, 0) + first;
    float* sum = output(args, kNormSumOutput);
    float* kept = sum == nullptr ? y : sum + first;
    const void* in = args.inputs[0].as<const std::byte>() + first * element_bytes;
    const float* x = tactics::line_values(prologue, args, {row, 0, length, in, kept});
    if (prologue.empty() && sum != nullptr) std::copy_n(x, length, kept);
    kernels::NormRow norm{x, length, 0, 1, nullptr, nullptr, y};
    const auto n = static_cast<double>(length);
    if (rms) {
      const double squares = loops.reduce(RowOp::SumSquare, x, length, 0);
      norm.inverse = static_cast<float>(1 / std::sqrt(squares / n + epsilon));
    } else {
      const GroupStatistics found = row_statistics(loops, x, length, epsilon);
      norm.mean = static_cast<float>(found.mean);
      norm.inverse = static_cast<float>(found.inverse);
      norm.offset = static_cast<float>((static_cast<double>(norm.mean) - found.mean) * found.inverse);
    }
    if (has_scale) norm.scale = args.inputs[kNormScaleInput].as<const float>();
    if (has_bias) norm.bias = args.inputs[kNormBiasInput].as<const float>();
    loops.normalize(norm);
    if (!epilogue.empty()) epilogue.run(args, {row, 0, length, y, y});
    if (float* means = output(args, 2)) means[row] = norm.mean;
    if (float* inverses = output(args, 3)) inverses[row] = norm.inverse;
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto& attrs = problem.attrs.as<LayerNormAttrs>();
  const TensorType& x = problem.in(0);
  const auto dims = problem.in_dims(0);
  const int64_t axes = line_axes(attrs, x.rank());
  auto launch = std::make_unique<LayerNormLaunch>();
  launch->rows = count_between(dims, 0, x.rank() - axes);
  launch->length = count_between(dims, x.rank() - axes, x.rank());
  launch->epsilon = attrs.epsilon;
  launch->rms = attrs.rms;
  launch->has_scale = problem.has_input(kNormScaleInput);
  launch->has_bias = problem.has_input(kNormBiasInput);
  launch->element_bytes = bit_width(x.dtype) / 8;
  TensorType result = x;
  result.dtype = DType::F32;
  launch->prologue = LineProgram(problem, {attrs.prologue, x, axes, attrs.programs().prologue_first()});
  launch->epilogue = LineProgram(problem, {attrs.epilogue, result, axes, attrs.programs().epilogue_first()});
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

}  // namespace

const tactics::Tactic kLayerNormRows{
    .name = "LayerNorm.cpu.rows",
    .op = "LayerNorm",
    .why_not = why_not,
    .prepare = prepare,
    .in_place_inputs = 1,
};

}  // namespace strop::ops
