/// Tile loops made of the reference's block evaluation: for every function, slower than a vectorised loop.
#pragma once

#include <array>

#include "kernels/pointwise/tile_loop.h"
#include "ops/scalar_functions.h"
#include "ops/scalar_program.h"

namespace strop::ops {

/// The context of generic_loop.
struct GenericInstr {
  ScalarInstr instr;
  DType operand = DType::Undefined;  ///< the deciding operand's dtype
  struct Side {
    DType dtype = DType::Undefined;
    bool repeated = false;  ///< one value for all elements
  };
  std::array<Side, 3> args;
};
void generic_loop(const kernels::TileLoopArgs& args);

}  // namespace strop::ops
