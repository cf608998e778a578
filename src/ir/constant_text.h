/// Constants in the text form: their elements, or a digest of them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/tensor.h"

namespace strop::ir {

/// "sha256:" and the first 32 hexadecimal digits of the SHA-256 of dtype, dimensions and elements.
std::string constant_digest(const Tensor& tensor);

/// "{1, 2.5, nan}": every element, exactly (except the payload of NaN). Complex elements are two numbers each.
std::string elements_text(const Tensor& tensor);

/// The inverse: `text` is what stands between the braces.
Result<Tensor> parse_elements(const TensorType& type, std::string_view text);

}  // namespace strop::ir
