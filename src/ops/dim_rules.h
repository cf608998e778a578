/// Facts about symbolic dimensions that hold for every run: all symbols are sizes, so at least 0. Inference uses them
/// to keep clamped expressions short: min(s, s + 1) is s, and a slice [0, floordiv(s, 2)) of s rows needs no clamp.
#pragma once

#include "tensor/dim.h"

namespace strop::ops {

/// True if `dim` >= 0 is proved for all non-negative symbols. False says nothing.
bool is_nonnegative(const Dim& dim);

/// True if a <= b is proved.
inline bool at_most(const Dim& a, const Dim& b) { return is_nonnegative(b - a); }

/// min and max that give one operand where the order is proved.
Dim smaller(const Dim& a, const Dim& b);
Dim larger(const Dim& a, const Dim& b);

/// `value` forced into [low, high].
inline Dim clamp(const Dim& value, const Dim& low, const Dim& high) { return smaller(larger(value, low), high); }

/// An index or bound that counts from the end where negative: value < 0 ? value + size : value.
Dim wrap_negative(const Dim& value, const Dim& size);

}  // namespace strop::ops
