/// Epilogues of matmul and convolution: a scalar program whose operand 0 is the sum and whose operands 1… are further
/// inputs, broadcast to the result.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ops/operator.h"
#include "ops/scalar_program.h"
#include "tensor/tensor.h"

namespace strop::ops {

/// An epilogue that kernels do in registers: y = clamp(sum + operand + operand …, lo, hi).
struct SimpleEpilogue {
  std::vector<int32_t> added;  ///< program operands that are added, in order; operand 0 is the sum
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
};

/// The simple form, if the program has it: additions first, then at most one Relu or Clip with constant bounds.
std::optional<SimpleEpilogue> match_simple_epilogue(const ScalarProgram& program);

/// How an operand of an epilogue lies beside the result: one value per element, per channel, per row (all channels of a
/// position; channels last only), or one for all.
enum class EpilogueOperand : uint8_t { Element, Channel, Row, Scalar };

/// Nullopt: in none of these ways, whatever the symbols' values.
std::optional<EpilogueOperand> classify_epilogue_operand(const Dims& operand, const Dims& result, size_t channel_axis);

/// Checks an epilogue against the operands it is given (operand 0 is the result before it): input count, dtypes, one
/// output, shapes that broadcast to `result` without enlarging it. Returns the dtype of its output. Error: "(C…) …".
Result<DType> infer_epilogue(const ScalarProgram& program, const TensorType& result, std::span<const Type> operands);

/// The sums of a reference evaluation before they are rounded: doubles for floating types, wrapped 64-bit integers for
/// others.
struct ReferenceSums {
  DType dtype = DType::Undefined;  ///< what a sum is rounded to before the epilogue
  std::vector<int64_t> dims;
  std::vector<double> numbers;    ///< floating types
  std::vector<int64_t> integers;  ///< integer types
};

/// Rounds, applies the epilogue in the reference semantics and stores to a new tensor.
Tensor apply_epilogue(const ScalarProgram& program, const ReferenceSums& sums, std::span<const Value> operands,
                      Threads& threads);

}  // namespace strop::ops
