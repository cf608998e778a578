/// Matrix multiplication, batched, with an epilogue.
#pragma once

#include "ops/epilogue.h"
#include "ops/operator.h"

namespace strop::ops {

/// Operands: a [.., m, k] ([.., k, m] with trans_a), b [.., k, n] ([.., n, k] with trans_b), both of rank 2 or more,
/// leading dimensions broadcast; then the epilogue's operands 1, 2, …. Result [.., m, n]. Integer operands multiply
/// exactly and wrap modulo 2^n in the result's type.
struct MatMulAttrs {
  bool trans_a = false;
  bool trans_b = false;
  ScalarProgram epilogue;
  static constexpr auto fields =
      std::make_tuple(field("trans_a", &MatMulAttrs::trans_a), field("trans_b", &MatMulAttrs::trans_b),
                      field("epilogue", &MatMulAttrs::epilogue));
};
extern const Operator kMatMul;

/// The first epilogue operand's index among the node's inputs.
inline constexpr size_t kMatMulEpilogueInput = 2;

/// The result's dimensions, before the epilogue. Errors: (C2) inner dimensions, (C3) batch dimensions.
Result<Dims> matmul_dims(const MatMulAttrs& attrs, const Dims& a, const Dims& b);

/// Which of an operand's matrices the result's matrix `item` uses, under broadcasting of the axes before the last two.
int64_t operand_matrix(int64_t item, const std::vector<int64_t>& result, const std::vector<int64_t>& operand);

}  // namespace strop::ops
