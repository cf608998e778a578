#include <algorithm>
#include <array>

#include "ops/control/control.h"
#include "ops/families.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

std::vector<Type> types_from(std::span<const Type> inputs, size_t begin) {
  return begin < inputs.size() ? std::vector<Type>(inputs.begin() + static_cast<std::ptrdiff_t>(begin), inputs.end())
                               : std::vector<Type>();
}

/// An operand that must be one value of a dtype, if it is there.
Result<void> check_single(const InferContext& ctx, size_t index, DType dtype, std::string_view what) {
  if (!ctx.has_input(index)) return {};
  STROP_ASSIGN(const TensorType type, ctx.tensor(index));
  if (type.dtype != dtype) return violates("(C1) the {} must be {}, not {}", what, to_string(dtype), to_string(type));
  if (!type.has_rank()) return {};
  const auto count = type.count().as_constant();
  if (count && *count != 1) return violates("(C1) the {} must be one value, not {}", what, to_string(type));
  return {};
}

// -- If --

Result<void> infer_if(InferContext& ctx) {
  if (!ctx.has_input(0)) return violates("(C1) the condition is missing");
  STROP_TRY(check_single(ctx, 0, DType::Bool, "condition"));
  const std::vector<Type> captures = types_from(ctx.inputs, 1);
  STROP_ASSIGN(const std::vector<Type> on_true, (*ctx.regions)(0, captures));
  STROP_ASSIGN(const std::vector<Type> on_false, (*ctx.regions)(1, captures));
  if (on_true.size() != on_false.size() || on_true.size() < ctx.outputs.size()) {
    return violates("(C2) the branches return {} and {} values where {} are wanted", on_true.size(), on_false.size(),
                    ctx.outputs.size());
  }
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    const auto fresh = [&] { return ctx.unbacked(); };
    auto common = common_type(on_true[i], on_false[i], fresh);
    if (!common.ok())
      return error(common.error().code, "(C3) result {} of the branches: {}", i, common.error().message);
    ctx.outputs[i] = seen_outside(*common, ctx);
  }
  return {};
}

Result<bool> single_bool(const Value& value, std::string_view what) {
  if (value.is_tensor() && value.tensor().dtype() == DType::Bool && value.tensor().count() == 1) {
    return value.tensor().data<uint8_t>()[0] != 0;
  }
  return bad_data("the {} must be one bool, not {}", what, to_string(value.type()));
}

Result<void> evaluate_if(EvalContext& ctx) {
  STROP_ASSIGN(const bool condition, single_bool(ctx.inputs[0], "condition"));
  std::vector<Value> captures(ctx.inputs.begin() + 1, ctx.inputs.end());
  STROP_ASSIGN(auto results, (*ctx.regions)(condition ? 0 : 1, std::move(captures)));
  results.resize(ctx.outputs.size());
  ctx.outputs = std::move(results);
  return {};
}

// -- Loop --

std::vector<Type> body_parameters(const std::vector<Type>& carried, const std::vector<Type>& captures) {
  std::vector<Type> parameters = {Type(DType::I64, {}), Type(DType::Bool, {})};
  parameters.insert(parameters.end(), carried.begin(), carried.end());
  parameters.insert(parameters.end(), captures.begin(), captures.end());
  return parameters;
}

/// The number of iterations where it can be told beforehand.
std::optional<Dim> trip_count(const InferContext& ctx, bool counted) {
  if (!counted || ctx.known_inputs.empty() || !ctx.known_inputs[0] || ctx.known_inputs[0]->size() != 1)
    return std::nullopt;
  const Dim& count = (*ctx.known_inputs[0])[0];
  return count.is_constant() ? Dim(std::max<int64_t>(count.constant(), 0)) : max(count, 0);
}

Result<void> infer_loop(InferContext& ctx) {
  const LoopAttrs& attrs = ctx.attrs.as<LoopAttrs>();
  const auto carried_count = static_cast<size_t>(attrs.carried);
  if (ctx.inputs.size() < 2 || carried_count > ctx.inputs.size() - 2)
    return violates("(C1) {} operands for {} carried values", ctx.inputs.size(), carried_count);
  STROP_TRY(check_single(ctx, 0, DType::I64, "trip count"));
  STROP_TRY(check_single(ctx, 1, DType::Bool, "condition"));
  const std::vector<Type> captures = types_from(ctx.inputs, 2 + carried_count);
  const auto fresh = [&] { return ctx.unbacked(); };
  CarriedTypes carried(std::vector<Type>(ctx.inputs.begin() + 2, ctx.inputs.begin() + 2 + attrs.carried), fresh);
  std::vector<Type> results;
  for (bool changed = true; changed;) {
    STROP_ASSIGN(results, (*ctx.regions)(0, body_parameters(carried.types(), captures)));
    if (results.size() < 1 + carried_count || results.size() - 1 < ctx.outputs.size()) {
      return violates("(C2) the body returns {} values; with {} carried and {} results it must be at least {}",
                      results.size(), carried_count, ctx.outputs.size(),
                      std::max(carried_count, ctx.outputs.size()) + 1);
    }
    if (results.size() - 1 - carried_count != attrs.collected_types.size())
      return violates("(C2) the body returns {} values besides the condition; {} are carried and {} collected",
                      results.size() - 1, carried_count, attrs.collected_types.size());
    STROP_ASSIGN(changed, carried.widen(std::span(results).subspan(1, carried_count)));
  }
  const std::optional<Dim> trips = trip_count(ctx, attrs.counted);
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    if (i < carried_count) {
      ctx.outputs[i] = seen_outside(carried.types()[i], ctx);
      continue;
    }
    auto stacked = with_axis(seen_outside(results[i + 1], ctx), 0, trips ? *trips : ctx.unbacked());
    if (!stacked.ok()) return error(stacked.error().code, "(C4) {}", stacked.error().message);
    ctx.outputs[i] = std::move(stacked).value();
  }
  return {};
}

Result<void> evaluate_loop(EvalContext& ctx) {
  const LoopAttrs& attrs = ctx.attrs.as<LoopAttrs>();
  const auto carried_count = static_cast<size_t>(attrs.carried);
  int64_t trips = INT64_MAX;
  if (ctx.has_input(0)) {
    if (ctx.in(0).count() != 1) return bad_data("the trip count must be one value");
    trips = load_i64(ctx.in(0))[0];
  }
  bool condition = true;
  if (ctx.has_input(1) && !attrs.counted) {
    STROP_ASSIGN(condition, single_bool(ctx.inputs[1], "condition"));
  }
  std::vector<Value> carried(ctx.inputs.begin() + 2, ctx.inputs.begin() + 2 + attrs.carried);
  const std::vector<Value> captures(ctx.inputs.begin() + 2 + attrs.carried, ctx.inputs.end());
  std::vector<std::vector<Tensor>> collected(attrs.collected_types.size());
  for (int64_t trip = 0; trip < trips && condition; ++trip) {
    std::vector<Value> parameters = {Tensor::of_i64({trip}).reshaped({}), Tensor::scalar(DType::Bool, 1)};
    parameters.insert(parameters.end(), std::make_move_iterator(carried.begin()),
                      std::make_move_iterator(carried.end()));
    parameters.insert(parameters.end(), captures.begin(), captures.end());
    STROP_ASSIGN(auto results, (*ctx.regions)(0, std::move(parameters)));
    STROP_CHECK(results.size() == 1 + carried_count + collected.size(), "the body gave {} values", results.size());
    if (!attrs.counted) {
      STROP_ASSIGN(condition, single_bool(results[0], "condition that the body returns"));
    }
    carried.assign(results.begin() + 1, results.begin() + 1 + attrs.carried);
    for (size_t i = 0; i < collected.size(); ++i) collected[i].push_back(results[1 + carried_count + i].tensor());
  }
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    if (i < carried_count) {
      ctx.outputs[i] = std::move(carried[i]);
      continue;
    }
    const auto& items = collected[i - carried_count];
    STROP_TRY(ctx.check_memory(total_bytes(items)));
    STROP_ASSIGN(ctx.outputs[i],
                 items.empty() ? stack_nothing(attrs.collected_types[i - carried_count], 0) : stack(items, 0));
  }
  return {};
}

Result<void> infer_fail(InferContext& ctx) {
  const auto& types = ctx.attrs.as<FailAttrs>().types;
  for (size_t i = 0; i < ctx.outputs.size() && i < types.size(); ++i) {
    STROP_ASSIGN(ctx.outputs[i], parse_type(types[i]));
  }
  return {};
}

Result<void> evaluate_fail(EvalContext& ctx) {
  return error(ErrorCode::InvalidModel, "{}", ctx.attrs.as<FailAttrs>().message);
}

}  // namespace

const Operator kFail = {.name = "Fail",
                        .make_attrs = [] { return Attrs(FailAttrs{}); },
                        .infer = infer_fail,
                        .evaluate = evaluate_fail,
                        .is_deterministic = false};

const Operator kIf = {.name = "If", .infer = infer_if, .evaluate = evaluate_if, .has_regions = true};

const Operator kLoop = {.name = "Loop",
                        .make_attrs = [] { return Attrs(LoopAttrs{}); },
                        .infer = infer_loop,
                        .evaluate = evaluate_loop,
                        .has_regions = true};

std::span<const Operator* const> control_operators() {
  static constexpr std::array<const Operator*, 4> kOperators = {&kIf, &kLoop, &kScan, &kFail};
  return kOperators;
}

}  // namespace strop::ops
