#include <array>

#include "onnx/importer.h"
#include "ops/control/control.h"
#include "ops/families.h"
#include "ops/sequence/sequence.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

std::vector<ValueId> operands(const NodeContext& ctx) {
  std::vector<ValueId> result;
  for (size_t i = 0; i < ctx.input_count(); ++i) result.push_back(ctx.input(i));
  return result;
}

Result<void> emit_one(NodeContext& ctx, const Operator& op, Attrs attrs) {
  STROP_ASSIGN(const ValueId result, ctx.emit(op, std::move(attrs), operands(ctx)));
  return ctx.set_output(0, result);
}

template <const Operator& op>
Result<void> import_plain(NodeContext& ctx) {
  return emit_one(ctx, op, NoAttrs{});
}

Result<void> import_construct(NodeContext& ctx) {
  if (ctx.input_count() == 0) return ctx.invalid("there are no operands");
  return emit_one(ctx, kSequenceConstruct, SequenceConstructAttrs{});
}

Result<void> import_empty(NodeContext& ctx) {
  STROP_ASSIGN(const DType dtype, ctx.attr_dtype("dtype", DType::F32));
  return emit_one(ctx, kSequenceConstruct, SequenceConstructAttrs{Type::unranked(dtype)});
}

Result<void> import_split(NodeContext& ctx) {
  SplitToSequenceAttrs attrs;
  STROP_ASSIGN(attrs.axis, ctx.attr_int("axis", 0));
  STROP_ASSIGN(const int64_t keep, ctx.attr_int("keepdims", 1));
  attrs.keep_axis = keep != 0;
  return emit_one(ctx, kSplitToSequence, attrs);
}

Result<void> import_concat(NodeContext& ctx) {
  ConcatFromSequenceAttrs attrs;
  STROP_ASSIGN(attrs.axis, ctx.attr_int("axis"));
  STROP_ASSIGN(const int64_t fresh, ctx.attr_int("new_axis", 0));
  attrs.new_axis = fresh != 0;
  return emit_one(ctx, kConcatFromSequence, attrs);
}

Result<void> import_map(NodeContext& ctx) {
  // The dimensions of elements get the names that inference will give them.
  const Attrs none;
  InferContext names(none, {}, 0, ctx.graph().next_node_prefix());
  std::vector<Type> parameters;
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) return ctx.invalid("operand {} is missing", i);
    const bool sequence = ctx.type(i).kind == TypeKind::Sequence;
    if (i == 0 && !sequence) return ctx.invalid("operand 0 is {}, not a sequence", to_string(ctx.type(i)));
    parameters.push_back(sequence ? element_type(ctx.type(i), names) : ctx.type(i));
  }
  STROP_ASSIGN(auto regions, ctx.attr_graphs({{"body", std::move(parameters)}}));
  std::vector<ValueId> inputs = operands(ctx);
  const SequenceMapAttrs attrs{static_cast<int64_t>(inputs.size())};
  inputs.insert(inputs.end(), regions.captures.begin(), regions.captures.end());
  STROP_ASSIGN(const auto results, ctx.emit_many(kSequenceMap, attrs, std::move(inputs), ctx.output_count(),
                                                 {{}, std::move(regions.graphs)}));
  return ctx.set_outputs(results);
}

Result<void> import_optional(NodeContext& ctx) {
  OptionalAttrs attrs;
  if (ctx.has_attr("type")) {
    STROP_ASSIGN(attrs.element, ctx.attr_type("type"));
  }
  return emit_one(ctx, kOptional, std::move(attrs));
}

}  // namespace

std::span<const onnx::Importer> sequence_importers() {
  static constexpr std::array<onnx::Importer, 12> kImporters = {{
      {"SequenceConstruct", import_construct, 11},
      {"SequenceEmpty", import_empty, 11},
      {"SequenceAt", import_plain<kSequenceAt>, 11},
      {"SequenceInsert", import_plain<kSequenceInsert>, 11},
      {"SequenceErase", import_plain<kSequenceErase>, 11},
      {"SequenceLength", import_plain<kSequenceLength>, 11},
      {"SplitToSequence", import_split, 11},
      {"ConcatFromSequence", import_concat, 11},
      {"SequenceMap", import_map, 17},
      {"Optional", import_optional, 15},
      {"OptionalGetElement", import_plain<kOptionalGetElement>, 15},
      {"OptionalHasElement", import_plain<kOptionalHasElement>, 15},
  }};
  return kImporters;
}

}  // namespace strop::ops
