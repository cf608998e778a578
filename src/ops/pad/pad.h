/// Elements added (or removed) at the ends of axes.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

enum class PadMode : uint8_t {
  Constant,  ///< the value operand, or zero (the empty string)
  Reflect,   ///< mirrored at the first and last element, which are not repeated
  Edge,      ///< the first or last element
  Wrap,      ///< from the other end
};
template <>
inline constexpr auto kEnumNames<PadMode> = std::to_array<std::string_view>({"constant", "reflect", "edge", "wrap"});

/// Operands data, value (optional; one element; Constant only). `pads` are the elements to add before each of `axes`,
/// then those after; negative ones remove. Empty `axes` means all. Both are late-able.
struct PadAttrs {
  PadMode mode = PadMode::Constant;
  Dims pads;
  Dims axes;
  static constexpr auto fields =
      std::make_tuple(field("mode", &PadAttrs::mode), field("pads", &PadAttrs::pads), field("axes", &PadAttrs::axes));
};
extern const Operator kPad;

/// What Pad does to one axis, all axes in order.
struct AxisPad {
  int64_t before = 0;
  int64_t after = 0;
};
/// Errors: (C1) axes, (C2) count of pads.
Result<std::vector<AxisPad>> concrete_pads(const PadAttrs& attrs, int64_t rank);

/// The coordinate that element `at` (0 is the first before padding; may be outside) of an axis of `size` elements comes
/// from; -1 for the value. `size` is not 0 unless the mode is Constant.
int64_t pad_source(PadMode mode, int64_t at, int64_t size);

}  // namespace strop::ops
