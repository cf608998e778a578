// Types and shapes between the plan and the public API.
#include <algorithm>
#include <charconv>

#include "api/impl.h"
#include "api/strides.h"
#include "runtime/block_types.h"

namespace strop::api {

namespace {

/// No shape that anybody means is larger; more could leave 64 bits.
Result<void> check_size(const std::string& input, const std::vector<int64_t>& dims) {
  constexpr int64_t kMostElements = int64_t{1} << 40;
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && count > kMostElements / dim)) {
      return error(ErrorCode::InvalidArgument, "input '{}': {} is no shape: sizes are from 0, at most 2^40 elements",
                   input, to_string(to_dims(dims)));
    }
    if (dim > 0) count *= dim;
  }
  return {};
}

}  // namespace

int64_t usual_size(const engine::EngineImage& image, const std::string& symbol) {
  const plan::Block& block = image.plan->blocks[0];
  plan::SymbolRange range;
  for (size_t i = 0; i < block.ranges.size(); ++i) {
    if (block.shapes.symbols[i] == symbol) range = block.ranges[i];
  }
  int64_t size = 1;
  if (const auto found = image.record.find(std::string(engine::kOptimumKey) + symbol); found != image.record.end()) {
    const std::string& text = found->second;
    int64_t recorded = 1;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), recorded);
    if (status == std::errc() && end == text.data() + text.size()) size = recorded;
  }
  return std::max(std::min(size, range.max), range.min);
}

Result<std::vector<Type>> input_types(const engine::EngineImage& image,
                                      const std::map<std::string, std::vector<int64_t>>& shapes) {
  const plan::Block& block = image.plan->blocks[0];
  for (const auto& [name, dims] : shapes) {
    bool found = false;
    for (const plan::PortDesc& port : block.inputs) found = found || port.name == name;
    if (!found) return error(ErrorCode::InvalidArgument, "the engine has no input '{}'", name);
    STROP_TRY(check_size(name, dims));
  }
  // A symbol that a given shape binds has that value in the other inputs too.
  std::map<std::string, int64_t> bound;
  for (const plan::SymbolBinding& binding : block.bindings) {
    const auto given = shapes.find(block.inputs[static_cast<size_t>(binding.input)].name);
    if (given == shapes.end() || given->second.size() <= static_cast<size_t>(binding.axis)) continue;
    bound[block.shapes.symbols[static_cast<size_t>(binding.symbol)]] = given->second[static_cast<size_t>(binding.axis)];
  }
  const runtime::BlockTypes symbolic(block);
  std::vector<Type> types;
  for (const plan::PortDesc& port : block.inputs) {
    const auto given = shapes.find(port.name);
    if (given != shapes.end()) {
      types.emplace_back(port.type.dtype, to_dims(given->second));
      continue;
    }
    if (port.type.kind != TypeKind::Tensor || !port.type.dims) {
      return error(ErrorCode::InvalidArgument, "input '{}' has no known rank: give its shape (--shapes {}:1x3)",
                   port.name, port.name);
    }
    Dims dims;
    const Type type = symbolic.type(port.type);
    for (const Dim& dim : type.tensor.dims()) {
      const auto value = dim.evaluate([&](const std::string& symbol) -> std::optional<int64_t> {
        const auto it = bound.find(symbol);
        return it == bound.end() ? usual_size(image, symbol) : it->second;
      });
      dims.emplace_back(value.value_or(1));
    }
    types.emplace_back(port.type.dtype, std::move(dims));
  }
  return types;
}

Tensor borrow(const TensorView& view) {
  if (!is_dense(view)) {
    auto dense = densify(view);
    STROP_CHECK(dense.ok(), "{}", dense.error().message);
    return std::move(*dense);
  }
  if (view.dtype != DType::String) return Tensor::borrow(view.dtype, view.shape, view.data);
  const auto* first = static_cast<const std::string*>(view.data);
  return Tensor::of_strings(view.shape, std::vector<std::string>(first, first + view.count()));
}

TensorView view_of(const Tensor& tensor) {
  return {tensor.dtype(), tensor.dims(), const_cast<void*>(tensor.raw()), {}};
}

}  // namespace strop::api
