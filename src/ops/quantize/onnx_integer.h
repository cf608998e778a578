/// Import of the operators that multiply quantised numbers: exact integer products of operands less their zero points.
#pragma once

#include <span>

#include "onnx/importer.h"

namespace strop::ops {

/// MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv.
std::span<const onnx::Importer> integer_importers();

}  // namespace strop::ops
