#include "ops/operator.h"

#include <algorithm>

#include "ops/families.h"
#include "ops/late.h"
#include "tensor/convert.h"

namespace strop::ops {

InferContext::InferContext(const Attrs& attributes, std::span<const Type> input_types, size_t output_count,
                           std::string unbacked_prefix)
    : attrs(attributes),
      inputs(input_types),
      outputs(output_count),
      known_inputs(input_types.size()),
      known_outputs(output_count),
      unbacked_prefix_(std::move(unbacked_prefix)) {}

Result<TensorType> InferContext::tensor(size_t index) const {
  if (!has_input(index)) return error(ErrorCode::InvalidModel, "operand {} is missing", index);
  if (!inputs[index].is_tensor()) {
    return error(ErrorCode::InvalidModel, "operand {} must be a tensor, not {}", index, to_string(inputs[index]));
  }
  return inputs[index].tensor;
}

bool InferContext::is_late(std::string_view field) const {
  return std::ranges::any_of(late, [&](const LateField& item) { return item.field == field; });
}

Dim InferContext::unbacked() {
  const bool marked = !unbacked_prefix_.empty() && unbacked_prefix_[0] == '?';
  return Dim::symbol(fmt::format("{}{}.{}", marked ? "" : "?", unbacked_prefix_, unbacked_count_++));
}

Catalogue::Catalogue(std::span<const Operator* const> operators) {
  for (const Operator* op : operators) add(*op);
}

void Catalogue::add(const Operator& op) {
  STROP_CHECK(op.infer != nullptr && op.evaluate != nullptr, "operator {} is incomplete", op.name);
  STROP_CHECK(find(op.name) == nullptr, "two operators named {}", op.name);
  operators_.push_back(&op);
}

const Operator* Catalogue::find(std::string_view name) const {
  const auto found = std::ranges::find(operators_, name, [](const Operator* op) { return op->name; });
  return found == operators_.end() ? nullptr : *found;
}

const Catalogue& builtin_operators() {
  static const Catalogue catalogue = [] {
    Catalogue all;
    const auto add = [&](std::span<const Operator* const> family) {
      for (const Operator* op : family) all.add(*op);
    };
#define STROP_ADD_FAMILY(folder) add(folder##_operators());
    STROP_OPERATOR_FAMILIES(STROP_ADD_FAMILY)
#undef STROP_ADD_FAMILY
    return all;
  }();
  return catalogue;
}

Result<Dims> broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[offset + i];
    const Dim& other = shorter[i];
    if (dim == other || other == Dim(1)) continue;
    if (dim == Dim(1)) {
      dim = other;
    } else if (dim.is_constant() && other.is_constant()) {
      return error(ErrorCode::InvalidModel, "(C1) cannot broadcast {} with {} in axis {}", to_string(a), to_string(b),
                   offset + i);
    } else if (other.is_constant()) {
      dim = other;  // a constant other than 1: the symbol is 1 or equal to it
    } else if (!dim.is_constant()) {
      dim = max(dim, other);
    }
  }
  return result;
}

Result<int64_t> normalize_axis(int64_t axis, int64_t rank, std::string_view what) {
  if (axis < -rank || axis >= rank) {
    return error(ErrorCode::InvalidModel, "{} {} is outside [{}, {}) for rank {}", what, axis, -rank, rank, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

namespace {

Error late_error(const LateField& late, std::string_view expected) {
  return error(ErrorCode::InvalidModel, "operand {} gives '{}' and must be {}", late.operand, late.field, expected);
}

std::vector<int64_t> as_integers(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return load_i64(tensor);
  std::vector<int64_t> values;
  for (const double value : load_f64(tensor)) values.push_back(static_cast<int64_t>(value));
  return values;
}

/// `tensor` as a value of the same kind as `prototype`.
Result<FieldValue> late_value(const LateField& late, const FieldValue& prototype, const Tensor& tensor) {
  if (std::holds_alternative<Tensor>(prototype)) return FieldValue(tensor);
  if (tensor.dtype() == DType::String || is_complex(tensor.dtype())) return late_error(late, "a numeric tensor");
  if (std::holds_alternative<std::vector<int64_t>>(prototype)) return FieldValue(as_integers(tensor));
  if (std::holds_alternative<std::vector<double>>(prototype)) return FieldValue(load_f64(tensor));
  if (std::holds_alternative<Dims>(prototype)) return FieldValue(to_dims(as_integers(tensor)));
  if (tensor.count() != 1) return late_error(late, fmt::format("one value, not {}", tensor.count()));
  if (std::holds_alternative<double>(prototype)) return FieldValue(load_f64(tensor)[0]);
  const int64_t integer = as_integers(tensor)[0];
  if (std::holds_alternative<int64_t>(prototype)) return FieldValue(integer);
  if (std::holds_alternative<bool>(prototype)) return FieldValue(integer != 0);
  if (std::holds_alternative<Dim>(prototype)) return FieldValue(Dim(integer));
  STROP_UNREACHABLE("field '{}' cannot be late", late.field);
}

/// Contents that inference may see. Larger tensors are data, not shapes.
constexpr int64_t kMaxKnownElements = 64;

std::optional<Dims> known_contents(const Value& value) {
  if (!value.is_tensor()) return std::nullopt;
  const Tensor& tensor = value.tensor();
  const bool integers = tensor.dtype() == DType::I64 || tensor.dtype() == DType::I32;
  if (!integers || tensor.rank() > 1 || tensor.count() > kMaxKnownElements) return std::nullopt;
  return to_dims(load_i64(tensor));
}

Result<std::vector<Type>> infer_concrete(const EvalRequest& request, const Attrs& attrs,
                                         std::span<const Value> inputs) {
  if (request.op.has_regions) return std::vector<Type>(request.output_count);  // the regions say; they run anyway
  std::vector<Type> types;
  for (const Value& value : inputs) types.push_back(value.type());
  InferContext ctx(attrs, types, request.output_count, "?");
  for (size_t i = 0; i < inputs.size(); ++i) ctx.known_inputs[i] = known_contents(inputs[i]);
  STROP_TRY(infer(request.op, ctx));
  return std::move(ctx.outputs);
}

/// What results of these types take, and the numbers or indices (8 bytes for each element) that they are made from.
int64_t working_bytes(std::span<const Type> results) {
  int64_t bytes = 0;
  for (const Type& type : results) {
    if (!type.is_tensor() || !type.tensor.is_static()) continue;
    const int64_t count = element_count(*as_constants(type.tensor.dims()));
    bytes += memory_bytes(type.tensor.dtype, count) + count * static_cast<int64_t>(sizeof(double));
  }
  return bytes;
}

void check_output(const Operator& op, size_t index, const Type& inferred, const Value& value) {
  if (!inferred.is_tensor() || value.is_none()) return;
  STROP_CHECK(value.is_tensor(), "{} output {} is not a tensor", op.name, index);
  const Tensor& tensor = value.tensor();
  bool fits = tensor.dtype() == inferred.tensor.dtype;
  if (inferred.tensor.shape) {
    fits = fits && inferred.tensor.rank() == tensor.rank();
    for (int64_t axis = 0; fits && axis < tensor.rank(); ++axis) {
      fits = inferred.tensor.dim(axis).as_constant().value_or(tensor.dim(axis)) == tensor.dim(axis);
    }
  }
  STROP_CHECK(fits, "{} output {}: inferred {}, evaluated {}", op.name, index, to_string(inferred),
              to_string(tensor.type()));
}

}  // namespace

Result<Attrs> bind_late(const Attrs& attrs, std::span<const LateField> late, std::span<const Value> inputs) {
  Attrs bound = attrs;
  if (late.empty()) return bound;
  const auto fields = attrs.fields();
  for (const LateField& item : late) {
    const auto field = std::ranges::find(fields, item.field, &NamedField::name);
    STROP_CHECK(field != fields.end(), "no field '{}' can be late", item.field);
    const auto operand = static_cast<size_t>(item.operand);
    if (operand >= inputs.size() || !inputs[operand].is_tensor()) return late_error(item, "a tensor");
    STROP_ASSIGN(const FieldValue value, late_value(item, field->value, inputs[operand].tensor()));
    STROP_ASSIGN(bound, bound.with(item.field, value));
  }
  return bound;
}

Result<void> infer(const Operator& op, InferContext& ctx) {
  STROP_TRY(op.infer(ctx));
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    const Type& type = ctx.outputs[i];
    if (!type.is_tensor() || !type.tensor.has_rank()) continue;
    const Dims& dims = type.tensor.dims();
    const bool negative = std::ranges::any_of(dims, [](const Dim& dim) { return dim.as_constant().value_or(0) < 0; });
    if (negative) return violates("result {} would have the shape {}", i, to_string(dims));
    STROP_TRY(check_sizes(dims));
  }
  return {};
}

Result<std::vector<Value>> evaluate(const EvalRequest& request) {
  STROP_ASSIGN(const Attrs attrs, bind_late(request.attrs, request.late, request.inputs));
  const auto inputs = request.inputs.first(own_operands(request.inputs.size(), request.late));
  STROP_ASSIGN(const std::vector<Type> types, infer_concrete(request, attrs, inputs));
  std::vector<Value> outputs(request.output_count);
  EvalContext ctx{attrs, inputs, outputs, types, request.threads, request.regions, request.memory};
  STROP_TRY(ctx.check_memory(working_bytes(types)));
  STROP_TRY(request.op.evaluate(ctx));
  STROP_CHECK(outputs.size() == request.output_count, "{} gave {} outputs of {}", request.op.name, outputs.size(),
              request.output_count);
  for (size_t i = 0; i < outputs.size(); ++i) check_output(request.op, i, types[i], outputs[i]);
  return outputs;
}

}  // namespace strop::ops
