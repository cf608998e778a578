/// Files that hold one value: ONNX's TensorProto, SequenceProto, OptionalProto.
#pragma once

#include <string>

#include "base/result.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace strop::api {

/// Reads the file as the kind of value that `type` is: a .pb file does not say itself which message it holds. The
/// element type of sequences and optionals comes from `type`. Errors name the file.
Result<Value> read_value(const std::string& path, const Type& type);

}  // namespace strop::api
