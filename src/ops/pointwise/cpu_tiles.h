/// Scalar programs as tile programs: for the Pointwise tactic, and for epilogues and prologues of other operators' CPU
/// tactics. Example, for an epilogue on rows of C whose operand 1 is a bias:
///   auto tiles = make_tile_program(program, {{.stride = 1}, {.stride = 1}}, best_cpu_target());
///   const void* operands[] = {c_row, bias + first_column};
///   void* results[] = {c_row};
///   tiles->run(operands, results, columns);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/pointwise/tile_program.h"
#include "ops/scalar_program.h"

namespace strop::ops {

/// How an operand's element is found for each element of a run.
struct TileAccess {
  int64_t stride = 1;  ///< in elements; 0: one value for the whole run
  /// If not null: element i is at offset (*table)[i] from the operand's pointer, and runs are at most tile() long.
  std::shared_ptr<const std::vector<int32_t>> table;
};

/// Why the program cannot be run as tiles, or nullopt: dtypes without loops, too many operands.
std::optional<std::string> tiles_why_not(const ScalarProgram& program);

/// The program (not the empty one) as tiles, one access per operand. Instructions without a vectorised loop go through
/// the reference's evaluation, tile by tile. Null if too many values are alive at once. A bug if tiles_why_not objects.
std::unique_ptr<const kernels::TileProgram> make_tile_program(const ScalarProgram& program,
                                                              std::span<const TileAccess> accesses,
                                                              kernels::CpuTarget target);

}  // namespace strop::ops
