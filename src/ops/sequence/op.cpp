#include <array>

#include "ops/control/control.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/index_data.h"
#include "ops/late.h"
#include "ops/sequence/sequence.h"

namespace strop::ops {
namespace {

Result<Type> sequence_operand(const InferContext& ctx, size_t index) {
  if (!ctx.has_input(index) || ctx.inputs[index].kind != TypeKind::Sequence) {
    return violates("(C1) operand {} is {}, not a sequence", index,
                    index < ctx.inputs.size() ? to_string(ctx.inputs[index]) : "none");
  }
  return ctx.inputs[index];
}

// A position must be one integer.
Result<void> check_position(const InferContext& ctx, size_t index) {
  if (!ctx.has_input(index)) return {};
  STROP_ASSIGN(const TensorType type, ctx.tensor(index));
  const bool many = type.has_rank() && type.count().is_constant() && type.count().constant() != 1;
  if (!is_integer(type.dtype) || many) return violates("(C2) a position of type {}", to_string(type));
  return {};
}

Result<int64_t> position(const EvalContext& ctx, size_t index, int64_t size, std::string_view op) {
  if (ctx.in(index).count() != 1) return bad_data("{}: a position of {} values", op, ctx.in(index).count());
  const int64_t value = load_i64(ctx.in(index))[0];
  const int64_t wrapped = wrap_index(value, size);
  if (wrapped < 0) return index_error(op, value, size);
  return wrapped;
}

// -- SequenceConstruct, SequenceAt, SequenceInsert, SequenceErase, SequenceLength --

Result<void> infer_construct(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<SequenceConstructAttrs>();
  Type element = ctx.inputs.empty() ? attrs.element : ctx.inputs[0];
  const auto fresh = [&] { return ctx.unbacked(); };
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    STROP_TRY(ctx.tensor(i));
    STROP_ASSIGN(element, common_type(element, ctx.inputs[i], fresh));
  }
  if (!element.is_tensor()) return violates("(C1) a sequence of {}", to_string(element));
  ctx.outputs[0] = Type::sequence(std::move(element));
  return {};
}

Result<void> evaluate_construct(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<SequenceConstructAttrs>();
  SequenceValue sequence{attrs.element, {ctx.inputs.begin(), ctx.inputs.end()}};
  if (!sequence.items.empty()) sequence.element = Type::unranked(ctx.in(0).dtype());
  ctx.outputs[0] = std::move(sequence);
  return {};
}

Result<void> infer_at(InferContext& ctx) {
  STROP_ASSIGN(const Type sequence, sequence_operand(ctx, 0));
  STROP_TRY(check_position(ctx, 1));
  ctx.outputs[0] = element_type(sequence, ctx);
  return {};
}

Result<void> evaluate_at(EvalContext& ctx) {
  const auto& items = ctx.inputs[0].sequence().items;
  STROP_ASSIGN(const int64_t at, position(ctx, 1, static_cast<int64_t>(items.size()), "SequenceAt"));
  ctx.outputs[0] = items[static_cast<size_t>(at)];
  return {};
}

Result<void> infer_insert(InferContext& ctx) {
  STROP_ASSIGN(const Type sequence, sequence_operand(ctx, 0));
  STROP_TRY(ctx.tensor(1));
  STROP_TRY(check_position(ctx, 2));
  const auto fresh = [&] { return ctx.unbacked(); };
  STROP_ASSIGN(Type element, common_type(*sequence.element, ctx.inputs[1], fresh));
  ctx.outputs[0] = Type::sequence(std::move(element));
  return {};
}

Result<void> evaluate_insert(EvalContext& ctx) {
  SequenceValue sequence = ctx.inputs[0].sequence();
  auto at = static_cast<int64_t>(sequence.items.size());
  if (ctx.has_input(2)) {
    // One more place than there are elements; negative positions count from the end all the same.
    const int64_t value = load_i64(ctx.in(2)).at(0);
    const int64_t wrapped = value < 0 ? value + at : value;
    if (wrapped < 0 || wrapped > at) return index_error("SequenceInsert", value, at);
    at = wrapped;
  }
  sequence.items.insert(sequence.items.begin() + at, ctx.inputs[1]);
  ctx.outputs[0] = std::move(sequence);
  return {};
}

Result<void> infer_erase(InferContext& ctx) {
  STROP_ASSIGN(ctx.outputs[0], sequence_operand(ctx, 0));
  return check_position(ctx, 1);
}

Result<void> evaluate_erase(EvalContext& ctx) {
  SequenceValue sequence = ctx.inputs[0].sequence();
  const auto size = static_cast<int64_t>(sequence.items.size());
  if (size == 0) return bad_data("SequenceErase: the sequence is empty");
  int64_t at = size - 1;
  if (ctx.has_input(1)) {
    STROP_ASSIGN(at, position(ctx, 1, size, "SequenceErase"));
  }
  sequence.items.erase(sequence.items.begin() + at);
  ctx.outputs[0] = std::move(sequence);
  return {};
}

Result<void> infer_length(InferContext& ctx) {
  STROP_TRY(sequence_operand(ctx, 0));
  ctx.outputs[0] = Type(DType::I64, {});
  return {};
}

Result<void> evaluate_length(EvalContext& ctx) {
  ctx.outputs[0] = Tensor::of_i64({static_cast<int64_t>(ctx.inputs[0].sequence().items.size())}).reshaped({});
  return {};
}

// -- SplitToSequence, ConcatFromSequence --

Result<void> infer_split(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<SplitToSequenceAttrs>();
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  Type element = Type::unranked(input.dtype);
  if (input.has_rank()) {
    STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C2) axis"));
    Dims dims = input.dims();
    if (!ctx.has_input(1)) {
      dims[static_cast<size_t>(axis)] = Dim(1);
      if (!attrs.keep_axis) dims.erase(dims.begin() + axis);
    } else {
      dims[static_cast<size_t>(axis)] = ctx.unbacked();
    }
    element = Type(input.dtype, std::move(dims));
  }
  ctx.outputs[0] = Type::sequence(std::move(element));
  return {};
}

Result<std::vector<int64_t>> part_sizes(const EvalContext& ctx, int64_t size) {
  const bool given = ctx.has_input(1);
  if (given && ctx.in(1).rank() > 0) {
    auto sizes = load_i64(ctx.in(1));
    int64_t total = 0;
    bool negative = false;
    for (const int64_t part : sizes) {
      negative = negative || part < 0 || part > size;
      total += std::clamp<int64_t>(part, 0, size);
    }
    if (negative || total != size) return bad_data("SplitToSequence: the parts do not add up to {}", size);
    return sizes;
  }
  const int64_t part = given ? load_i64(ctx.in(1))[0] : 1;
  if (part < 1) return bad_data("SplitToSequence: parts of size {}", part);
  std::vector<int64_t> sizes;
  for (int64_t first = 0; first < size; first += std::min(part, size - first)) {
    sizes.push_back(std::min(part, size - first));
  }
  return sizes;
}

Result<void> evaluate_split(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<SplitToSequenceAttrs>();
  const Tensor& input = ctx.in(0);
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, input.rank(), "(C2) axis"));
  const int64_t size = input.dim(axis);
  STROP_ASSIGN(const auto sizes, part_sizes(ctx, size));
  const int64_t outer = count_between(input.dims(), 0, axis);
  const int64_t inner = count_between(input.dims(), axis + 1, input.rank());
  SequenceValue sequence{Type::unranked(input.dtype()), {}};
  int64_t first = 0;
  for (const int64_t part : sizes) {
    auto dims = input.dims();
    dims[static_cast<size_t>(axis)] = part;
    Tensor item(input.dtype(), dims);
    for (int64_t o = 0; o < outer; ++o) {
      copy_elements(item, o * part * inner, input, (o * size + first) * inner, part * inner);
    }
    first += part;
    if (!ctx.has_input(1) && !attrs.keep_axis) {
      dims.erase(dims.begin() + axis);
      item = item.reshaped(dims);
    }
    sequence.items.emplace_back(std::move(item));
  }
  ctx.outputs[0] = std::move(sequence);
  return {};
}

Result<void> infer_concat(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<ConcatFromSequenceAttrs>();
  STROP_ASSIGN(const Type sequence, sequence_operand(ctx, 0));
  const Type element = element_type(sequence, ctx);
  ctx.outputs[0] = Type::unranked(element.tensor.dtype);
  if (!element.tensor.has_rank()) return {};
  const int64_t rank = element.tensor.rank() + (attrs.new_axis ? 1 : 0);
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, rank, "(C2) axis"));
  Dims dims = element.tensor.dims();
  if (attrs.new_axis) dims.insert(dims.begin() + axis, Dim(1));
  dims[static_cast<size_t>(axis)] = ctx.unbacked();
  ctx.outputs[0] = Type(element.tensor.dtype, std::move(dims));
  return {};
}

// All elements but along `axis` must be equally large.
Result<Tensor> concatenate(const std::vector<Tensor>& tensors, int64_t axis) {
  auto dims = tensors[0].dims();
  int64_t total = 0;
  for (const Tensor& tensor : tensors) {
    auto expected = dims;
    if (tensor.rank() == tensors[0].rank()) expected[static_cast<size_t>(axis)] = tensor.dim(axis);
    if (tensor.dims() != expected || tensor.dtype() != tensors[0].dtype()) {
      return bad_data("ConcatFromSequence: {} does not go with {}", to_string(tensor.type()),
                      to_string(tensors[0].type()));
    }
    total += tensor.dim(axis);
  }
  const int64_t outer = count_between(dims, 0, axis);
  const int64_t inner = count_between(dims, axis + 1, tensors[0].rank());
  dims[static_cast<size_t>(axis)] = total;
  Tensor result(tensors[0].dtype(), dims);
  int64_t first = 0;
  for (const Tensor& tensor : tensors) {
    const int64_t part = tensor.dim(axis) * inner;
    for (int64_t o = 0; o < outer; ++o) copy_elements(result, o * total * inner + first, tensor, o * part, part);
    first += part;
  }
  return result;
}

Result<void> evaluate_concat(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<ConcatFromSequenceAttrs>();
  std::vector<Tensor> tensors;
  for (const Value& item : ctx.inputs[0].sequence().items) tensors.push_back(item.tensor());
  if (tensors.empty()) return bad_data("ConcatFromSequence: the sequence is empty");
  const int64_t rank = tensors[0].rank() + (attrs.new_axis ? 1 : 0);
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, rank, "(C2) axis"));
  if (attrs.new_axis) {
    STROP_ASSIGN(ctx.outputs[0], stack(tensors, axis));
    return {};
  }
  STROP_ASSIGN(ctx.outputs[0], concatenate(tensors, axis));
  return {};
}

// -- SequenceMap --

Result<void> infer_map(InferContext& ctx) {
  const auto mapped = static_cast<size_t>(ctx.attrs.as<SequenceMapAttrs>().mapped);
  STROP_TRY(sequence_operand(ctx, 0));
  if (mapped > ctx.inputs.size()) return violates("(C2) {} operands, not {}", ctx.inputs.size(), mapped);
  std::vector<Type> parameters;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    const bool maps = i < mapped && ctx.inputs[i].kind == TypeKind::Sequence;
    parameters.push_back(maps ? element_type(ctx.inputs[i], ctx) : ctx.inputs[i]);
  }
  STROP_ASSIGN(const auto results, (*ctx.regions)(0, parameters));
  if (results.size() < ctx.outputs.size()) {
    return violates("(C3) the body returns {} values where {} are wanted", results.size(), ctx.outputs.size());
  }
  for (size_t i = 0; i < ctx.outputs.size(); ++i) ctx.outputs[i] = Type::sequence(seen_outside(results[i], ctx));
  return {};
}

Result<void> evaluate_map(EvalContext& ctx) {
  const auto mapped = static_cast<size_t>(ctx.attrs.as<SequenceMapAttrs>().mapped);
  const size_t length = ctx.inputs[0].sequence().items.size();
  std::vector<SequenceValue> results(ctx.outputs.size());
  for (size_t k = 0; k < results.size(); ++k) {
    const bool known = k < ctx.output_types.size() && ctx.output_types[k].kind == TypeKind::Sequence;
    if (known) results[k].element = *ctx.output_types[k].element;
  }
  for (size_t i = 0; i < length; ++i) {
    std::vector<Value> parameters(ctx.inputs.begin(), ctx.inputs.end());
    for (size_t j = 0; j < mapped; ++j) {
      if (!parameters[j].is_sequence()) continue;
      const auto& items = ctx.inputs[j].sequence().items;
      if (items.size() != length) return bad_data("SequenceMap: sequences of {} and {}", length, items.size());
      parameters[j] = items[i];
    }
    STROP_ASSIGN(auto values, (*ctx.regions)(0, std::move(parameters)));
    for (size_t k = 0; k < results.size(); ++k) results[k].items.push_back(std::move(values[k]));
  }
  for (size_t k = 0; k < results.size(); ++k) ctx.outputs[k] = std::move(results[k]);
  return {};
}

}  // namespace

Type element_type(const Type& sequence, InferContext& ctx) {
  Type element = *sequence.element;
  if (!element.is_tensor() || !element.tensor.has_rank()) return element;
  for (Dim& dim : *element.tensor.shape) {
    if (!dim.is_constant()) dim = ctx.unbacked();
  }
  return element;
}

const Operator kSequenceConstruct = {
    .name = "SequenceConstruct",
    .make_attrs = [] { return Attrs(SequenceConstructAttrs{}); },
    .infer = infer_construct,
    .evaluate = evaluate_construct,
};
const Operator kSequenceAt = {.name = "SequenceAt", .infer = infer_at, .evaluate = evaluate_at};
const Operator kSequenceInsert = {.name = "SequenceInsert", .infer = infer_insert, .evaluate = evaluate_insert};
const Operator kSequenceErase = {.name = "SequenceErase", .infer = infer_erase, .evaluate = evaluate_erase};
const Operator kSequenceLength = {.name = "SequenceLength", .infer = infer_length, .evaluate = evaluate_length};
const Operator kSplitToSequence = {
    .name = "SplitToSequence",
    .make_attrs = [] { return Attrs(SplitToSequenceAttrs{}); },
    .infer = infer_split,
    .evaluate = evaluate_split,
};
const Operator kConcatFromSequence = {
    .name = "ConcatFromSequence",
    .make_attrs = [] { return Attrs(ConcatFromSequenceAttrs{}); },
    .infer = infer_concat,
    .evaluate = evaluate_concat,
};
const Operator kSequenceMap = {
    .name = "SequenceMap",
    .make_attrs = [] { return Attrs(SequenceMapAttrs{}); },
    .infer = infer_map,
    .evaluate = evaluate_map,
    .has_regions = true,
};

std::span<const Operator* const> sequence_operators() {
  static constexpr std::array kOperators = {&kSequenceConstruct,  &kSequenceAt,        &kSequenceInsert,
                                            &kSequenceErase,      &kSequenceLength,    &kSplitToSequence,
                                            &kConcatFromSequence, &kSequenceMap,       &kOptional,
                                            &kOptionalGetElement, &kOptionalHasElement};
  return kOperators;
}

}  // namespace strop::ops
