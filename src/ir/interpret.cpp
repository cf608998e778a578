#include <algorithm>
#include <unordered_map>

#include "ir/bind.h"
#include "ir/graph.h"

namespace strop::ir {

namespace {

/// What can be decided about a graph before it runs; made once, because the body of a loop runs often.
struct Schedule {
  struct Step {
    NodeId node = kNone;
    std::vector<ValueId> last_uses;  ///< values that nobody needs afterwards
    bool symbolic_attrs = false;
    bool symbolic_outputs = false;
  };
  std::vector<Step> steps;
};

bool is_symbolic(const Type& type) { return type.is_tensor() && type.tensor.has_rank() && !type.tensor.is_static(); }

Schedule make_schedule(const Graph& graph) {
  Schedule schedule;
  std::vector<int64_t> last_step(graph.value_count(), -1);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const auto step = static_cast<int64_t>(schedule.steps.size());
    for (const ValueId output : node.outputs) last_step[static_cast<size_t>(output)] = step;
    for (const ValueId input : node.inputs) {
      if (input != kNone) last_step[static_cast<size_t>(input)] = step;
    }
    const bool symbolic_outputs = std::any_of(node.outputs.begin(), node.outputs.end(),
                                              [&](ValueId output) { return is_symbolic(graph.value(output).type); });
    schedule.steps.push_back({id, {}, !node.attrs.symbols().empty(), symbolic_outputs});
  }
  for (const Port& port : graph.outputs) last_step[static_cast<size_t>(port.value)] = -1;
  for (size_t i = 0; i < last_step.size(); ++i) {
    if (last_step[i] >= 0)
      schedule.steps[static_cast<size_t>(last_step[i])].last_uses.push_back(static_cast<ValueId>(i));
  }
  return schedule;
}

class Interpreter {
 public:
  Interpreter(Threads& threads, const InterpretOptions& options) : threads_(threads), options_(options) {}

  Result<std::vector<Value>> run(const Graph& graph, std::vector<Value> inputs, SymbolValues symbols) {
    std::vector<Value> values(graph.value_count());
    for (size_t i = 0; i < inputs.size(); ++i)
      values[static_cast<size_t>(graph.inputs[i].value)] = std::move(inputs[i]);
    inputs.clear();
    for (const Schedule::Step& step : schedule_of(graph).steps) {
      STROP_TRY(run_step(graph, step, values, symbols));
      for (const ValueId id : step.last_uses) values[static_cast<size_t>(id)] = Value();
    }
    std::vector<Value> results;
    for (const Port& port : graph.outputs) results.push_back(read(graph, port.value, values));
    return results;
  }

 private:
  const Schedule& schedule_of(const Graph& graph) {
    const auto found = schedules_.find(&graph);
    if (found != schedules_.end()) return found->second;
    return schedules_.emplace(&graph, make_schedule(graph)).first->second;
  }

  static Value read(const Graph& graph, ValueId id, const std::vector<Value>& values) {
    if (id == kNone) return {};
    const Tensor* constant = graph.constant_tensor(id);
    return constant ? Value(*constant) : values[static_cast<size_t>(id)];
  }

  Result<void> run_step(const Graph& graph, const Schedule::Step& step, std::vector<Value>& values,
                        SymbolValues& symbols) {
    const Node& node = graph.node(step.node);
    std::vector<Value> operands;
    operands.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) operands.push_back(read(graph, id, values));

    const auto call_region = [&](size_t region, std::vector<Value> parameters) {
      return run_region(*node.regions[region], std::move(parameters), symbols);
    };
    const ops::EvalContext::RegionCall regions(call_region);
    const ops::Attrs bound = step.symbolic_attrs ? bind_attrs(node.attrs, symbols) : node.attrs;
    auto results = ops::evaluate({*node.op, bound, node.late, operands, node.outputs.size(), threads_,
                                  node.regions.empty() ? nullptr : &regions, options_.memory});
    if (!results.ok()) return in_context(results.error(), describe(graph, step.node));
    if (options_.observe) (*options_.observe)(graph, step.node, *results);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Type& declared = graph.value(node.outputs[i]).type;
      Value& result = (*results)[i];
      STROP_TRY(check_result(graph, step.node, i, result));
      if (step.symbolic_outputs && declared.is_tensor()) symbols.bind(declared.tensor, result.tensor().dims());
      values[static_cast<size_t>(node.outputs[i])] = std::move(result);
    }
    return {};
  }

  Result<std::vector<Value>> run_region(const Graph& region, std::vector<Value> parameters, const SymbolValues& outer) {
    STROP_CHECK(parameters.size() == region.inputs.size(), "{} parameters for a region with {}", parameters.size(),
                region.inputs.size());
    SymbolValues symbols(&outer);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Type& declared = region.value(region.inputs[i].value).type;
      if (declared.is_tensor() && parameters[i].is_tensor())
        symbols.bind(declared.tensor, parameters[i].tensor().dims());
    }
    return run(region, std::move(parameters), std::move(symbols));
  }

  static ops::Attrs bind_attrs(const ops::Attrs& attrs, const SymbolValues& symbols) {
    const auto lookup = [&](const std::string& symbol) { return symbols.find(symbol); };
    const auto bind = [&](const Dim& dim) {
      const auto value = dim.evaluate(lookup);
      return value ? Dim(*value) : dim;
    };
    return attrs.map_dims(bind);
  }

  /// The result has the type that the graph declares, as far as it says something definite.
  static Result<void> check_result(const Graph& graph, NodeId id, size_t index, const Value& result) {
    const Type& declared = graph.value(graph.node(id).outputs[index]).type;
    if (!declared.is_tensor()) return {};
    bool right = result.is_tensor() && result.tensor().dtype() == declared.tensor.dtype;
    if (right && declared.tensor.has_rank()) {
      right = result.tensor().rank() == declared.tensor.rank();
      for (int64_t axis = 0; right && axis < declared.tensor.rank(); ++axis) {
        const auto expected = declared.tensor.dim(axis).as_constant();
        right = !expected || *expected == result.tensor().dim(axis);
      }
    }
    if (right) return {};
    return error(ErrorCode::InvalidModel, "{}: result {} is {}, but the graph says {}", describe(graph, id), index,
                 to_string(result.type()), to_string(declared));
  }

  Threads& threads_;
  const InterpretOptions& options_;
  std::unordered_map<const Graph*, Schedule> schedules_;  // references stay valid while it grows
};

}  // namespace

Result<std::vector<Value>> interpret(const Graph& graph, std::vector<Value> inputs, Threads& threads,
                                     const InterpretOptions& options) {
  STROP_ASSIGN(SymbolValues symbols, bind_inputs(graph, inputs));
  return Interpreter(threads, options).run(graph, std::move(inputs), std::move(symbols));
}

}  // namespace strop::ir
