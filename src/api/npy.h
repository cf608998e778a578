/// NumPy's .npy format. Source: "NEP 1 — A simple file format for NumPy arrays", versions 1.0 to 3.0.
#pragma once

#include <string_view>

#include "base/result.h"
#include "tensor/tensor.h"

namespace strop::api {

/// "\x93NUMPY"
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// The array in the bytes of a whole .npy file, copied. Text arrays (U, S) become strings. Errors (InvalidArgument) say
/// what is wrong but not where the bytes came from: big-endian or structured types, Fortran order, pickled objects, a
/// size other than the header says.
Result<Tensor> parse_npy(std::string_view bytes);

/// The header of version 1.0 that NumPy would write, padded to 64 bytes. Error: more dimensions than fit.
Result<std::string> npy_header(std::string_view descr, const std::vector<int64_t>& dims);

}  // namespace strop::api
