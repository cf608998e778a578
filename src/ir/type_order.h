/// How specific types are: a constant dimension says more than a symbol, a symbol more than one known only when the
/// data are, any rank more than none.
#pragma once

#include "tensor/type.h"

namespace strop::ir {

/// False if no value can have both types: other dtypes, other ranks, other constant dimensions, other kinds.
bool compatible(const Type& a, const Type& b);

/// Everything that either says, `a` where both say something of the same kind. Requires compatible types.
Type more_specific(const Type& a, const Type& b);

}  // namespace strop::ir
