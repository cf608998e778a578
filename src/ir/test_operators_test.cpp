#include "ir/test_operators.h"

#include <array>

namespace strop::ir {

namespace {

using ops::EvalContext;
using ops::InferContext;
using ops::Operator;

Result<void> infer_plus(InferContext& ctx) {
  STROP_ASSIGN(const TensorType a, ctx.tensor(0));
  STROP_ASSIGN(const TensorType b, ctx.tensor(1));
  if (a.dtype != b.dtype) {
    return error(ErrorCode::InvalidModel, "(C1) operands are {} and {}", to_string(a.dtype), to_string(b.dtype));
  }
  ctx.outputs[0] = a;
  return {};
}

Result<void> evaluate_plus(EvalContext& ctx) {
  auto a = load_f64(ctx.in(0));
  const auto b = load_f64(ctx.in(1));
  if (a.size() != b.size()) return error(ErrorCode::InvalidArgument, "{} elements and {}", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  ctx.outputs[0] = store_f64(DType::F32, ctx.in(0).dims(), a);
  return {};
}

Result<void> infer_minus(InferContext& ctx) {
  STROP_ASSIGN(const TensorType a, ctx.tensor(0));
  ctx.outputs[0] = a;
  return {};
}

Result<void> evaluate_minus(EvalContext& ctx) {
  ++minus_calls();
  auto a = load_f64(ctx.in(0));
  for (double& value : a) value = -value;
  ctx.outputs[0] = store_f64(DType::F32, ctx.in(0).dims(), a);
  return {};
}

Result<void> infer_fill(InferContext& ctx) {
  if (ctx.is_late("dims")) {
    ctx.outputs[0] = Type::unranked(DType::F32);
  } else {
    ctx.outputs[0] = Type(DType::F32, ctx.attrs.as<FillAttrs>().dims);
  }
  return {};
}

Result<void> evaluate_fill(EvalContext& ctx) {
  const auto dims = *as_constants(ctx.attrs.as<FillAttrs>().dims);
  const std::vector<double> ones(static_cast<size_t>(element_count(dims)), ctx.attrs.as<FillAttrs>().value);
  ctx.outputs[0] = store_f64(DType::F32, dims, ones);
  return {};
}

Result<void> infer_positive(InferContext& ctx) {
  ctx.outputs[0] = Type(DType::F32, {ctx.unbacked()});
  return {};
}

Result<void> evaluate_positive(EvalContext& ctx) {
  std::vector<double> kept;
  for (const double value : load_f64(ctx.in(0))) {
    if (value > 0) kept.push_back(value);
  }
  ctx.outputs[0] = store_f64(DType::F32, {static_cast<int64_t>(kept.size())}, kept);
  return {};
}

Result<void> infer_branch(InferContext& ctx) {
  const std::vector<Type> captures(ctx.inputs.begin() + 1, ctx.inputs.end());
  STROP_ASSIGN(const auto yes, (*ctx.regions)(0, captures));
  STROP_ASSIGN(const auto no, (*ctx.regions)(1, captures));
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    ctx.outputs[i] = yes[i] == no[i] ? yes[i] : Type::unranked(yes[i].tensor.dtype);
  }
  return {};
}

Result<void> evaluate_branch(EvalContext& ctx) {
  const bool flag = load_i64(ctx.in(0))[0] != 0;
  STROP_ASSIGN(ctx.outputs, (*ctx.regions)(flag ? 0 : 1, {ctx.inputs.begin() + 1, ctx.inputs.end()}));
  return {};
}

Result<void> infer_repeat(InferContext& ctx) {
  std::vector<Type> parameters(ctx.inputs.begin() + 1, ctx.inputs.end());
  STROP_ASSIGN(auto results, (*ctx.regions)(0, parameters));
  if (!(results[0] == parameters[0])) {  // the carried value's shape changes: nothing is known of it
    parameters[0] = Type::unranked(parameters[0].tensor.dtype);
    STROP_ASSIGN(results, (*ctx.regions)(0, parameters));
  }
  ctx.outputs[0] = parameters[0];
  return {};
}

Result<void> evaluate_repeat(EvalContext& ctx) {
  std::vector<Value> parameters(ctx.inputs.begin() + 1, ctx.inputs.end());
  for (int64_t i = load_i64(ctx.in(0))[0]; i > 0; --i) {
    STROP_ASSIGN(auto results, (*ctx.regions)(0, parameters));
    parameters[0] = results[0];
  }
  ctx.outputs[0] = parameters[0];
  return {};
}

ops::Attrs no_attrs() { return {}; }
ops::Attrs fill_attrs() { return FillAttrs(); }

const std::array<Operator, 6> kOperators = {{
    {.name = "Plus", .infer = infer_plus, .evaluate = evaluate_plus},
    {.name = "Minus", .infer = infer_minus, .evaluate = evaluate_minus},
    {.name = "Fill", .make_attrs = fill_attrs, .infer = infer_fill, .evaluate = evaluate_fill},
    {.name = "Positive", .infer = infer_positive, .evaluate = evaluate_positive},
    {.name = "Branch", .make_attrs = no_attrs, .infer = infer_branch, .evaluate = evaluate_branch, .has_regions = true},
    {.name = "Repeat", .make_attrs = no_attrs, .infer = infer_repeat, .evaluate = evaluate_repeat, .has_regions = true},
}};

}  // namespace

const ops::Catalogue& test_operators() {
  static const ops::Catalogue catalogue = [] {
    ops::Catalogue all;
    for (const Operator& op : kOperators) all.add(op);
    return all;
  }();
  return catalogue;
}

int64_t& minus_calls() {
  thread_local int64_t calls = 0;
  return calls;
}

}  // namespace strop::ir
