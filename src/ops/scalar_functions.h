/// Meaning of the scalar functions: each evaluated over a block of elements, so that the choice of the function and of
/// the types is made once per block.
#pragma once

#include <cstdint>

#include "ops/scalar_program.h"
#include "tensor/dtype.h"

namespace strop::ops {

/// What a value of a dtype is held as in a ScalarValue.
enum class ScalarDomain : uint8_t {
  Number,    ///< real floating types: double
  Integer,   ///< bool and integers except u64: int64_t
  Unsigned,  ///< u64: its bit pattern in int64_t
  Opaque,    ///< string, complex: not held; only Input, Copy, Equal and Where apply, and the tensor operator does them
};
ScalarDomain domain_of(DType dtype);

/// Whether `fn` is defined for operands of `operand` (for Where: of its branches).
bool is_defined(Fn fn, DType operand);

/// The operand whose dtype decides in which domain `fn` computes: 1 for Where, else 0.
inline size_t deciding_operand(Fn fn) { return fn == Fn::Where ? 1 : 0; }

struct ScalarBlock {
  const ScalarValue* a = nullptr;  ///< operands; unused ones are null
  const ScalarValue* b = nullptr;
  const ScalarValue* c = nullptr;
  ScalarValue* out = nullptr;  ///< may be one of the operands
  int64_t count = 0;
};

/// out[i] = fn(a[i], b[i], c[i]), rounded to instr.dtype. `operand` is the deciding operand's dtype. Not for Input.
void evaluate_block(const ScalarInstr& instr, DType operand, const ScalarBlock& block);

}  // namespace strop::ops
