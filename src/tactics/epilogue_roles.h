/// How the epilogue of a matmul or convolution maps onto what the kernels do in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/epilogue.h"
#include "tactics/tactic.h"

namespace strop::tactics {

/// y = clamp(sum + bias[channel] + residual, lo, hi); operands are indices of the problem's inputs, -1 where absent.
struct EpilogueRoles {
  int32_t bias = -1;
  int32_t residual = -1;
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
};

/// Where an epilogue is found in a problem.
struct EpilogueSite {
  const ops::ScalarProgram& program;
  size_t first_operand;          ///< index of the program's operand 1 among the inputs
  size_t channel_axis;           ///< of the result: what a bias runs along
};

/// Fills in the roles, or returns the reason why the epilogue has no such form. All operands must be f32.
std::optional<std::string> resolve_epilogue(const Problem& problem, const EpilogueSite& site, EpilogueRoles& roles);

}  // namespace strop::tactics
