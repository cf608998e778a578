#include <algorithm>
#include <array>

#include "kernels/reduce/row_kernels.h"
#include "ops/families.h"
#include "ops/softmax/softmax.h"
#include "tactics/line_program.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using tactics::LaunchArgs;
using tactics::LineProgram;
using tactics::Problem;

constexpr int64_t kTaskElements = 4096;  // less is not worth another thread
constexpr int64_t kColumnTile = 64;

std::optional<std::string> why_not(const Problem& problem) {
  const auto& attrs = problem.attrs.as<SoftmaxAttrs>();
  if (attrs.kind == SoftmaxKind::Hardmax) return "Hardmax";
  const TensorType& x = problem.in(0);
  if (!x.has_rank() || x.rank() == 0) return "the operand's rank is not known, or 0";
  const int64_t axes = line_axes(attrs, x.rank());
  const FusedPrograms programs = attrs.programs();
  if (auto reason = tactics::line_program_why_not(problem, {attrs.prologue, x, axes, programs.prologue_first()}))
    return reason;
  TensorType result = x;
  result.dtype = DType::F32;
  return tactics::line_program_why_not(problem, {attrs.epilogue, result, axes, programs.epilogue_first()});
}

class SoftmaxLaunch final : public tactics::Launch {
 public:
  SoftmaxShape shape;
  bool log = false;
  bool rows = false;
  int64_t element_bytes = 4;  // of operand 0
  LineProgram prologue, epilogue;
  const kernels::RowKernels& loops = kernels::row_kernels(kernels::best_cpu_target());

  Result<void> run(const LaunchArgs& args) const override {
    if (shape.outer * shape.inner * shape.length == 0) return {};
    if (rows) {
      const int64_t grain = std::max<int64_t>(kTaskElements / shape.length, 1);
      parallel_for(args.threads, shape.outer, grain, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) run_row(args, row);
      });
    } else if (prologue.empty() && epilogue.empty()) {
      const int64_t tiles = (shape.inner + kColumnTile - 1) / kColumnTile;
      parallel_for(args.threads, shape.outer * tiles, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) run_columns(args, i / tiles, i % tiles * kColumnTile);
      });
    } else {
      parallel_for(args.threads, shape.outer, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) run_lines(args, i);
      });
    }
    return {};
  }

 private:
  const void* operand_at(const LaunchArgs& args, int64_t element) const {
    return args.inputs[0].as<const std::byte>() + element * element_bytes;
  }

  void run_row(const LaunchArgs& args, int64_t row) const {
    const int64_t first = row * shape.length;
    float* y = args.outputs[0].as<float>() + first;
    const float* x = tactics::line_values(prologue, args, {row, 0, shape.length, operand_at(args, first), y});
    (log ? loops.log_softmax : loops.softmax)(x, shape.length, y);
    if (!epilogue.empty()) epilogue.run(args, {row, 0, shape.length, y, y});
  }

  void softmax_columns(const kernels::ColumnBlock& block) const {
    (log ? loops.log_softmax_columns : loops.softmax_columns)(block);
  }

  void run_columns(const LaunchArgs& args, int64_t outer, int64_t column) const {
    const int64_t first = outer * shape.length * shape.inner + column;
    softmax_columns({args.inputs[0].as<const float>() + first, shape.length, shape.inner,
                     std::min(kColumnTile, shape.inner - column), args.outputs[0].as<float>() + first});
  }

  void run_lines(const LaunchArgs& args, int64_t outer) const {
    const int64_t first_line = outer * shape.length;
    float* y = args.outputs[0].as<float>() + first_line * shape.inner;
    const auto each_line = [&](const LineProgram& program, const auto& in) {
      for (int64_t i = 0; i < shape.length; ++i) {
        program.run(args, {first_line + i, 0, shape.inner, in(i), y + i * shape.inner});
      }
    };
    if (!prologue.empty())
      each_line(prologue, [&](int64_t i) { return operand_at(args, (first_line + i) * shape.inner); });
    const float* x = prologue.empty() ? args.inputs[0].as<const float>() + first_line * shape.inner : y;
    softmax_columns({x, shape.length, shape.inner, shape.inner, y});
    if (!epilogue.empty()) each_line(epilogue, [&](int64_t i) -> const void* { return y + i * shape.inner; });
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto& attrs = problem.attrs.as<SoftmaxAttrs>();
  const TensorType& x = problem.in(0);
  auto launch = std::make_unique<SoftmaxLaunch>();
  STROP_ASSIGN(launch->shape, softmax_shape(attrs, problem.in_dims(0)));
  launch->log = attrs.kind == SoftmaxKind::LogSoftmax;
  launch->rows = groups_are_rows(attrs, x.rank());
  launch->element_bytes = bit_width(x.dtype) / 8;
  const int64_t axes = line_axes(attrs, x.rank());
  TensorType result = x;
  result.dtype = DType::F32;
  launch->prologue = LineProgram(problem, {attrs.prologue, x, axes, attrs.programs().prologue_first()});
  launch->epilogue = LineProgram(problem, {attrs.epilogue, result, axes, attrs.programs().epilogue_first()});
  if (launch->shape.inner == 1 && launch->prologue.empty() && launch->epilogue.empty()) launch->rows = true;
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

constexpr tactics::Tactic kRows{
    .name = "Softmax.cpu.rows",
    .op = "Softmax",
    .why_not = why_not,
    .prepare = prepare,
    .in_place_inputs = 1,
};

}  // namespace

std::span<const tactics::Tactic* const> softmax_cpu_tactics() {
  static constexpr std::array kTactics = {&kRows};
  return kTactics;
}

}  // namespace strop::ops
