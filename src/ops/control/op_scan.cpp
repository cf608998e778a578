#include <algorithm>

#include "ops/control/control.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

/// Where each kind of operand begins.
struct Operands {
  size_t states = 0;
  size_t scanned = 0;
  size_t captures = 0;

  explicit Operands(const ScanAttrs& attrs)
      : states(attrs.batched ? 1 : 0),
        scanned(states + static_cast<size_t>(attrs.states)),
        captures(scanned + static_cast<size_t>(attrs.scanned)) {}
};

int64_t entry(const std::vector<int64_t>& list, size_t index) { return index < list.size() ? list[index] : 0; }

/// The type inside one batch entry.
Type unbatched(const Type& type, bool batched) { return batched && type.is_tensor() ? without_axis(type, 0) : type; }

/// Types of the slices, and the length of the sequence.
struct Slices {
  std::vector<Type> types;
  std::optional<Dim> length;
};

Result<Slices> slice_types(const InferContext& ctx, const ScanAttrs& attrs, const Operands& at) {
  Slices result;
  for (size_t i = at.scanned; i < at.captures; ++i) {
    STROP_ASSIGN(const TensorType whole, ctx.tensor(i));
    if (attrs.batched && whole.has_rank() && whole.rank() < 2)
      return violates("(C2) scanned value {} has rank {}", i - at.scanned, whole.rank());
    const Type type = unbatched(whole, attrs.batched);
    if (!type.tensor.has_rank()) {
      result.types.push_back(type);
      continue;
    }
    STROP_ASSIGN(const int64_t axis,
                 normalize_axis(entry(attrs.input_axes, i - at.scanned), type.tensor.rank(), "(C2) input axis"));
    const Dim& dim = type.tensor.dim(axis);
    if (result.length && result.length->is_constant() && dim.is_constant() && !(*result.length == dim)) {
      return violates("(C2) scanned values of lengths {} and {}", result.length->constant(), dim.constant());
    }
    if (!result.length || dim.is_constant()) result.length = dim;
    result.types.push_back(without_axis(type, axis));
  }
  return result;
}

/// Adds the batch axis in front again.
Result<Type> batched_again(const Type& type, const std::optional<Dim>& batch) {
  return batch ? with_axis(type, 0, *batch) : Result<Type>(type);
}

Result<void> infer_scan(InferContext& ctx) {
  const ScanAttrs& attrs = ctx.attrs.as<ScanAttrs>();
  const Operands at(attrs);
  const auto operands = static_cast<int64_t>(ctx.inputs.size());
  const bool counts = attrs.states >= 0 && attrs.states <= operands && attrs.scanned >= 1 && attrs.scanned <= operands;
  if (!counts || ctx.inputs.size() < at.captures) return violates("(C1) {} operands", ctx.inputs.size());
  const auto fresh = [&] { return ctx.unbacked(); };
  std::vector<Type> states;
  for (size_t i = at.states; i < at.scanned; ++i) {
    STROP_ASSIGN(const TensorType state, ctx.tensor(i));
    if (attrs.batched && state.has_rank() && state.rank() < 1)
      return violates("(C1) state {} has no batch axis", i - at.states);
    states.push_back(unbatched(state, attrs.batched));
  }
  CarriedTypes carried(states, fresh);
  STROP_ASSIGN(const Slices slices, slice_types(ctx, attrs, at));
  std::vector<Type> results;
  for (bool changed = true; changed;) {
    std::vector<Type> parameters = carried.types();
    parameters.insert(parameters.end(), slices.types.begin(), slices.types.end());
    parameters.insert(parameters.end(), ctx.inputs.begin() + static_cast<std::ptrdiff_t>(at.captures),
                      ctx.inputs.end());
    STROP_ASSIGN(results, (*ctx.regions)(0, parameters));
    if (results.size() < states.size() || results.size() < ctx.outputs.size()) {
      return violates("(C3) the body returns {} values where {} are wanted", results.size(),
                      std::max(states.size(), ctx.outputs.size()));
    }
    if (results.size() - states.size() != attrs.collected_types.size())
      return violates("(C3) the body returns {} values; {} are states and {} collected", results.size(), states.size(),
                      attrs.collected_types.size());
    STROP_ASSIGN(changed, carried.widen(std::span(results).first(states.size())));
  }
  std::optional<Dim> batch;
  if (attrs.batched) {
    const Type& first = ctx.inputs[at.scanned];
    batch = first.tensor.has_rank() ? first.tensor.dim(0) : ctx.unbacked();
  }
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    const bool is_state = i < states.size();
    Type type = seen_outside(is_state ? carried.types()[i] : results[i], ctx);
    if (!is_state) {
      STROP_ASSIGN(type, with_axis(type, entry(attrs.output_axes, i - states.size()),
                                   slices.length ? *slices.length : ctx.unbacked()));
    }
    STROP_ASSIGN(ctx.outputs[i], batched_again(type, batch));
  }
  return {};
}

/// One scan, the batch aside.
struct Run {
  const ScanAttrs& attrs;
  std::vector<Value> states;
  std::vector<Tensor> scanned;
  std::vector<Value> captures;
  int64_t length = 0;  ///< iterations
};

Result<std::vector<Value>> run_scan(Run run, const EvalContext& ctx) {
  const EvalContext::RegionCall& body = *ctx.regions;
  const ScanAttrs& attrs = run.attrs;
  const size_t state_count = run.states.size();
  std::vector<std::vector<Tensor>> collected(attrs.collected_types.size());
  for (int64_t step = 0; step < run.length; ++step) {
    std::vector<Value> parameters = std::move(run.states);
    for (size_t i = 0; i < run.scanned.size(); ++i) {
      const bool backward = entry(attrs.input_backward, i) != 0;
      parameters.emplace_back(
          take(run.scanned[i], entry(attrs.input_axes, i), backward ? run.length - 1 - step : step));
    }
    parameters.insert(parameters.end(), run.captures.begin(), run.captures.end());
    STROP_ASSIGN(auto results, body(0, std::move(parameters)));
    STROP_CHECK(results.size() == state_count + collected.size(), "the body gave {} values", results.size());
    run.states.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(state_count));
    for (size_t i = 0; i < collected.size(); ++i) collected[i].push_back(results[state_count + i].tensor());
  }
  std::vector<Value> outputs = std::move(run.states);
  for (size_t i = 0; i < collected.size(); ++i) {
    if (entry(attrs.output_backward, i) != 0) std::reverse(collected[i].begin(), collected[i].end());
    const int64_t axis = entry(attrs.output_axes, i);
    STROP_TRY(ctx.check_memory(total_bytes(collected[i])));
    STROP_ASSIGN(Tensor all,
                 collected[i].empty() ? stack_nothing(attrs.collected_types[i], axis) : stack(collected[i], axis));
    outputs.emplace_back(std::move(all));
  }
  return outputs;
}

Result<int64_t> common_length(const Run& run) {
  int64_t length = -1;
  for (size_t i = 0; i < run.scanned.size(); ++i) {
    const Tensor& tensor = run.scanned[i];
    STROP_ASSIGN(const int64_t axis, normalize_axis(entry(run.attrs.input_axes, i), tensor.rank(), "input axis"));
    if (length >= 0 && tensor.dim(axis) != length)
      return bad_data("scanned values of lengths {} and {}", length, tensor.dim(axis));
    length = tensor.dim(axis);
  }
  return length;
}

/// What was collected beyond a shorter sequence is zero.
Tensor pad_front_axis(const Tensor& tensor, int64_t length) {
  std::vector<int64_t> dims = tensor.dims();
  if (dims.empty() || dims[0] == length) return tensor;
  dims[0] = length;
  Tensor result(tensor.dtype(), dims);
  copy_elements(result, 0, tensor, 0, tensor.count());
  return result;
}

Result<void> evaluate_batched(EvalContext& ctx, const ScanAttrs& attrs, const Operands& at) {
  const int64_t batch = ctx.in(at.scanned).dim(0);
  std::vector<std::vector<Tensor>> results(ctx.outputs.size());
  for (int64_t b = 0; b < batch; ++b) {
    Run run{attrs, {}, {}, {ctx.inputs.begin() + static_cast<std::ptrdiff_t>(at.captures), ctx.inputs.end()}};
    for (size_t i = at.states; i < at.scanned; ++i) run.states.emplace_back(take(ctx.in(i), 0, b));
    for (size_t i = at.scanned; i < at.captures; ++i) run.scanned.push_back(take(ctx.in(i), 0, b));
    STROP_ASSIGN(const int64_t full, common_length(run));
    run.length = full;
    if (ctx.has_input(0)) {
      if (ctx.in(0).count() != batch)
        return bad_data("{} sequence lengths for a batch of {}", ctx.in(0).count(), batch);
      run.length = load_i64(ctx.in(0))[static_cast<size_t>(b)];
      if (run.length < 0 || run.length > full)
        return bad_data("a sequence length of {} where {} is the most", run.length, full);
    }
    STROP_ASSIGN(const auto outputs, run_scan(std::move(run), ctx));
    for (size_t i = 0; i < results.size(); ++i) {
      const bool is_state = i < static_cast<size_t>(attrs.states);
      results[i].push_back(is_state ? outputs[i].tensor() : pad_front_axis(outputs[i].tensor(), full));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].empty()) return bad_data("an empty batch");
    STROP_ASSIGN(ctx.outputs[i], stack(results[i], 0));
  }
  return {};
}

Result<void> evaluate_scan(EvalContext& ctx) {
  const ScanAttrs& attrs = ctx.attrs.as<ScanAttrs>();
  const Operands at(attrs);
  if (attrs.batched) return evaluate_batched(ctx, attrs, at);
  Run run{attrs, {}, {}, {ctx.inputs.begin() + static_cast<std::ptrdiff_t>(at.captures), ctx.inputs.end()}};
  for (size_t i = at.states; i < at.scanned; ++i) run.states.push_back(ctx.inputs[i]);
  for (size_t i = at.scanned; i < at.captures; ++i) run.scanned.push_back(ctx.in(i));
  STROP_ASSIGN(run.length, common_length(run));
  STROP_ASSIGN(auto outputs, run_scan(std::move(run), ctx));
  outputs.resize(ctx.outputs.size());
  ctx.outputs = std::move(outputs);
  return {};
}

}  // namespace

const Operator kScan = {.name = "Scan",
                        .make_attrs = [] { return Attrs(ScanAttrs{}); },
                        .infer = infer_scan,
                        .evaluate = evaluate_scan,
                        .has_regions = true};

}  // namespace strop::ops
