/// A small program over elements, prepared to run on contiguous segments of them at the speed of memory: the CPU's form
/// of ops' scalar programs, for pointwise operators and for the epilogues of others. Instruction by instruction, each a
/// vectorised loop over a tile small enough for the L1 cache; an instruction at the end writes the result directly.
///
/// Knows pointers and sizes only. ops/pointwise/cpu_tiles.h makes one from a scalar program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/pointwise/tile_loop.h"

namespace strop::kernels {

/// Most elements per tile: 2 KiB of floats.
inline constexpr int64_t kTileElements = 512;

/// Where a step's operand or result lies.
struct TileRef {
  enum class Kind : uint8_t { None, Operand, Result, Temp, Scalar };
  Kind kind = Kind::None;
  int32_t index = 0;
};

struct TileStep {
  TileLoop loop = nullptr;
  TileRef args[3];
  TileRef out;
  const void* context = nullptr;  ///< kept alive with TileProgram::keep
  bool elementwise = false;  ///< reads element i of its operands, all as wide as its result, before writing element i
};

class TileProgram {
 public:
  // -- Building --

  /// An operand's memory: elements of `bytes`, the next one `stride` elements further (0: one value for all).
  int32_t add_operand(int64_t bytes, int64_t stride);
  int32_t add_result(int64_t bytes);    ///< always dense
  TileRef add_temp();                   ///< a tile; written by one step, read by later ones
  TileRef add_scalar();                 ///< one value, written by one of the steps that run once
  TileRef add_constant(uint64_t bits);  ///< one value of 4 or 8 bytes, little end first
  void add_once(const TileStep& step) { once_.push_back(step); }  ///< with n = 1, before the others
  void add_step(const TileStep& step) { steps_.push_back(step); }
  void keep(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }
  /// Ends building: lays out temporaries and decides the tile's length. False if too many are alive at once.
  bool finish();

  // -- Running --

  /// Computes n elements. operands[i] points to the first element of operand i, results[j] likewise; a result may be
  /// the same memory as a dense operand with elements of the same size, but may not overlap one otherwise. Thread-safe.
  void run(const void* const* operands, void* const* results, int64_t n) const;

  size_t operand_count() const { return operands_.size(); }
  size_t result_count() const { return results_.size(); }
  /// Elements per tile; a run with a gather table must not be longer.
  int64_t tile() const { return tile_; }

 private:
  struct Advance {
    int64_t bytes;  ///< from one element to the next
  };
  struct Frame;
  void execute(const TileStep& step, const Frame& frame, int64_t n) const;

  std::vector<Advance> operands_;
  std::vector<Advance> results_;
  std::vector<TileStep> once_;
  std::vector<TileStep> steps_;
  std::vector<uint64_t> scalars_;  ///< initial contents: constants, zeros for those computed once
  std::vector<std::shared_ptr<const void>> owners_;
  int32_t temps_ = 0;
  int32_t slots_ = 0;  ///< temporaries that are alive at once
  int64_t tile_ = kTileElements;
};

}  // namespace strop::kernels
