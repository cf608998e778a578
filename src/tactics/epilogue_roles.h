/// How the epilogue of a matmul or convolution maps onto what its kernel does in registers, or else onto tiles that are
/// run over each finished block while it is in cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/epilogue.h"
#include "ops/pointwise/cpu_tiles.h"
#include "tactics/tactic.h"

namespace strop::tactics {

/// y = clamp(sum + bias[channel] + residual, lo, hi); operands are indices of the problem's inputs, -1 where absent.
/// With `general`, the program runs as tiles instead, after the sum.
struct EpilogueRoles {
  int32_t bias = -1;
  int32_t residual = -1;
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
  bool general = false;
  std::vector<ops::EpilogueOperand> operands;  ///< of the general program's operands 1, 2, …
};

/// Where an epilogue is found in a problem.
struct EpilogueSite {
  const ops::ScalarProgram& program;
  size_t first_operand;   ///< index of the program's operand 1 among the inputs
  size_t channel_axis;    ///< of the result: what a bias runs along
  bool has_bias = false;  ///< the operator has a bias of its own: the epilogue cannot use that register
};

/// Fills in the roles, or returns the reason why neither form applies. All operands and the result must be f32.
std::optional<std::string> resolve_epilogue(const Problem& problem, const EpilogueSite& site, EpilogueRoles& roles);

/// A general epilogue over a result of rows of `channels` f32: what a kernel's block callback needs.
class TileEpilogue {
 public:
  TileEpilogue() = default;
  TileEpilogue(const EpilogueSite& site, const EpilogueRoles& roles, int64_t channels);
  bool empty() const { return tiles_ == nullptr; }

  struct Block {
    float* data;    ///< its first element
    int64_t pitch;  ///< elements between rows
    int64_t row, column, rows, columns;
  };
  /// In place over one block.
  void apply(const LaunchArgs& args, const Block& block) const;

 private:
  std::shared_ptr<const kernels::TileProgram> tiles_;
  std::vector<ops::EpilogueOperand> operands_;
  size_t first_operand_ = 0;
  int64_t channels_ = 0;
};

}  // namespace strop::tactics
