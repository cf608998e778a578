/// Operators that draw numbers: each run draws anew, from the seed if there is one.
#pragma once

#include <array>
#include <optional>
#include <random>

#include "ops/operator.h"

namespace strop::ops {

enum class Distribution : uint8_t { Normal, Uniform };
template <>
inline constexpr auto kEnumNames<Distribution> = std::to_array<std::string_view>({"normal", "uniform"});

/// Numbers of type `to`: of a normal distribution with mean `first` and standard deviation `second`, or of a uniform
/// one over [first, second). Their shape is the operand's if there is one, else `shape`.
struct RandomAttrs {
  Distribution distribution = Distribution::Normal;
  DType to = DType::F32;
  Dims shape;
  double first = 0, second = 1;
  bool seeded = false;
  double seed = 0;
  static constexpr auto fields = std::make_tuple(
      field("distribution", &RandomAttrs::distribution), field("to", &RandomAttrs::to),
      field("shape", &RandomAttrs::shape), field("first", &RandomAttrs::first), field("second", &RandomAttrs::second),
      field("seeded", &RandomAttrs::seeded), field("seed", &RandomAttrs::seed));
};
extern const Operator kRandom;

/// 1 with the operand's element as probability, else 0; of type `to`.
struct BernoulliAttrs {
  DType to = DType::F32;
  bool seeded = false;
  double seed = 0;
  static constexpr auto fields = std::make_tuple(
      field("to", &BernoulliAttrs::to), field("seeded", &BernoulliAttrs::seeded), field("seed", &BernoulliAttrs::seed));
};
extern const Operator kBernoulli;

/// Operand: logarithms of unnormalised probabilities [B, classes]. Result [B, samples]: classes drawn with replacement.
struct MultinomialAttrs {
  DType to = DType::I32;
  int64_t samples = 1;
  bool seeded = false;
  double seed = 0;
  static constexpr auto fields =
      std::make_tuple(field("to", &MultinomialAttrs::to), field("samples", &MultinomialAttrs::samples),
                      field("seeded", &MultinomialAttrs::seeded), field("seed", &MultinomialAttrs::seed));
};
extern const Operator kMultinomial;

}  // namespace strop::ops
