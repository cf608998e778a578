// Reduce on the CPU, line by line: a line is the last run of axes that are all reduced or all kept. Reduced lines
// become numbers (rows), kept lines are joined elementwise (columns); both over a table of the lines of each group.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/reduce/row_kernels.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/reduce/reduce.h"
#include "tactics/line_program.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::RowOp;
using tactics::LaunchArgs;
using tactics::LineProgram;
using tactics::Problem;

constexpr int64_t kTaskElements = 8192;  // less is not worth another thread
constexpr int64_t kPiece = 8192;         // of a long row: what is reduced at once
constexpr int64_t kColumnTile = 256;
constexpr int64_t kSegment = 128;  // lines that are joined in fp32 before they join a total in double

RowOp row_op(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Max: return RowOp::Max;
    case ReduceKind::Min: return RowOp::Min;
    case ReduceKind::Prod: return RowOp::Product;
    case ReduceKind::L1: return RowOp::SumAbs;
    case ReduceKind::L2:
    case ReduceKind::SumSquare: return RowOp::SumSquare;
    case ReduceKind::LogSumExp: return RowOp::SumExp;
    case ReduceKind::Sum:
    case ReduceKind::Mean:
    case ReduceKind::LogSum: break;
  }
  return RowOp::Sum;
}

TensorType f32_like(const TensorType& type) { return {DType::F32, type.shape, {}}; }

std::optional<std::string> why_not(const Problem& problem) {
  const auto& attrs = problem.attrs.as<ReduceAttrs>();
  const TensorType& x = problem.in(0);
  if (!x.has_rank()) return "the operand's rank is not known";
  const auto lines = reduce_lines(attrs, x.dims());
  if (!lines) return "the axes are not known, or the operand is a scalar";
  const FusedPrograms programs = attrs.programs();
  if (auto reason = tactics::line_program_why_not(problem, {attrs.prologue, x, lines->axes, programs.prologue_first()}))
    return reason;
  if (attrs.epilogue.empty()) return std::nullopt;
  if (problem.out().rank() == 0) return "a program on a scalar";
  return tactics::line_program_why_not(problem,
                                       {attrs.epilogue, f32_like(problem.out()), 1, programs.epilogue_first()});
}

// Line numbers, relative to a group's first, of all coordinates along leading axes that `chosen` marks.
std::vector<int64_t> line_numbers(const std::vector<int64_t>& dims, const std::vector<bool>& chosen) {
  std::vector<int64_t> numbers = {0};
  int64_t stride = 1;
  for (const int64_t dim : dims) stride *= dim;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    stride = dims[axis] == 0 ? 0 : stride / dims[axis];
    if (!chosen[axis]) continue;
    std::vector<int64_t> longer;
    for (const int64_t number : numbers) {
      for (int64_t i = 0; i < dims[axis]; ++i) longer.push_back(number + i * stride);
    }
    numbers = std::move(longer);
  }
  return numbers;
}

class ReduceLaunch final : public tactics::Launch {
 public:
  ReduceKind kind = ReduceKind::Sum;
  RowOp op = RowOp::Sum;
  bool rows = false;
  int64_t length = 0;            // of a line
  std::vector<int64_t> groups;   // the first line of each group
  std::vector<int64_t> members;  // the lines of a group, relative to the first
  int64_t element_bytes = 4;     // of operand 0
  int64_t epilogue_length = 1;   // of a line of the result
  int64_t results = 0;
  int threads = 1;
  LineProgram prologue, epilogue;
  const kernels::RowKernels& loops = kernels::row_kernels(kernels::best_cpu_target());

  // A row's part or a tile of columns after the prologue, per worker; then partial results of long rows.
  int64_t workspace_bytes() const override {
    const int64_t scratch = prologue.empty() ? 0 : threads * kPiece * static_cast<int64_t>(sizeof(float));
    return scratch + (split() ? partial_count() * static_cast<int64_t>(sizeof(double)) : 0);
  }

  Result<void> run(const LaunchArgs& args) const override {
    if (results == 0) return {};
    if (!rows) {
      run_columns(args);
    } else if (split()) {
      run_split(args);
    } else {
      const int64_t grain = std::max<int64_t>(kTaskElements / std::max<int64_t>(group_elements(), 1), 1);
      parallel_for(args.threads, results, grain, [&](int64_t begin, int64_t end, int worker) {
        for (int64_t i = begin; i < end; ++i) args.outputs[0].as<float>()[i] = reduce_group(args, i, worker);
      });
    }
    if (!epilogue.empty()) run_epilogue(args);
    return {};
  }

 private:
  int64_t member_count() const { return static_cast<int64_t>(members.size()); }
  int64_t group_elements() const { return (rows ? length : 1) * member_count(); }
  int64_t pieces() const { return (length + kPiece - 1) / kPiece; }
  // Few groups of many elements: their pieces are shared out.
  bool split() const { return rows && results < 4 * threads && group_elements() > 4 * kPiece; }
  int64_t partial_count() const { return results * member_count() * pieces(); }

  // `count` values from `begin` of a line on.
  const float* values(const LaunchArgs& args, int64_t line, int64_t begin, int64_t count, int worker) const {
    const void* in = args.inputs[0].as<const std::byte>() + (line * length + begin) * element_bytes;
    float* scratch = prologue.empty() ? nullptr : static_cast<float*>(args.workspace) + worker * kPiece;
    return tactics::line_values(prologue, args, {line, begin, count, in, scratch});
  }

  double finish(double value, double shift) const {
    switch (kind) {
      case ReduceKind::Mean: return value / static_cast<double>(group_elements());
      case ReduceKind::L2: return std::sqrt(value);
      case ReduceKind::LogSum: return std::log(value);
      case ReduceKind::LogSumExp: return std::isfinite(shift) ? std::log(value) + shift : shift;
      default: return value;
    }
  }

  double reduce_piece(const LaunchArgs& args, RowOp with, int64_t group, int64_t piece, float shift, int worker) const {
    const int64_t line = groups[static_cast<size_t>(group)] + members[static_cast<size_t>(piece / pieces())];
    const int64_t begin = piece % pieces() * kPiece;
    const int64_t count = std::min(kPiece, length - begin);
    return loops.reduce(with, values(args, line, begin, count, worker), count, shift);
  }

  double reduce_pieces(const LaunchArgs& args, RowOp with, int64_t group, float shift, int worker) const {
    double total = kernels::identity(with);
    for (int64_t piece = 0; piece < member_count() * pieces(); ++piece) {
      total = kernels::join(with, total, reduce_piece(args, with, group, piece, shift, worker));
    }
    return total;
  }

  float reduce_group(const LaunchArgs& args, int64_t group, int worker) const {
    const bool shifted = kind == ReduceKind::LogSumExp;
    const double shift = shifted ? reduce_pieces(args, RowOp::Max, group, 0, worker) : 0;
    return static_cast<float>(finish(reduce_pieces(args, op, group, static_cast<float>(shift), worker), shift));
  }

  void run_split(const LaunchArgs& args) const {
    auto* scratch = static_cast<std::byte*>(args.workspace);
    auto* partials = reinterpret_cast<double*>(
        scratch + (prologue.empty() ? 0 : threads * kPiece * static_cast<int64_t>(sizeof(float))));
    const int64_t per_group = member_count() * pieces();
    const auto all_pieces = [&](RowOp with, const float* shifts) {
      parallel_for(args.threads, results * per_group, 1, [&](int64_t begin, int64_t end, int worker) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t group = i / per_group;
          partials[i] = reduce_piece(args, with, group, i % per_group, shifts == nullptr ? 0 : shifts[group], worker);
        }
      });
    };
    const auto joined = [&](RowOp with, int64_t group) {
      double total = kernels::identity(with);
      for (int64_t i = 0; i < per_group; ++i) total = kernels::join(with, total, partials[group * per_group + i]);
      return total;
    };
    float* y = args.outputs[0].as<float>();
    const bool shifted = kind == ReduceKind::LogSumExp;
    if (shifted) {
      all_pieces(RowOp::Max, nullptr);
      for (int64_t i = 0; i < results; ++i) y[i] = static_cast<float>(joined(RowOp::Max, i));
    }
    all_pieces(op, shifted ? y : nullptr);
    for (int64_t i = 0; i < results; ++i) {
      y[i] = static_cast<float>(finish(joined(op, i), shifted ? static_cast<double>(y[i]) : 0));
    }
  }

  void run_columns(const LaunchArgs& args) const {
    const int64_t tiles = (length + kColumnTile - 1) / kColumnTile;
    const int64_t tile_elements = std::min(length, kColumnTile) * member_count();
    const int64_t grain = std::max<int64_t>(kTaskElements / std::max<int64_t>(tile_elements, 1), 1);
    parallel_for(args.threads, static_cast<int64_t>(groups.size()) * tiles, grain,
                 [&](int64_t begin, int64_t end, int worker) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t column = i % tiles * kColumnTile;
                     reduce_tile(args, i / tiles, column, std::min(kColumnTile, length - column), worker);
                   }
                 });
  }

  void reduce_tile(const LaunchArgs& args, int64_t group, int64_t column, int64_t count, int worker) const {
    std::array<float, kColumnTile> shift{};
    std::array<double, kColumnTile> total;
    const bool shifted = kind == ReduceKind::LogSumExp;
    if (shifted) {
      join_lines(args, RowOp::Max, nullptr, {group, column, count}, worker, total.data());
      for (int64_t i = 0; i < count; ++i)
        shift[static_cast<size_t>(i)] = static_cast<float>(total[static_cast<size_t>(i)]);
    }
    join_lines(args, op, shifted ? shift.data() : nullptr, {group, column, count}, worker, total.data());
    float* y = args.outputs[0].as<float>() + group * length + column;
    for (int64_t i = 0; i < count; ++i) {
      y[i] =
          static_cast<float>(finish(total[static_cast<size_t>(i)], static_cast<double>(shift[static_cast<size_t>(i)])));
    }
  }

  struct Tile {
    int64_t group, column, count;
  };
  void join_lines(const LaunchArgs& args, RowOp with, const float* shift, const Tile& tile, int worker,
                  double* total) const {
    const int64_t first_line = groups[static_cast<size_t>(tile.group)];
    const auto start = static_cast<float>(kernels::identity(with));
    std::fill_n(total, tile.count, kernels::identity(with));
    for (int64_t first = 0; first < member_count(); first += kSegment) {
      std::array<float, kColumnTile> acc;
      std::fill_n(acc.begin(), tile.count, start);
      for (int64_t i = first; i < std::min(first + kSegment, member_count()); ++i) {
        const int64_t line = first_line + members[static_cast<size_t>(i)];
        loops.accumulate(with, values(args, line, tile.column, tile.count, worker), tile.count, shift, acc.data());
      }
      for (int64_t i = 0; i < tile.count; ++i) {
        total[i] = kernels::join(with, total[i], static_cast<double>(acc[static_cast<size_t>(i)]));
      }
    }
  }

  void run_epilogue(const LaunchArgs& args) const {
    const int64_t lines = results / epilogue_length;
    // One long line is cut; many short ones are shared out.
    const int64_t part = std::min(epilogue_length, kPiece);
    const int64_t parts = (epilogue_length + part - 1) / part;
    parallel_for(args.threads, lines * parts, std::max<int64_t>(kTaskElements / part, 1),
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t first = i % parts * part;
                     float* y = args.outputs[0].as<float>() + i / parts * epilogue_length + first;
                     epilogue.run(args, {i / parts, first, std::min(part, epilogue_length - first), y, y});
                   }
                 });
  }
};

Result<std::unique_ptr<tactics::Launch>> prepare(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto& attrs = problem.attrs.as<ReduceAttrs>();
  const auto dims = problem.in_dims(0);
  auto found = reduce_lines(attrs, problem.in(0).dims());
  STROP_CHECK(found.has_value(), "why_not was not asked");
  ReduceLines& lines = *found;
  const FusedPrograms programs = attrs.programs();
  // Sizes that turned out to be 1 may have made the line wider than the one that why_not saw.
  const auto fits = [&] {
    return !tactics::line_program_why_not(problem,
                                          {attrs.prologue, problem.in(0), lines.axes, programs.prologue_first()});
  };
  while (lines.axes > 1 && !fits()) --lines.axes;
  auto launch = std::make_unique<ReduceLaunch>();
  launch->kind = attrs.kind;
  launch->op = row_op(attrs.kind);
  launch->rows = lines.rows;
  launch->length = 1;
  const size_t leading = dims.size() - static_cast<size_t>(lines.axes);
  for (size_t i = leading; i < dims.size(); ++i) launch->length *= dims[i];
  const std::vector<int64_t> outer(dims.begin(), dims.begin() + static_cast<int64_t>(leading));
  std::vector<bool> kept = lines.reduced;
  kept.flip();
  launch->groups = line_numbers(outer, kept);
  launch->members = line_numbers(outer, lines.reduced);
  launch->results = element_count(problem.out_dims());
  launch->element_bytes = bit_width(problem.in(0).dtype) / 8;
  launch->threads = args.threads;
  launch->prologue = LineProgram(problem, {attrs.prologue, problem.in(0), lines.axes, programs.prologue_first()});
  if (!attrs.epilogue.empty()) {
    const TensorType result = f32_like(problem.out());
    const int64_t axes = tactics::widest_line(problem, {attrs.epilogue, result, 1, programs.epilogue_first()});
    launch->epilogue = LineProgram(problem, {attrs.epilogue, result, axes, programs.epilogue_first()});
    const auto out = problem.out_dims();
    for (size_t i = out.size() - static_cast<size_t>(axes); i < out.size(); ++i) launch->epilogue_length *= out[i];
  }
  return std::unique_ptr<tactics::Launch>(std::move(launch));
}

constexpr tactics::Tactic kLines{
    .name = "Reduce.cpu.lines",
    .op = "Reduce",
    .why_not = why_not,
    .prepare = prepare,
};

}  // namespace

std::span<const tactics::Tactic* const> reduce_cpu_tactics() {
  static constexpr std::array kTactics = {&kLines};
  return kTactics;
}

}  // namespace strop::ops
