/// For tests of the interface: small models as bytes.
#pragma once

#include <gtest/gtest.h>

#include "onnx/model_writer.h"
#include "strop/strop.h"

namespace strop::api::testing {

/// y = max(x, 0) and z = x * x, of f32[n, 4].
inline Model two_outputs() {
  namespace w = onnx::testing;
  const w::GraphSpec spec{
      .nodes = {w::node("Relu", {"x"}, {"y"}, {}, "clip"), w::node("Mul", {"x", "x"}, {"z"}, {}, "square")},
      .initializers = {},
      .inputs = {w::value_info("x", DType::F32, {"n", 4})},
      .outputs = {w::value_info("y", DType::F32, {"n", 4}), w::value_info("z", DType::F32, {"n", 4})}};
  return Model::from_memory(w::model(spec));
}

/// y = indices of the elements of x that are not 0: f32[n] → i64[1, ?], known only when the data are.
inline Model nonzero() {
  namespace w = onnx::testing;
  const w::GraphSpec spec{.nodes = {w::node("NonZero", {"x"}, {"y"}, {}, "find")},
                          .initializers = {},
                          .inputs = {w::value_info("x", DType::F32, {"n"})},
                          .outputs = {w::value_info("y", DType::I64, {1, "found"})}};
  return Model::from_memory(w::model(spec));
}

/// y = max(x, 0), of f32[n, 2, 2, 3]: two channels.
inline Model picture() {
  namespace w = onnx::testing;
  return Model::from_memory(w::model(w::GraphSpec{.nodes = {w::node("Relu", {"x"}, {"y"}, {}, "clip")},
                                                  .initializers = {},
                                                  .inputs = {w::value_info("x", DType::F32, {"n", 2, 2, 3})},
                                                  .outputs = {w::value_info("y", DType::F32, {"n", 2, 2, 3})}}));
}

template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return std::move(result).value();
}

/// The message of a failure; "" if there was none.
template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? "" : result.error().message;
}

inline Engine engine_of(const Model& model, const Runtime& runtime = Runtime({.threads = 1})) {
  BuildOptions options;
  options.device = Device::cpu();
  return must(build(model, options, runtime));
}

}  // namespace strop::api::testing
