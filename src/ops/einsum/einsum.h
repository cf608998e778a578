/// Sums of products over named indices, and determinants.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// Operands of one numeric dtype, one per term of `equation`, in numpy.einsum's notation: "bij,bjk->bik". An ellipsis
/// stands for the axes that are not named, which broadcast; without "->" the result has the ellipsis' axes, then every
/// index that occurs once, in alphabetical order. Integers wrap modulo 2^n. Import makes MatMul, Reduce and Transpose
/// of equations that they can express.
struct EinsumAttrs {
  std::string equation;
  static constexpr auto fields = std::make_tuple(field("equation", &EinsumAttrs::equation));
};
extern const Operator kEinsum;

/// An equation for operands of known ranks: every axis has an index. Numbers below kFirstEllipsisIndex are the
/// letters'; ellipsis axes count from there, from the last axis to the first.
struct EinsumIndices {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
};
inline constexpr int kFirstEllipsisIndex = 256;

/// Errors: (C1) the notation, (C2) operands or ranks that do not fit it.
Result<EinsumIndices> parse_einsum(std::string_view equation, const std::vector<int64_t>& ranks);

/// Operand [..., n, n] of a floating dtype; result [...]: the determinants.
extern const Operator kDet;

}  // namespace strop::ops
