/// Losses of classifiers.
#pragma once

#include <array>
#include <optional>

#include "ops/operator.h"

namespace strop::ops {

enum class LossReduction : uint8_t {
  None,  ///< one loss per target
  Mean,  ///< their sum divided by the sum of the targets' weights
  Sum,
};
template <>
inline constexpr auto kEnumNames<LossReduction> = std::to_array<std::string_view>({"none", "mean", "sum"});

/// Operands log probabilities [N, C, rest…], targets [N, rest…] (classes, integers), weights [C] or none (1). The loss
/// of a target is minus its log probability times its weight; targets equal to ignored_class, if has_ignored, weigh 0.
/// Result [N, rest…], or a scalar, of operand 0's dtype.
struct NegativeLogLikelihoodAttrs {
  LossReduction reduction = LossReduction::Mean;
  bool has_ignored = false;
  int64_t ignored_class = 0;
  static constexpr auto fields = std::make_tuple(field("reduction", &NegativeLogLikelihoodAttrs::reduction),
                                                 field("has_ignored", &NegativeLogLikelihoodAttrs::has_ignored),
                                                 field("ignored_class", &NegativeLogLikelihoodAttrs::ignored_class));
};
extern const Operator kNegativeLogLikelihood;

}  // namespace strop::ops
