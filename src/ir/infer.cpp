#include "ir/infer.h"

#include <algorithm>

#include "ir/type_order.h"

namespace strop::ir {

std::optional<Dims> known_contents(const Tensor& tensor) {
  const bool integers = tensor.dtype() == DType::I64 || tensor.dtype() == DType::I32;
  if (!integers || tensor.rank() > 1 || tensor.count() > kMaxKnownElements) return std::nullopt;
  return to_dims(load_i64(tensor));
}

namespace {

/// Known contents as the value of a field like `prototype`; nullopt if they cannot be said so.
std::optional<ops::FieldValue> field_of(const Dims& known, const ops::FieldValue& prototype) {
  if (std::holds_alternative<Dims>(prototype)) return known;
  if (std::holds_alternative<Dim>(prototype)) return known.size() == 1 ? std::optional(known[0]) : std::nullopt;
  const auto constants = as_constants(known);
  if (!constants) return std::nullopt;
  if (std::holds_alternative<std::vector<int64_t>>(prototype)) return *constants;
  if (std::holds_alternative<int64_t>(prototype) && constants->size() == 1) return (*constants)[0];
  return std::nullopt;
}

}  // namespace

Result<ResolvedLate> resolve_late(const Graph& graph, const Node& node) {
  ResolvedLate result{node.attrs, {}};
  if (node.late.empty()) return result;
  const auto fields = node.attrs.fields();
  for (const ops::LateField& late : node.late) {
    const auto operand = static_cast<size_t>(late.operand);
    const ValueId id = operand < node.inputs.size() ? node.inputs[operand] : kNone;
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == late.field; });
    STROP_CHECK(id != kNone && field != fields.end(), "{}: late field '{}'", node.op->name, late.field);
    if (const Tensor* tensor = graph.constant_tensor(id)) {
      std::vector<Value> operands(node.inputs.size());
      operands[operand] = *tensor;
      STROP_ASSIGN(result.attrs, ops::bind_late(result.attrs, {&late, 1}, operands));
      continue;
    }
    const auto& known = graph.value(id).known;
    const auto value = known ? field_of(*known, field->value) : std::nullopt;
    if (!value) {
      result.late.push_back(late);
      continue;
    }
    STROP_ASSIGN(result.attrs, result.attrs.with(late.field, *value));
  }
  return result;
}

Result<Inferred> infer_node(const Graph& graph, const Node& node) {
  static const Type kAbsent;
  STROP_ASSIGN(const ResolvedLate resolved, resolve_late(graph, node));
  std::vector<Type> types;
  std::vector<std::optional<Dims>> known;
  for (const ValueId input : node.inputs) {
    types.push_back(input == kNone ? kAbsent : graph.value(input).type);
    known.push_back(input == kNone ? std::nullopt : graph.value(input).known);
  }
  if (resolved.late.empty()) {  // what filled late fields in is no operand of the operator
    size_t own = types.size();
    for (const ops::LateField& late : node.late) own = std::min(own, static_cast<size_t>(late.operand));
    types.resize(own);
    known.resize(own);
  }
  ops::InferContext ctx(resolved.attrs, types, node.outputs.size(), graph.unbacked_prefix(node));
  ctx.known_inputs = std::move(known);
  ctx.known_outputs.resize(node.outputs.size());
  ctx.late = resolved.late;
  const auto region_infer = [&](size_t region, const std::vector<Type>& parameters) {
    STROP_CHECK(region < node.regions.size(), "{} asks for region {} of {}", node.op->name, region,
                node.regions.size());
    return node.regions[region]->infer_region(parameters);
  };
  const ops::InferContext::RegionInfer regions(region_infer);
  ctx.regions = &regions;
  STROP_TRY(ops::infer(*node.op, ctx));
  ctx.known_outputs.resize(node.outputs.size());
  STROP_CHECK(ctx.outputs.size() == node.outputs.size(), "{} inferred {} outputs of {}", node.op->name,
              ctx.outputs.size(), node.outputs.size());
  return Inferred{std::move(ctx.outputs), std::move(ctx.known_outputs)};
}

void refine(ValueInfo& info, const ValueInfo& with) {
  if (info.type.is_none() || !compatible(info.type, with.type)) return;
  info.type = more_specific(info.type, with.type);
  if (!info.known) {
    info.known = with.known;
  } else if (with.known && with.known->size() == info.known->size()) {
    for (size_t i = 0; i < info.known->size(); ++i) {
      Dim& mine = (*info.known)[i];
      const Dim& other = (*with.known)[i];
      if ((!mine.is_constant() && other.is_constant()) || (mine.is_unbacked() && !other.is_unbacked())) mine = other;
    }
  }
}

Result<bool> Graph::reinfer(NodeId id) {
  const Node& target = node(id);
  auto inferred = infer_node(*this, target);
  if (!inferred.ok()) return in_context(inferred.error(), describe(*this, id));
  bool changed = false;
  for (size_t i = 0; i < target.outputs.size(); ++i) {
    ValueInfo& info = value(target.outputs[i]);
    if (!compatible(info.type, inferred->outputs[i])) {
      return error(ErrorCode::Internal, "{}: output {} is {}, but inference gives {}", describe(*this, id), i,
                   to_string(info.type), to_string(inferred->outputs[i]));
    }
    ValueInfo fresh;
    fresh.type = std::move(inferred->outputs[i]);
    fresh.known = std::move(inferred->known[i]);
    ValueInfo before;
    before.type = info.type;
    before.known = info.known;
    refine(info, fresh);
    changed |= !(info.type == before.type) || info.known != before.known;
  }
  return changed;
}

Result<bool> Graph::reinfer_all() {
  bool changed = false;
  for (const NodeId id : order_) {
    STROP_ASSIGN(const bool one, reinfer(id));
    changed |= one;
  }
  return changed;
}

Result<std::vector<Type>> Graph::infer_region(const std::vector<Type>& parameters) {
  if (parameters.size() != inputs.size()) {
    return error(ErrorCode::InvalidModel, "the subgraph '{}' takes {} values, but is given {}", name, inputs.size(),
                 parameters.size());
  }
  const auto results_now = [&] {
    std::vector<Type> results;
    for (const Port& port : outputs) results.push_back(value(port.value).type);
    return results;
  };
  bool same = true;
  for (size_t i = 0; i < parameters.size(); ++i) {
    Type& type = value(inputs[i].value).type;
    same = same && type == parameters[i];
    type = parameters[i];
  }
  if (same) {  // what was learnt since then stays true
    STROP_TRY(reinfer_all());
    return results_now();
  }
  for (const NodeId id : order_) {
    auto inferred = infer_node(*this, node(id));
    if (!inferred.ok()) return in_context(inferred.error(), describe(*this, id));
    set_types(id, inferred->outputs);
    for (size_t i = 0; i < inferred->known.size(); ++i)
      value(node(id).outputs[i]).known = std::move(inferred->known[i]);
  }
  return results_now();
}

}  // namespace strop::ir
