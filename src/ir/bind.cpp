#include "ir/bind.h"

namespace strop::ir {

std::optional<int64_t> SymbolValues::find(const std::string& symbol) const {
  const auto found = values_.find(symbol);
  if (found != values_.end()) return found->second;
  return outer_ ? outer_->find(symbol) : std::nullopt;
}

void SymbolValues::bind(const TensorType& type, const std::vector<int64_t>& dims) {
  if (!type.has_rank() || type.dims().size() != dims.size()) return;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Dim& dim = type.dims()[axis];
    if (dim.is_symbol()) values_.try_emplace(dim.symbols()[0], dims[axis]);
  }
}

namespace {

Error bad_input(const Port& port, const Type& declared, const std::string& message) {
  return error(ErrorCode::InvalidArgument, "input '{}' ({}): {}", port.name, to_string(declared), message);
}

/// Kind, dtype, rank and constant dimensions.
Result<void> check_type(const Port& port, const Type& declared, const Value& given) {
  if (!declared.is_tensor()) {
    const bool same = given.type().kind == declared.kind;
    if (!same) return bad_input(port, declared, "the value given is " + to_string(given.type()));
    return {};
  }
  if (!given.is_tensor()) return bad_input(port, declared, "the value given is " + to_string(given.type()));
  const Tensor& tensor = given.tensor();
  const TensorType& type = declared.tensor;
  if (tensor.dtype() != type.dtype) {
    return bad_input(port, declared, fmt::format("the tensor given is {}", to_string(tensor.type())));
  }
  if (!type.has_rank()) return {};
  if (type.rank() != tensor.rank()) {
    return bad_input(port, declared,
                     fmt::format("the tensor given has rank {}: {}", tensor.rank(), to_string(tensor.type())));
  }
  for (int64_t axis = 0; axis < type.rank(); ++axis) {
    const auto expected = type.dim(axis).as_constant();
    if (expected && *expected != tensor.dim(axis)) {
      return bad_input(port, declared,
                       fmt::format("axis {} is {} in the tensor given, not {}", axis, tensor.dim(axis), *expected));
    }
  }
  return {};
}

}  // namespace

Result<SymbolValues> bind_inputs(const Graph& graph, const std::vector<Value>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return error(ErrorCode::InvalidArgument, "{} inputs given, but '{}' has {}", inputs.size(), graph.name,
                 graph.inputs.size());
  }
  SymbolValues symbols;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& declared = graph.value(graph.inputs[i].value).type;
    STROP_TRY(check_type(graph.inputs[i], declared, inputs[i]));
    if (declared.is_tensor()) symbols.bind(declared.tensor, inputs[i].tensor().dims());
  }
  const auto lookup = [&](const std::string& symbol) { return symbols.find(symbol); };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& declared = graph.value(graph.inputs[i].value).type;
    if (!declared.is_tensor() || !declared.tensor.has_rank()) continue;
    const Tensor& tensor = inputs[i].tensor();
    for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
      const Dim& dim = declared.tensor.dim(axis);
      const auto expected = dim.evaluate(lookup);
      if (expected && *expected != tensor.dim(axis)) {
        return bad_input(graph.inputs[i], declared,
                         fmt::format("axis {} is {} in the tensor given, but '{}' is {} by another input or axis", axis,
                                     tensor.dim(axis), dim.to_string(), *expected));
      }
    }
  }
  return symbols;
}

}  // namespace strop::ir
