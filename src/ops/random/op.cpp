#include <bit>
#include <cmath>

#include "ops/families.h"
#include "ops/late.h"
#include "ops/random/random.h"

namespace strop::ops {
namespace {

using Generator = std::mt19937_64;

Generator generator(bool seeded, double seed) {
  if (seeded) return Generator(std::bit_cast<uint64_t>(seed));
  std::random_device device;
  return Generator((uint64_t{device()} << 32) | device());
}

// Of 53 random bits: in [0, 1). Unlike the standard library's distributions the same everywhere.
double unit(Generator& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// Box and Muller's method.
double normal(Generator& random) {
  const double radius = std::sqrt(-2 * std::log(1 - unit(random)));
  return radius * std::cos(2 * 3.14159265358979323846 * unit(random));
}

bool is_number(DType dtype) { return is_float(dtype) || is_integer(dtype); }

Result<void> infer_random(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<RandomAttrs>();
  if (!is_float(attrs.to)) return violates("(C1) random numbers of {}", to_string(attrs.to));
  if (!ctx.has_input(0)) {
    STROP_TRY(check_sizes(attrs.shape));
    ctx.outputs[0] = Type(attrs.to, attrs.shape);
    return {};
  }
  STROP_ASSIGN(const TensorType like, ctx.tensor(0));
  ctx.outputs[0] = TensorType{attrs.to, like.shape, {}};
  return {};
}

Result<void> evaluate_random(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<RandomAttrs>();
  const auto dims = ctx.has_input(0) ? ctx.in(0).dims() : bound(attrs.shape);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  Generator random = generator(attrs.seeded, attrs.seed);
  for (double& value : values) {
    value = attrs.distribution == Distribution::Normal ? attrs.first + attrs.second * normal(random)
                                                       : attrs.first + (attrs.second - attrs.first) * unit(random);
  }
  ctx.outputs[0] = store_f64(attrs.to, dims, values);
  return {};
}

Result<void> infer_bernoulli(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<BernoulliAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (!is_float(x.dtype)) return violates("(C1) probabilities of {}", to_string(x.dtype));
  if (!is_number(attrs.to) && attrs.to != DType::Bool) return violates("(C1) a result of {}", to_string(attrs.to));
  ctx.outputs[0] = TensorType{attrs.to, x.shape, {}};
  return {};
}

Result<void> evaluate_bernoulli(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<BernoulliAttrs>();
  auto values = load_f64(ctx.in(0));
  Generator random = generator(attrs.seeded, attrs.seed);
  for (double& value : values) value = unit(random) < value ? 1 : 0;
  ctx.outputs[0] = store_f64(attrs.to, ctx.in(0).dims(), values);
  return {};
}

Result<void> infer_multinomial(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<MultinomialAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (!is_float(x.dtype)) return violates("(C1) probabilities of {}", to_string(x.dtype));
  if (attrs.to != DType::I32 && attrs.to != DType::I64) return violates("(C1) classes of {}", to_string(attrs.to));
  if (attrs.samples < 1 || attrs.samples > kMaxElements) return violates("(C2) {} samples", attrs.samples);
  if (x.has_rank() && x.rank() != 2) return violates("(C2) {} has not two axes", to_string(x));
  ctx.outputs[0] = Type(attrs.to, {x.has_rank() ? x.dim(0) : ctx.unbacked(), Dim(attrs.samples)});
  return {};
}

Result<void> evaluate_multinomial(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<MultinomialAttrs>();
  const Tensor& x = ctx.in(0);
  const auto logits = load_f64(x);
  const int64_t classes = x.dim(1);
  if (classes == 0) return bad_data("Multinomial: there are no classes");
  Generator random = generator(attrs.seeded, attrs.seed);
  std::vector<int64_t> drawn;
  drawn.reserve(static_cast<size_t>(x.dim(0) * attrs.samples));
  std::vector<double> sums(static_cast<size_t>(classes));
  for (int64_t b = 0; b < x.dim(0); ++b) {
    const auto row = logits.begin() + b * classes;
    const double top = *std::max_element(row, row + classes);
    double sum = 0;
    for (int64_t i = 0; i < classes; ++i) sums[static_cast<size_t>(i)] = sum += std::exp(row[i] - top);
    for (int64_t s = 0; s < attrs.samples; ++s) {
      const auto found = std::upper_bound(sums.begin(), sums.end(), unit(random) * sum);
      drawn.push_back(std::min<int64_t>(found - sums.begin(), classes - 1));
    }
  }
  ctx.outputs[0] = store_i64(attrs.to, {x.dim(0), attrs.samples}, drawn);
  return {};
}

}  // namespace

const Operator kRandom = {
    .name = "Random",
    .make_attrs = [] { return Attrs(RandomAttrs{}); },
    .infer = infer_random,
    .evaluate = evaluate_random,
    .is_deterministic = false,
};
const Operator kBernoulli = {
    .name = "Bernoulli",
    .make_attrs = [] { return Attrs(BernoulliAttrs{}); },
    .infer = infer_bernoulli,
    .evaluate = evaluate_bernoulli,
    .is_deterministic = false,
};
const Operator kMultinomial = {
    .name = "Multinomial",
    .make_attrs = [] { return Attrs(MultinomialAttrs{}); },
    .infer = infer_multinomial,
    .evaluate = evaluate_multinomial,
    .is_deterministic = false,
};

std::span<const Operator* const> random_operators() {
  static constexpr std::array kOperators = {&kRandom, &kBernoulli, &kMultinomial};
  return kOperators;
}

}  // namespace strop::ops
