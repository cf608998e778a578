/// Pointwise arithmetic on the symbolic contents of small integer tensors, which is where shapes come from.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/scalar_program.h"
#include "tensor/dim.h"

namespace strop::ops {

/// The contents of each output of the program, for `count` elements: each operand has 1 or `count` known elements, or
/// is not known. Bools are 0 and 1. An output is nullopt as soon as one element of it cannot be told.
std::vector<std::optional<Dims>> known_results(const ScalarProgram& program,
                                               std::span<const std::optional<Dims>> operands, size_t count);

}  // namespace strop::ops
