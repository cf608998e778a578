/// Repetition of elements.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// The operand broadcast with `shape` (late-able), both ways, as NumPy does.
struct ExpandAttrs {
  Dims shape;
  static constexpr auto fields = std::make_tuple(field("shape", &ExpandAttrs::shape));
};
extern const Operator kExpand;

/// The operand repeated repeats[i] times (late-able) along axis i.
struct TileAttrs {
  Dims repeats;
  static constexpr auto fields = std::make_tuple(field("repeats", &TileAttrs::repeats));
};
extern const Operator kTile;

}  // namespace strop::ops
