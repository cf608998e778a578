#include "onnx/importer.h"
#include "ops/families.h"

namespace strop::ops {

std::span<const onnx::Importer> pointwise_importers() { return {}; }

}  // namespace strop::ops
