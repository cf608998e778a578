/// What the importers of elementwise operators share.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "onnx/importer.h"
#include "ops/pointwise/pointwise.h"

namespace strop::ops {

/// Emits a Pointwise node, which becomes the ONNX node's output 0.
Result<void> emit_program(onnx::NodeContext& ctx, const ScalarProgram& program, std::vector<ir::ValueId> operands);
/// The same, as an intermediate value.
Result<ir::ValueId> emit_pointwise(onnx::NodeContext& ctx, const ScalarProgram& program,
                                   std::vector<ir::ValueId> operands);

/// Operand `index` as a tensor of a type for which `fn` is defined, or the error that says so.
Result<TensorType> operand_for(onnx::NodeContext& ctx, Fn fn, size_t index);

/// Operand 1 of a binary operator as it broadcasts to operand 0. Before opset 7, `broadcast` and `axis` say where its
/// axes belong: a Reshape appends the missing trailing ones.
Result<ir::ValueId> second_operand(onnx::NodeContext& ctx);

/// The importers of this family, by file.
std::span<const onnx::Importer> unary_importers();
std::span<const onnx::Importer> binary_importers();
std::span<const onnx::Importer> activation_importers();
std::span<const onnx::Importer> cast_importers();

}  // namespace strop::ops
