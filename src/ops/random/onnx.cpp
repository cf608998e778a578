#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/random/random.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

template <class S>
Result<void> import_seed(NodeContext& ctx, S& attrs) {
  attrs.seeded = ctx.has_attr("seed");
  STROP_ASSIGN(attrs.seed, ctx.attr_float("seed", 0.0));
  return {};
}

// The type that a result has where `dtype` is absent: the operand's, or else f32.
Result<DType> result_dtype(NodeContext& ctx, bool like) {
  DType dtype = DType::F32;
  if (like) {
    STROP_ASSIGN(const TensorType type, ctx.tensor(0));
    dtype = type.dtype;
  }
  return ctx.attr_dtype("dtype", dtype);
}

template <Distribution distribution, bool like>
Result<void> import_random(NodeContext& ctx) {
  RandomAttrs attrs;
  attrs.distribution = distribution;
  STROP_ASSIGN(attrs.to, result_dtype(ctx, like));
  constexpr bool kNormal = distribution == Distribution::Normal;
  STROP_ASSIGN(attrs.first, ctx.attr_float(kNormal ? "mean" : "low", 0.0));
  STROP_ASSIGN(attrs.second, ctx.attr_float(kNormal ? "scale" : "high", 1.0));
  STROP_TRY(import_seed(ctx, attrs));
  std::vector<ValueId> operands;
  if (like) {
    operands = {ctx.input(0)};
  } else {
    STROP_ASSIGN(const auto shape, ctx.attr_ints("shape"));
    attrs.shape = to_dims(shape);
    for (const int64_t size : shape) {
      if (size < 0) return ctx.invalid("a dimension of {}", size);
    }
  }
  STROP_ASSIGN(const ValueId result, ctx.emit(kRandom, std::move(attrs), std::move(operands)));
  return ctx.set_output(0, result);
}

Result<void> import_bernoulli(NodeContext& ctx) {
  BernoulliAttrs attrs;
  STROP_ASSIGN(attrs.to, result_dtype(ctx, true));
  STROP_TRY(import_seed(ctx, attrs));
  STROP_ASSIGN(const ValueId result, ctx.emit(kBernoulli, attrs, {ctx.input(0)}));
  return ctx.set_output(0, result);
}

Result<void> import_multinomial(NodeContext& ctx) {
  MultinomialAttrs attrs;
  STROP_ASSIGN(attrs.to, ctx.attr_dtype("dtype", DType::I32));
  STROP_ASSIGN(attrs.samples, ctx.attr_int("sample_size", 1));
  STROP_TRY(import_seed(ctx, attrs));
  STROP_ASSIGN(const ValueId result, ctx.emit(kMultinomial, attrs, {ctx.input(0)}));
  return ctx.set_output(0, result);
}

}  // namespace

std::span<const onnx::Importer> random_importers() {
  static constexpr std::array<onnx::Importer, 6> kImporters = {{
      {"RandomNormal", import_random<Distribution::Normal, false>},
      {"RandomUniform", import_random<Distribution::Uniform, false>},
      {"RandomNormalLike", import_random<Distribution::Normal, true>},
      {"RandomUniformLike", import_random<Distribution::Uniform, true>},
      {"Bernoulli", import_bernoulli, 15},
      {"Multinomial", import_multinomial, 7},
  }};
  return kImporters;
}

}  // namespace strop::ops
