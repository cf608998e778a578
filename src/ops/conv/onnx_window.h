/// The attributes of a sliding window as ONNX writes them: shared by the importers of convolution and pooling.
#pragma once

#include <string>
#include <vector>

#include "onnx/importer.h"
#include "tensor/dim.h"

namespace strop::ops {

struct WindowAttrs {
  std::vector<int64_t> kernel, strides, dilations;
  Dims pads;  ///< all beginnings, then all ends
  std::string auto_pad = "NOTSET";
};

/// Reads strides, dilations, pads and auto_pad for `spatial` axes and checks their sizes. VALID becomes zero pads; SAME
/// is left to resolve_same_padding.
Result<WindowAttrs> import_window(onnx::NodeContext& ctx, size_t spatial, const std::vector<int64_t>& kernel);

/// SAME_UPPER and SAME_LOWER: pads such that the result has ceil(size / stride) positions per axis.
void resolve_same_padding(WindowAttrs& window, const Dims& spatial_dims);

}  // namespace strop::ops
