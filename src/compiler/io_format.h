/// Inputs and outputs of an engine in another type or order of axes than the model's: conversions at the border of the
/// graph, put there before the passes, which fuse them with their neighbours or cancel them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine_file.h"
#include "ir/graph.h"

namespace strop::compiler {

struct IoFormat {
  DType dtype = DType::Undefined;  ///< Undefined: the model's
  /// "nhwc" (4 dimensions) and "ndhwc" (5): channels last where the model has them second, as ONNX's operators do;
  /// "nchw" and "ncdhw": as the model has them, and "": whatever that is.
  std::string layout;
};
/// By the name of an input or output; one that is both counts twice.
using IoFormats = std::map<std::string, IoFormat>;

/// Inserts conversions (with the meaning of ONNX's Cast and Transpose) so that the graph's ports are as asked for; the
/// graph between them stays as it is. Errors (InvalidArgument) name the port.
Result<void> apply_io(ir::Graph& graph, const IoFormats& formats);

/// Dimensions of a port in `layout`, in the order of the model. Other numbers of dimensions than the layout's stay.
std::vector<int64_t> in_model_order(std::string_view layout, std::vector<int64_t> dims);

/// "f16:nhwc", "f16", "nhwc"
std::string to_text(const IoFormat& format);
/// In an engine's record: "io/NAME" → text.
void record_io(const IoFormats& formats, engine::EngineRecord& record);
/// Error: a record that record_io does not write.
Result<IoFormats> recorded_io(const engine::EngineRecord& record);

}  // namespace strop::compiler
