/// A few small operators for the tests of ir/ and passes/: they need no operator family.
#pragma once

#include "ops/operator.h"

namespace strop::ir {

/// Plus: f32 + f32 with equal shapes. Minus: f32 negated. Fill: f32 ones of shape attribute `dims` (which may be late).
/// Positive: the positive elements of an f32 vector (unbacked length). Branch: (flag, captures…) with two regions.
/// Repeat: (count, carried, captures…) runs its region (carried, captures…) → (carried) count times.
const ops::Catalogue& test_operators();

struct FillAttrs {
  Dims dims;
  double value = 1;
  static constexpr auto fields =
      std::make_tuple(ops::field("dims", &FillAttrs::dims), ops::field("value", &FillAttrs::value));
};

/// Number of evaluations of Minus so far on this thread: tells whether something ran.
int64_t& minus_calls();

}  // namespace strop::ir
