#include <algorithm>
#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/scatter/scatter.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<ScatterReduction> reduction(NodeContext& ctx) {
  STROP_ASSIGN(const std::string name, ctx.attr_string("reduction", "none"));
  const auto& names = kEnumNames<ScatterReduction>;
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return ctx.invalid("reduction '{}' is none of none, add, mul, max, min", name);
  return static_cast<ScatterReduction>(it - names.begin());
}

Result<void> finish(NodeContext& ctx, const Operator& op, Attrs attrs) {
  STROP_ASSIGN(const ValueId output, ctx.emit(op, std::move(attrs), {ctx.input(0), ctx.input(1), ctx.input(2)}));
  return ctx.set_output(0, output);
}

Result<void> import_scatter_elements(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", 0));
  STROP_ASSIGN(const ScatterReduction how, reduction(ctx));
  return finish(ctx, kScatterElements, ScatterElementsAttrs{axis, how});
}

Result<void> import_scatter_nd(NodeContext& ctx) {
  STROP_ASSIGN(const ScatterReduction how, reduction(ctx));
  return finish(ctx, kScatterND, ScatterNDAttrs{how});
}

Result<void> import_tensor_scatter(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", -2));
  STROP_ASSIGN(const std::string mode, ctx.attr_string("mode", "linear"));
  if (mode != "linear" && mode != "circular") return ctx.invalid("mode '{}' is neither linear nor circular", mode);
  return finish(ctx, kTensorScatter, TensorScatterAttrs{axis, mode == "circular"});
}

}  // namespace

std::span<const onnx::Importer> scatter_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Scatter", import_scatter_elements, 9},
      onnx::Importer{"ScatterElements", import_scatter_elements, 11},
      onnx::Importer{"ScatterND", import_scatter_nd, 11},
      onnx::Importer{"TensorScatter", import_tensor_scatter, 24},
  };
  return kImporters;
}

}  // namespace strop::ops
