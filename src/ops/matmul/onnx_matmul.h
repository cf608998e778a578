/// Import of matrix products as NumPy's matmul defines them.
#pragma once

#include "onnx/importer.h"

namespace strop::ops {

/// a times b. A vector counts as one row (a) or one column (b); the result loses that axis again. Both ranks must be
/// known.
Result<ir::ValueId> emit_matmul(onnx::NodeContext& ctx, ir::ValueId a, ir::ValueId b);

}  // namespace strop::ops
