/// TensorProto → Tensor, without copying where the bytes allow it.
///
/// raw_data, one packed run of float_data or double_data, and external data are used in place: the tensor keeps the
/// file alive. In place means that the bytes are aligned for their type; protobuf promises no alignment, so
/// initializers inside a model file are copied unless they happen to lie well (external data usually do, by ONNX's
/// advice to page align offsets). Other typed fields (int32_data and so on) are decoded.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "onnx/external_data.h"
#include "onnx/model.h"
#include "tensor/tensor.h"

namespace strop::onnx {

/// Where the bytes of a model's tensors come from.
struct TensorSource {
  std::shared_ptr<const void> owner;  ///< keeps the model's bytes alive
  ExternalFiles external;
};

/// No tensor or declared shape may have more elements than this.
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

/// Number of elements of `dims`. Error: a negative dimension, or more than kMaxElements.
Result<int64_t> checked_count(const std::vector<int64_t>& dims);

/// The DType of a TensorProto code. Error: not one that ONNX defines.
Result<DType> checked_dtype(int64_t code);

/// Errors name neither the tensor nor the node: the caller does.
Result<Tensor> to_tensor(const TensorProto& proto, TensorSource& source);

/// The dense form. Error: indices out of range, or more than 2^28 elements.
Result<Tensor> to_tensor(const SparseTensorProto& proto, TensorSource& source);

}  // namespace strop::onnx
