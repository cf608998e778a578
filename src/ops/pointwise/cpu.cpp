// Pointwise on the CPU: the operands' common loop nest cut into runs of contiguous results, each run by the tile
// program.
#include <algorithm>
#include <array>

#include "ops/families.h"
#include "ops/pointwise/cpu_tiles.h"
#include "ops/pointwise/op_broadcast.h"
#include "ops/pointwise/pointwise.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using tactics::LaunchArgs;
using tactics::PrepareArgs;
using tactics::Problem;

constexpr size_t kMaxBuffers = 40;               // operands and results: more than tiles_why_not lets pass
constexpr int64_t kTaskBytes = 16 * 1024;        // of results: less is not worth another thread
constexpr int64_t kShortRun = 64;                // elements: shorter runs are joined with their neighbours
constexpr int64_t kMaxTable = int64_t{1} << 30;  // offsets are 32-bit

/// The problem's program; the empty one written out.
ScalarProgram program_of(const Problem& problem) {
  ScalarProgram program = problem.attrs.as<PointwiseAttrs>().program;
  if (program.empty()) program.outputs = {program.add_input(0, problem.in(0).dtype)};
  return program;
}

std::optional<std::string> why_not(const Problem& problem) {
  const auto check = [](const Type& type) -> std::optional<std::string> {
    if (!type.tensor.has_rank()) return "a rank is not known";
    if (!(type.tensor.layout == Layout())) return "a blocked layout";
    return std::nullopt;
  };
  for (const Type& type : problem.inputs) {
    if (auto reason = check(type)) return reason;
  }
  for (const Type& type : problem.outputs) {
    if (auto reason = check(type)) return reason;
  }
  return tiles_why_not(program_of(problem));
}

/// The nest: `outer` axes, then a last axis of `total` elements that is walked in runs of `run`.
struct Runs {
  std::vector<int64_t> outer;
  int64_t total = 1;
  int64_t run = 1;
  /// Per operand, then per result, in elements: per outer axis, then from one run to the next.
  std::vector<std::vector<int64_t>> strides;
  int64_t count() const {
    int64_t runs = total == 0 ? 0 : (total + run - 1) / run;
    for (const int64_t dim : outer) runs *= dim;
    return runs;
  }
};

class PointwiseLaunch final : public tactics::Launch {
 public:
  PointwiseLaunch(std::unique_ptr<const kernels::TileProgram> tiles, Runs runs, std::vector<int64_t> bytes,
                  int64_t task_runs)
      : tiles_(std::move(tiles)), runs_(std::move(runs)), task_runs_(task_runs), operands_(tiles_->operand_count()) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (int64_t& stride : runs_.strides[i]) stride *= bytes[i];
    }
  }

  Result<void> run(const LaunchArgs& args) const override {
    parallel_for(args.threads, runs_.count(), task_runs_,
                 [&](int64_t begin, int64_t end, int) { run_range(args, begin, end); });
    return {};
  }

 private:
  /// Position within the nest, and the buffers' addresses there.
  struct Cursor {
    std::array<int64_t, 64> index;  // per outer axis, then of the run
    std::array<std::byte*, kMaxBuffers> at;
  };

  Cursor seek(const LaunchArgs& args, int64_t position) const {
    Cursor cursor;
    const size_t axes = runs_.outer.size();
    const int64_t per_row = (runs_.total + runs_.run - 1) / runs_.run;
    cursor.index[axes] = position % per_row;
    int64_t rest = position / per_row;
    for (size_t axis = axes; axis-- > 0;) {
      cursor.index[axis] = rest % runs_.outer[axis];
      rest /= runs_.outer[axis];
    }
    for (size_t i = 0; i < runs_.strides.size(); ++i) {
      const tactics::Buffer& buffer = i < operands_ ? args.inputs[i] : args.outputs[i - operands_];
      cursor.at[i] = buffer.as<std::byte>();
      for (size_t axis = 0; axis <= axes; ++axis) cursor.at[i] += cursor.index[axis] * runs_.strides[i][axis];
    }
    return cursor;
  }

  void run_range(const LaunchArgs& args, int64_t begin, int64_t end) const {
    Cursor cursor = seek(args, begin);
    const size_t axes = runs_.outer.size();
    for (int64_t position = begin; position < end; ++position) {
      const int64_t done = cursor.index[axes] * runs_.run;
      std::array<const void*, kMaxBuffers> operands;
      std::array<void*, kMaxBuffers> results;
      for (size_t i = 0; i < operands_; ++i) operands[i] = cursor.at[i];
      for (size_t i = operands_; i < runs_.strides.size(); ++i) results[i - operands_] = cursor.at[i];
      tiles_->run(operands.data(), results.data(), std::min(runs_.run, runs_.total - done));
      advance(cursor);
    }
  }

  /// To the next run, without a division.
  void advance(Cursor& cursor) const {
    const size_t axes = runs_.outer.size();
    const int64_t per_row = (runs_.total + runs_.run - 1) / runs_.run;
    for (size_t axis = axes + 1; axis-- > 0;) {
      const int64_t size = axis == axes ? per_row : runs_.outer[axis];
      const bool wraps = ++cursor.index[axis] == size;
      const int64_t steps = wraps ? 1 - size : 1;
      if (wraps) cursor.index[axis] = 0;
      for (size_t i = 0; i < runs_.strides.size(); ++i) cursor.at[i] += steps * runs_.strides[i][axis];
      if (!wraps) return;
    }
  }

  std::unique_ptr<const kernels::TileProgram> tiles_;
  Runs runs_;
  int64_t task_runs_;
  size_t operands_;
};

/// All operands and results over the results' dims, pitches included.
BroadcastLoop common_loop(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  const auto pitch = [](std::span<const int64_t> pitches, size_t i) { return i < pitches.size() ? pitches[i] : 0; };
  BroadcastLoop loop{problem.out_dims(), {}};
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    loop.strides.push_back(broadcast_strides(problem.in_dims(i), loop.dims, pitch(args.input_pitches, i)));
  }
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    loop.strides.push_back(broadcast_strides(loop.dims, loop.dims, pitch(args.output_pitches, i)));
  }
  loop = collapsed(loop);
  const size_t operands = problem.inputs.size();
  const bool dense = std::all_of(loop.strides.begin() + static_cast<std::ptrdiff_t>(operands), loop.strides.end(),
                                 [](const auto& strides) { return strides.back() == 1; });
  if (!dense && loop.dims.back() > 1) {  // results far apart: runs of one
    loop.dims.push_back(1);
    for (auto& strides : loop.strides) strides.push_back(0);
  }
  return loop;
}

/// Whether the last two axes are better walked together: short rows that are contiguous in the results.
bool joins_rows(const BroadcastLoop& loop, size_t operands) {
  const size_t axes = loop.dims.size();
  if (axes < 2 || loop.dims.back() >= kShortRun || loop.dims.back() < 2) return false;
  for (size_t i = 0; i < loop.strides.size(); ++i) {
    const auto& strides = loop.strides[i];
    const bool is_result = i >= operands;
    if (is_result && strides[axes - 2] != loop.dims.back() * strides[axes - 1]) return false;
    if (kernels::kTileElements * std::max(strides[axes - 2], strides[axes - 1]) > kMaxTable) return false;
  }
  return true;
}

/// Accesses of the operands along joined rows: a table of offsets unless the rows are contiguous or one value.
TileAccess joined_access(const std::vector<int64_t>& strides, int64_t row) {
  const int64_t inner = strides.back();
  const int64_t outer = strides[strides.size() - 2];
  if (outer == inner * row) return {inner, nullptr};
  auto table = std::make_shared<std::vector<int32_t>>();
  for (int64_t i = 0; i < kernels::kTileElements; ++i) {
    table->push_back(static_cast<int32_t>(i / row * outer + i % row * inner));
  }
  return {1, std::move(table)};
}

struct Shaped {
  Runs runs;
  std::unique_ptr<const kernels::TileProgram> tiles;
};

Shaped shape_runs(const ScalarProgram& program, const BroadcastLoop& loop, size_t operands, int threads) {
  const size_t axes = loop.dims.size();
  const bool joined = joins_rows(loop, operands);
  std::vector<TileAccess> accesses;
  for (size_t i = 0; i < operands; ++i) {
    accesses.push_back(joined ? joined_access(loop.strides[i], loop.dims.back())
                              : TileAccess{loop.strides[i].back(), nullptr});
  }
  Shaped shaped;
  shaped.tiles = make_tile_program(program, accesses, kernels::best_cpu_target());
  if (!shaped.tiles) return shaped;
  Runs& runs = shaped.runs;
  const size_t kept = axes - (joined ? 2 : 1);
  runs.outer.assign(loop.dims.begin(), loop.dims.begin() + static_cast<std::ptrdiff_t>(kept));
  const int64_t row = loop.dims.back();
  int64_t step = 0;  // along the axis that runs walk
  if (joined) {
    step = std::max<int64_t>(1, shaped.tiles->tile() / row);
    runs.total = row * loop.dims[axes - 2];
    runs.run = row * step;
  } else {
    int64_t elements = 1;
    for (const int64_t dim : loop.dims) elements *= dim;
    // Long rows are cut so that all threads have work; by multiples of a cache line.
    const int64_t share = (elements / (int64_t{threads} * 4) + 63) / 64 * 64;
    runs.total = row;
    runs.run = std::max<int64_t>(1, threads <= 1 ? row : std::min(row, std::max<int64_t>(4096, share)));
    step = runs.run;
  }
  for (const auto& strides : loop.strides) {
    auto& mine = runs.strides.emplace_back(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(kept));
    mine.push_back(strides[kept] * step);
  }
  return shaped;
}

Result<std::unique_ptr<tactics::Launch>> prepare(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  Shaped shaped = shape_runs(program_of(problem), common_loop(args), problem.inputs.size(), args.threads);
  if (!shaped.tiles) return error(ErrorCode::Unsupported, "Pointwise.cpu.tiles: too many values are alive at once");
  std::vector<int64_t> bytes;
  for (const Type& type : problem.inputs) bytes.push_back(bit_width(type.tensor.dtype) / 8);
  for (const Type& type : problem.outputs) bytes.push_back(bit_width(type.tensor.dtype) / 8);
  const int64_t run_bytes = shaped.runs.run * *std::max_element(bytes.begin(), bytes.end());
  const int64_t task_runs = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(run_bytes, 1));
  return std::unique_ptr<tactics::Launch>(
      std::make_unique<PointwiseLaunch>(std::move(shaped.tiles), std::move(shaped.runs), std::move(bytes), task_runs));
}

constexpr tactics::Tactic kTiles{
    .name = "Pointwise.cpu.tiles",
    .numerics = tactics::Numerics::Reassociated,
    .op = "Pointwise",
    .why_not = why_not,
    .prepare = prepare,
    .pitched_inputs = ~uint32_t{0},
    .pitched_output = true,
    .in_place_inputs = ~uint32_t{0},
};

}  // namespace

std::span<const tactics::Tactic* const> pointwise_cpu_tactics() {
  static constexpr std::array kAll = {&kTiles};
  return kAll;
}

}  // namespace strop::ops
