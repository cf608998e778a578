#include <array>

#include "ir/small_value.h"
#include "onnx/importer.h"
#include "ops/control/control.h"
#include "ops/families.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

/// Types of a region's results.
std::vector<Type> result_types(const ir::Graph& region) {
  std::vector<Type> types;
  for (const ir::Port& port : region.outputs) types.push_back(region.value(port.value).type);
  return types;
}

bool is_constant_true(const ir::Graph& graph, ValueId id) {
  const Tensor* tensor = graph.constant_tensor(id);
  return tensor != nullptr && tensor->dtype() == DType::Bool && tensor->count() == 1 && tensor->data<uint8_t>()[0] != 0;
}

std::vector<ValueId> operands(const NodeContext& ctx) {
  std::vector<ValueId> result;
  for (size_t i = 0; i < ctx.input_count(); ++i) result.push_back(ctx.input(i));
  return result;
}

/// Emits the node for all results of its regions; the unnamed ones among them stay unused.
Result<void> emit_control(NodeContext& ctx, const Operator& op, Attrs attrs, std::vector<ValueId> inputs,
                          NodeContext::Regions regions) {
  inputs.insert(inputs.end(), regions.captures.begin(), regions.captures.end());
  STROP_ASSIGN(const auto outputs, ctx.emit_many(op, std::move(attrs), std::move(inputs), ctx.output_count(),
                                                 {{}, std::move(regions.graphs)}));
  return ctx.set_outputs(outputs);
}

/// Exporters write both ways out where fixed sizes allow only one: the other then contradicts itself. It becomes a
/// branch that fails if it is ever taken, with the import's message. Both branches being impossible is the model's
/// error.
Result<NodeContext::Regions> with_impossible_branch(NodeContext& ctx, const Error& cause) {
  const bool complete = ctx.has_attr("then_branch") && ctx.has_attr("else_branch");
  if (cause.code != ErrorCode::InvalidModel || !complete) return cause;
  for (const bool first : {true, false}) {
    auto regions = ctx.attr_graphs({{first ? "then_branch" : "else_branch", {}}});
    if (!regions.ok()) continue;
    const ir::Graph& possible = *regions->graphs[0];
    FailAttrs attrs{cause.message, {}};
    for (const ir::Port& output : possible.outputs) attrs.types.push_back(to_string(possible.value(output.value).type));
    auto fails = std::make_shared<ir::Graph>();
    for (const ir::Port& input : possible.inputs) fails->add_input(input.name, possible.value(input.value).type);
    STROP_ASSIGN(const ir::NodeId node, fails->add_node({.op = &kFail,
                                                         .attrs = std::move(attrs),
                                                         .output_count = possible.outputs.size(),
                                                         .sources = {std::string(ctx.node_name())}}));
    for (size_t i = 0; i < possible.outputs.size(); ++i)
      fails->outputs.push_back({possible.outputs[i].name, fails->node(node).outputs[i]});
    regions->graphs.insert(first ? regions->graphs.end() : regions->graphs.begin(), std::move(fails));
    return regions;
  }
  return cause;
}

Result<void> import_if(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType condition, ctx.tensor(0));
  const std::optional<Tensor> known = ir::small_value(ctx.graph(), ctx.input(0));
  if (known && known->dtype() == DType::Bool && known->count() == 1) {
    // Only one branch can ever run: it takes the node's place.
    STROP_ASSIGN(const auto results, ctx.inline_graph(known->data<uint8_t>()[0] != 0 ? "then_branch" : "else_branch"));
    if (results.size() < ctx.output_count())
      return ctx.invalid("the branch returns {} values where {} are wanted", results.size(), ctx.output_count());
    return ctx.set_outputs(results);
  }
  auto regions = ctx.attr_graphs({{"then_branch", {}}, {"else_branch", {}}});
  if (!regions.ok()) {
    STROP_ASSIGN(regions, with_impossible_branch(ctx, regions.error()));
  }
  return emit_control(ctx, kIf, NoAttrs{}, {ctx.input(0)}, std::move(*regions));
}

/// The body, built for types of carried values that hold in every iteration.
struct Body {
  NodeContext::Regions regions;
  std::vector<Type> results;
};

struct BodyRequest {
  std::vector<Type> before;    ///< parameters before the carried values
  std::vector<Type> carried;   ///< as they are at the start
  std::vector<Type> after;     ///< parameters after the carried values
  size_t skipped_results = 0;  ///< results before the carried values
};

Result<Body> import_body(NodeContext& ctx, const BodyRequest& request) {
  const Attrs none;
  InferContext names(none, {}, 0, ctx.graph().next_node_prefix());
  const auto fresh = [&] { return names.unbacked(); };
  CarriedTypes carried(request.carried, fresh);
  Body body;
  for (bool changed = true; changed;) {
    std::vector<Type> parameters = request.before;
    parameters.insert(parameters.end(), carried.types().begin(), carried.types().end());
    parameters.insert(parameters.end(), request.after.begin(), request.after.end());
    STROP_ASSIGN(body.regions, ctx.attr_graphs({{"body", std::move(parameters)}}));
    body.results = result_types(*body.regions.graphs[0]);
    if (body.results.size() < request.skipped_results + request.carried.size()) {
      return ctx.invalid("the body returns {} values, fewer than the {} that it must", body.results.size(),
                         request.skipped_results + request.carried.size());
    }
    auto widened = carried.widen(std::span(body.results).subspan(request.skipped_results, request.carried.size()));
    if (!widened.ok()) return ctx.node_error(widened.error().code, widened.error().message);
    changed = *widened;
  }
  return body;
}

std::vector<std::string> type_texts(std::span<const Type> types) {
  std::vector<std::string> texts;
  for (const Type& type : types) texts.push_back(to_string(type));
  return texts;
}

Result<void> check_tensors(const NodeContext& ctx, std::span<const Type> types) {
  for (const Type& type : types) {
    if (!type.is_tensor()) return ctx.unsupported("the body collects {}; only tensors can be stacked", to_string(type));
  }
  return {};
}

/// The condition never becomes false.
bool is_counted(const NodeContext& ctx, const ir::Graph& body) {
  const bool starts_true = !ctx.has_input(1) || is_constant_true(ctx.graph(), ctx.input(1));
  const ValueId stays = body.outputs[0].value;
  return ctx.has_input(0) && starts_true && (stays == body.inputs[1].value || is_constant_true(body, stays));
}

Result<void> import_loop(NodeContext& ctx) {
  BodyRequest request;
  request.before = {Type(DType::I64, {}), Type(DType::Bool, {})};
  request.skipped_results = 1;
  for (size_t i = 2; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) return ctx.invalid("operand {} is missing", i);
    request.carried.push_back(ctx.type(i));
  }
  STROP_ASSIGN(Body body, import_body(ctx, request));
  LoopAttrs attrs;
  attrs.carried = static_cast<int64_t>(request.carried.size());
  const auto collected = std::span<const Type>(body.results).subspan(1 + request.carried.size());
  STROP_TRY(check_tensors(ctx, collected));
  attrs.collected_types = type_texts(collected);
  attrs.counted = is_counted(ctx, *body.regions.graphs[0]);
  std::vector<ValueId> inputs = operands(ctx);
  inputs.resize(2 + request.carried.size(), ir::kNone);
  return emit_control(ctx, kLoop, attrs, std::move(inputs), std::move(body.regions));
}

Result<void> import_scan_with(NodeContext& ctx, ScanAttrs attrs) {
  STROP_ASSIGN(attrs.scanned, ctx.attr_int("num_scan_inputs"));
  const size_t first = attrs.batched ? 1 : 0;
  const auto given = static_cast<int64_t>(ctx.input_count()) - static_cast<int64_t>(first);
  if (attrs.scanned < 1 || attrs.scanned > given)
    return ctx.invalid("scans {} values, but has {} operands", attrs.scanned, given);
  attrs.states = given - attrs.scanned;
  BodyRequest request;
  for (int64_t i = 0; i < given; ++i) {
    STROP_ASSIGN(TensorType tensor, ctx.tensor(first + static_cast<size_t>(i)));
    Type type = std::move(tensor);
    const bool is_state = i < attrs.states;
    const int64_t needed_rank = (attrs.batched ? 1 : 0) + (is_state ? 0 : 1);
    if (type.tensor.has_rank() && type.tensor.rank() < needed_rank)
      return ctx.invalid("operand {} is {}; its rank must be at least {}", first + static_cast<size_t>(i),
                         to_string(type), needed_rank);
    if (attrs.batched) type = without_axis(type, 0);
    if (is_state) {
      request.carried.push_back(type);
      continue;
    }
    const auto scan_index = static_cast<size_t>(i - attrs.states);
    int64_t axis = scan_index < attrs.input_axes.size() ? attrs.input_axes[scan_index] : 0;
    if (type.tensor.has_rank()) {
      auto normal = normalize_axis(axis, type.tensor.rank(), "scan_input_axes");
      if (!normal.ok()) return ctx.node_error(normal.error().code, normal.error().message);
      axis = *normal;
    }
    request.after.push_back(without_axis(type, axis));
  }
  STROP_ASSIGN(Body body, import_body(ctx, request));
  const auto collected = std::span<const Type>(body.results).subspan(request.carried.size());
  STROP_TRY(check_tensors(ctx, collected));
  attrs.collected_types = type_texts(collected);
  return emit_control(ctx, kScan, attrs, operands(ctx), std::move(body.regions));
}

Result<void> import_scan(NodeContext& ctx) {
  ScanAttrs attrs;
  STROP_ASSIGN(attrs.input_axes, ctx.attr_ints("scan_input_axes", std::vector<int64_t>()));
  STROP_ASSIGN(attrs.input_backward, ctx.attr_ints("scan_input_directions", std::vector<int64_t>()));
  STROP_ASSIGN(attrs.output_axes, ctx.attr_ints("scan_output_axes", std::vector<int64_t>()));
  STROP_ASSIGN(attrs.output_backward, ctx.attr_ints("scan_output_directions", std::vector<int64_t>()));
  return import_scan_with(ctx, std::move(attrs));
}

Result<void> import_scan_8(NodeContext& ctx) {
  ScanAttrs attrs;
  attrs.batched = true;
  STROP_ASSIGN(attrs.input_backward, ctx.attr_ints("directions", std::vector<int64_t>()));
  return import_scan_with(ctx, std::move(attrs));
}

}  // namespace

std::span<const onnx::Importer> control_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"If", import_if},
      onnx::Importer{"Loop", import_loop},
      onnx::Importer{"Scan", import_scan_8, 8, 8},
      onnx::Importer{"Scan", import_scan, 9},
  };
  return kImporters;
}

}  // namespace strop::ops
