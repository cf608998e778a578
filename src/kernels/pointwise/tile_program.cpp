#include "kernels/pointwise/tile_program.h"

#include <algorithm>
#include <cstring>

namespace strop::kernels {
namespace {

constexpr int64_t kScratchBytes = 32 * 1024;  // of the stack; L1 and the operands' tiles share the rest
constexpr int64_t kMinTile = 16;
constexpr int64_t kWidest = 8;
constexpr size_t kMaxScalars = 256;

}  // namespace

/// One tile of one run.
struct TileProgram::Frame {
  const void* const* operands;
  void* const* results;
  std::byte* scratch;
  uint64_t* scalars;
  int64_t first;
};

int32_t TileProgram::add_operand(int64_t bytes, int64_t stride) {
  operands_.push_back({bytes * stride});
  return static_cast<int32_t>(operands_.size()) - 1;
}

int32_t TileProgram::add_result(int64_t bytes) {
  results_.push_back({bytes});
  return static_cast<int32_t>(results_.size()) - 1;
}

TileRef TileProgram::add_temp() { return {TileRef::Kind::Temp, temps_++}; }

TileRef TileProgram::add_scalar() { return add_constant(0); }

TileRef TileProgram::add_constant(uint64_t bits) {
  scalars_.push_back(bits);
  return {TileRef::Kind::Scalar, static_cast<int32_t>(scalars_.size()) - 1};
}

bool TileProgram::finish() {
  std::vector<size_t> last_use(static_cast<size_t>(temps_), 0);
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const TileRef& arg : steps_[i].args) {
      if (arg.kind == TileRef::Kind::Temp) last_use[static_cast<size_t>(arg.index)] = i;
    }
  }
  std::vector<int32_t> slot(static_cast<size_t>(temps_), -1);
  std::vector<int32_t> free;
  for (size_t i = 0; i < steps_.size(); ++i) {
    std::vector<int32_t> released;  // slots whose temporaries are read here for the last time
    for (TileRef& arg : steps_[i].args) {
      if (arg.kind != TileRef::Kind::Temp) continue;
      const auto temp = static_cast<size_t>(arg.index);
      arg.index = slot[temp];
      const bool listed = std::find(released.begin(), released.end(), arg.index) != released.end();
      if (last_use[temp] == i && !listed) released.push_back(arg.index);
    }
    // What an elementwise loop frees is free for its own result.
    if (steps_[i].elementwise) free.insert(free.end(), released.begin(), released.end());
    if (steps_[i].out.kind == TileRef::Kind::Temp) {
      if (free.empty()) free.push_back(slots_++);
      slot[static_cast<size_t>(steps_[i].out.index)] = free.back();
      steps_[i].out.index = free.back();
      free.pop_back();
    }
    if (!steps_[i].elementwise) free.insert(free.end(), released.begin(), released.end());
  }
  const int64_t fits = slots_ == 0 ? kTileElements : kScratchBytes / (kWidest * slots_);
  tile_ = std::min(kTileElements, fits / kMinTile * kMinTile);
  return tile_ >= kMinTile && scalars_.size() <= kMaxScalars;
}

void TileProgram::execute(const TileStep& step, const Frame& frame, int64_t n) const {
  const auto address = [&](const TileRef& ref) -> void* {
    const auto index = static_cast<size_t>(ref.index);
    switch (ref.kind) {
      case TileRef::Kind::None: return nullptr;
      case TileRef::Kind::Operand: {
        const auto* base = static_cast<const std::byte*>(frame.operands[index]);
        return const_cast<std::byte*>(base + frame.first * operands_[index].bytes);
      }
      case TileRef::Kind::Result:
        return static_cast<std::byte*>(frame.results[index]) + frame.first * results_[index].bytes;
      case TileRef::Kind::Temp: return frame.scratch + ref.index * tile_ * kWidest;
      case TileRef::Kind::Scalar: return frame.scalars + index;
    }
    return nullptr;
  };
  step.loop({address(step.args[0]), address(step.args[1]), address(step.args[2]), address(step.out), n, frame.first,
             step.context});
}

void TileProgram::run(const void* const* operands, void* const* results, int64_t n) const {
  alignas(64) std::byte scratch[kScratchBytes];
  uint64_t scalars[kMaxScalars];
  std::copy(scalars_.begin(), scalars_.end(), scalars);
  Frame frame{operands, results, scratch, scalars, 0};
  for (const TileStep& step : once_) execute(step, frame, 1);
  if (slots_ == 0 && steps_.size() == 1) return execute(steps_[0], frame, n);  // no reason to cut it up
  for (frame.first = 0; frame.first < n; frame.first += tile_) {
    const int64_t count = std::min(tile_, n - frame.first);
    for (const TileStep& step : steps_) execute(step, frame, count);
  }
}

}  // namespace strop::kernels
