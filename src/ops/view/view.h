/// Operators that give the same elements another shape.
#pragma once

#include "ops/operator.h"

namespace strop::ops {

/// Reshape to `shape`, late-able. An entry of -1 is what remains of the element count (at most one). With `copy_zeros`
/// an entry of constant 0 keeps the operand's dimension of the same axis; import resolves both wherever it can.
struct ReshapeAttrs {
  Dims shape;
  bool copy_zeros = false;
  static constexpr auto fields =
      std::make_tuple(field("shape", &ReshapeAttrs::shape), field("copy_zeros", &ReshapeAttrs::copy_zeros));
};
extern const Operator kReshape;

/// The target with its -1 and copied zeros resolved against the operand's shape, where that is known; entries that
/// cannot be resolved stay. Errors: (C2)–(C5) of Reshape.
Result<Dims> resolve_reshape(const Dims& target, bool copy_zeros, const Shape& input);

/// Which shape a ReshapeByRule makes.
enum class ReshapeRule : uint8_t {
  Flatten,    ///< axes = {a}: [product of dims before a, product of the others]
  Squeeze,    ///< drops `axes`, each of size 1; all axes of size 1 if empty
  Unsqueeze,  ///< inserts size 1 at `axes` of the result
};
template <>
inline constexpr auto kEnumNames<ReshapeRule> = std::to_array<std::string_view>({"flatten", "squeeze", "unsqueeze"});

/// A reshape whose target depends on an operand's rank (or squeezable axes) that is not known yet, or on late `axes`.
/// Wherever the target is known, import makes a Reshape instead.
struct ReshapeByRuleAttrs {
  ReshapeRule rule = ReshapeRule::Flatten;
  Dims axes;
  static constexpr auto fields =
      std::make_tuple(field("rule", &ReshapeByRuleAttrs::rule), field("axes", &ReshapeByRuleAttrs::axes));
};
extern const Operator kReshapeByRule;

/// The result's shape under the rule; nullopt where it depends on the value of a symbolic dimension.
Result<std::optional<Dims>> reshape_by_rule(ReshapeRule rule, const std::vector<int64_t>& axes, const Dims& input);

}  // namespace strop::ops
