/// Operators with neighbours fused in: a prologue that makes operand 0 what the operator works on (residual added,
/// scaled, masked), and an epilogue on its result. One arrangement for reductions, softmax and normalisations:
///
/// A node's operands are the operator's own (a fixed number; absent ones are None), then the prologue's operands 1, 2,
/// …, then the epilogue's operands 1, 2, …, then late ones. Operand 0 of the prologue is the node's operand 0, operand
/// 0 of the epilogue the result before it. The others broadcast to these without enlarging them. Both programs have one
/// output; an empty program changes nothing. The prologue's output is rounded to its dtype, which is the dtype that the
/// operator works on, so that a fused operator equals the unfused chain.
#pragma once

#include "ops/epilogue.h"
#include "ops/operator.h"

namespace strop::ops {

/// An operator's programs and how many operands are its own.
struct FusedPrograms {
  const ScalarProgram& prologue;
  const ScalarProgram& epilogue;
  size_t own = 1;

  /// Where the further operands of each program start among the node's operands, and how many there are.
  size_t prologue_first() const { return own; }
  size_t prologue_count() const { return further(prologue); }
  size_t epilogue_first() const { return own + prologue_count(); }
  size_t epilogue_count() const { return further(epilogue); }

 private:
  static size_t further(const ScalarProgram& program) {
    return program.input_count > 1 ? static_cast<size_t>(program.input_count) - 1 : 0;
  }
};

/// How a program's operand lies along a line, the last axes of the tensor that the program works on: one value for all
/// of it, one for each element (the operand's own last axes are the line's), or neither.
enum class AlongLine : uint8_t { Constant, Dense, Mixed };
/// For an operand that broadcasts to `base`, whose last `axes` axes are the line. Mixed too if symbols leave it open.
AlongLine along_line(const Dims& operand, const Dims& base, int64_t axes);

/// The type of operand 0 after the prologue. Errors: (E1)–(E4).
Result<TensorType> infer_prologue(const InferContext& ctx, const FusedPrograms& programs);
/// The type of `result` (before the epilogue) after it. Errors: (E1)–(E4).
Result<TensorType> infer_result(const InferContext& ctx, const FusedPrograms& programs, const TensorType& result);

/// Operand 0 after the prologue.
Tensor apply_prologue(const EvalContext& ctx, const FusedPrograms& programs);
/// The results of a reference evaluation, rounded, through the epilogue.
Tensor finish_result(const EvalContext& ctx, const FusedPrograms& programs, const ReferenceSums& sums);

/// `tensor`'s elements broadcast to `dims`, which they must not enlarge, as doubles.
std::vector<double> broadcast_f64(const Tensor& tensor, const std::vector<int64_t>& dims, Threads& threads);

}  // namespace strop::ops
