/// Reductions over axes.
#pragma once

#include <array>

#include "ops/fused.h"
#include "ops/operator.h"

namespace strop::ops {

/// What becomes of the elements x of one group. Empty groups: Sum, L1, L2, SumSquare 0; Prod 1; Mean NaN (0 for
/// integers); LogSum and LogSumExp -inf; Max and Min the identity: -inf and inf, or the least and greatest integer.
enum class ReduceKind : uint8_t {
  Sum,
  Mean,  ///< for integers truncated
  Max,   ///< NaN if any is
  Min,   ///< NaN if any is
  Prod,
  L1,         ///< sum of |x|
  L2,         ///< square root of the sum of x²
  LogSum,     ///< log(sum x)
  LogSumExp,  ///< log(sum exp(x)), without overflow on the way
  SumSquare,
};
template <>
inline constexpr auto kEnumNames<ReduceKind> = std::to_array<std::string_view>({"sum", "mean", "max", "min", "prod",
                                                                                "l1", "l2", "log_sum", "log_sum_exp",
                                                                                "sum_square"});

/// Reduces operand 0 over `axes` (late-able). No axes: all of them, or with all_if_empty false each element is a group
/// of its own. The reduced axes stay as size 1 with keep_dims. Integers are summed and multiplied modulo 2^n; bool has
/// Max and Min. Prologue and epilogue as fused.h has them.
struct ReduceAttrs {
  ReduceKind kind = ReduceKind::Sum;
  Dims axes;
  bool all_if_empty = true;
  bool keep_dims = true;
  ScalarProgram prologue;
  ScalarProgram epilogue;
  static constexpr auto fields =
      std::make_tuple(field("kind", &ReduceAttrs::kind), field("axes", &ReduceAttrs::axes),
                      field("all_if_empty", &ReduceAttrs::all_if_empty), field("keep_dims", &ReduceAttrs::keep_dims),
                      field("prologue", &ReduceAttrs::prologue), field("epilogue", &ReduceAttrs::epilogue));

  FusedPrograms programs() const { return {prologue, epilogue, 1}; }
};
extern const Operator kReduce;

/// Per axis of an operand of `rank` whether it is reduced. Errors: (C2) an axis outside the rank or named twice.
Result<std::vector<bool>> reduced_axes(const std::vector<int64_t>& axes, bool all_if_empty, int64_t rank);

/// How the kernels see an operand: its last `axes` axes are a line, all of it reduced or none.
struct ReduceLines {
  std::vector<bool> reduced;  ///< per axis of the operand
  int64_t axes = 0;
  bool rows = false;  ///< the line is reduced
};
/// Nullopt: the axes are not known or wrong, or the operand is a scalar.
std::optional<ReduceLines> reduce_lines(const ReduceAttrs& attrs, const Dims& dims);

/// The dimensions that remain.
Dims remaining_dims(const Dims& dims, const std::vector<bool>& reduced, bool keep_dims);

/// The meaning of Reduce, without its programs: `input` reduced over the axes that `reduced` marks, not rounded yet.
/// `dims` are those of the result.
ReferenceSums evaluate_reduction(ReduceKind kind, const Tensor& input, const std::vector<bool>& reduced,
                                 std::vector<int64_t> dims, Threads& threads);

std::vector<WorkedCase> reduce_cases();

}  // namespace strop::ops
