/// Short ways to run one operator in unit tests.
#pragma once

#include <string>
#include <vector>

#include "ops/operator.h"

namespace strop::ops::testing {

inline Tensor f32(std::vector<int64_t> dims, const std::vector<double>& values) {
  return store_f64(DType::F32, std::move(dims), values);
}
inline Tensor i64(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return store_i64(DType::I64, std::move(dims), values);
}
/// 0, 1, 2, … as f32.
inline Tensor counting(std::vector<int64_t> dims) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return f32(std::move(dims), values);
}

/// "f32[2, 2] 1 2 3 4", "string[1] a".
inline std::string text(const Tensor& tensor) {
  std::string result = strop::to_string(tensor.type());
  if (tensor.dtype() == DType::String) {
    for (const auto& value : tensor.strings()) result += " " + value;
  } else {
    for (const double value : load_f64(tensor)) result += fmt::format(" {}", value);
  }
  return result;
}

/// The operator's results as text, joined by "; ", or "error: …".
inline std::string run(const Operator& op, const Attrs& attrs, const std::vector<Value>& inputs, size_t outputs = 1,
                       const std::vector<LateField>& late = {}) {
  SingleThread thread;
  const auto results = evaluate({op, attrs, late, inputs, outputs, thread});
  if (!results.ok()) return "error: " + results.error().message;
  std::string joined;
  for (const Value& value : *results) joined += (joined.empty() ? "" : "; ") + text(value.tensor());
  return joined;
}

/// What inference sees besides types.
struct Known {
  std::vector<LateField> late = {};
  std::vector<std::optional<Dims>> contents = {};  ///< per operand
};

/// The inferred types as text, joined by "; ", then " known [...]" for each result with known contents; or "error: …".
inline std::string infer(const Operator& op, const Attrs& attrs, const std::vector<Type>& inputs,
                         const Known& known = {}, size_t outputs = 1) {
  InferContext ctx(attrs, inputs, outputs, "?");
  ctx.late = known.late;
  for (size_t i = 0; i < known.contents.size(); ++i) ctx.known_inputs[i] = known.contents[i];
  const auto result = ops::infer(op, ctx);
  if (!result.ok()) return "error: " + result.error().message;
  std::string joined;
  for (size_t i = 0; i < outputs; ++i) {
    joined += (i > 0 ? "; " : "") + strop::to_string(ctx.outputs[i]);
    if (ctx.known_outputs[i]) joined += " known " + strop::to_string(*ctx.known_outputs[i]);
  }
  return joined;
}

}  // namespace strop::ops::testing
