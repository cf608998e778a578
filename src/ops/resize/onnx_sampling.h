/// Importers of sampling operators other than Resize.
#pragma once

#include "onnx/importer.h"

namespace strop::ops {

Result<void> import_grid_sample(onnx::NodeContext& ctx);
Result<void> import_affine_grid(onnx::NodeContext& ctx);
Result<void> import_col2im(onnx::NodeContext& ctx);
Result<void> import_deform_conv(onnx::NodeContext& ctx);

}  // namespace strop::ops
