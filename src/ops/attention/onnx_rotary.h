/// RotaryEmbedding becomes slices, one pointwise rotation and concatenations. Private to attention/.
#pragma once

#include "onnx/importer.h"

namespace strop::ops {

Result<void> import_rotary_embedding(onnx::NodeContext& ctx);

}  // namespace strop::ops
