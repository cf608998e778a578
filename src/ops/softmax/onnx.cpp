#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/softmax/softmax.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// Before opset 13 the axes from `axis` (1 by default) on count as one.
template <SoftmaxKind kKind>
Result<void> import_softmax(NodeContext& ctx) {
  SoftmaxAttrs attrs;
  attrs.kind = kKind;
  attrs.flatten = ctx.opset() < 13;
  STROP_ASSIGN(attrs.axis, ctx.attr_int("axis", attrs.flatten ? 1 : -1));
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  if (attrs.flatten && input.has_rank() && (attrs.axis == -1 || attrs.axis == input.rank() - 1)) attrs.flatten = false;
  STROP_ASSIGN(const ValueId output, ctx.emit(kSoftmax, std::move(attrs), {ctx.input(0)}));
  return ctx.set_output(0, output);
}

}  // namespace

std::span<const onnx::Importer> softmax_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Softmax", import_softmax<SoftmaxKind::Softmax>},
      onnx::Importer{"LogSoftmax", import_softmax<SoftmaxKind::LogSoftmax>},
      onnx::Importer{"Hardmax", import_softmax<SoftmaxKind::Hardmax>},
  };
  return kImporters;
}

}  // namespace strop::ops
