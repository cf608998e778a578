/// Elements written, or combined, at the places that index tensors (i32 or i64; negative ones count from the end) name.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// What happens to an element that an update meets. None replaces it; of several updates the last one stays.
enum class ScatterReduction : uint8_t { None, Add, Mul, Max, Min };
template <>
inline constexpr auto kEnumNames<ScatterReduction> = std::to_array<std::string_view>({"none", "add", "mul", "max",
                                                                                      "min"});

/// Operands data, indices, updates (one shape, data's rank). data with updates[i][j]… met at
/// [i][…indices[i][j]… at `axis`…].
struct ScatterElementsAttrs {
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::None;
  static constexpr auto fields =
      std::make_tuple(field("axis", &ScatterElementsAttrs::axis), field("reduction", &ScatterElementsAttrs::reduction));
};
extern const Operator kScatterElements;

/// Operands data, indices, updates. The last axis of `indices` holds index tuples into data's first axes; updates hold
/// a slice of data for each: indices[:-1] + data[tuple length:].
struct ScatterNDAttrs {
  ScatterReduction reduction = ScatterReduction::None;
  static constexpr auto fields = std::make_tuple(field("reduction", &ScatterNDAttrs::reduction));
};
extern const Operator kScatterND;

/// Operands cache, update, positions (optional, i64 [batch]; absent: 0). The cache, in which sequence b (axis 0) has
/// update[b] written along `axis` from positions[b] on; `circular` wraps around at the end.
struct TensorScatterAttrs {
  int64_t axis = -2;
  bool circular = false;
  static constexpr auto fields =
      std::make_tuple(field("axis", &TensorScatterAttrs::axis), field("circular", &TensorScatterAttrs::circular));
};
extern const Operator kTensorScatter;

}  // namespace strop::ops
