/// Tensors whose elements do not lie one after another: what is legal, what overlaps, how to copy.
#pragma once

#include <string_view>

#include "base/result.h"
#include "kernels/copy/strided_copy.h"
#include "strop/strop.h"
#include "tensor/tensor.h"

namespace strop::api {

/// No negative dimension, and so few elements that their bytes can be counted.
Result<void> check_shape(const TensorView& tensor);

enum class Access : uint8_t { Read, Write };

/// Strides are as many as dimensions, within 2^62 elements, and of a type that can have them; for writing, no element
/// lies within another. Errors name the port.
Result<void> check_strides(std::string_view port, const TensorView& tensor, Access access);

/// True if the elements lie one after another (also where strides say so).
bool is_dense(const TensorView& tensor);

/// Whether some byte belongs to both; parts of one matrix beside each other share none. True too where it would take
/// too long to find out, or a tensor is folded and the other lies between its first and last byte. Strings overlap
/// nothing.
bool overlap(const TensorView& a, const TensorView& b);

/// Moves the elements between `tensor` and a dense buffer. check_strides was passed.
Result<kernels::StridedCopy> copy_to_dense(const TensorView& tensor);
Result<kernels::StridedCopy> copy_from_dense(const TensorView& tensor);

/// The elements of a strided tensor one after another.
Result<Tensor> densify(const TensorView& tensor);

}  // namespace strop::api
