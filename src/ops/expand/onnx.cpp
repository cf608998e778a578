#include <array>

#include "onnx/importer.h"
#include "ops/expand/expand.h"
#include "ops/families.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// Emits `op`, whose only field is the vector that operand 1 holds.
template <class AttrsType>
Result<void> import_with_vector(NodeContext& ctx, const Operator& op, std::string_view name) {
  if (auto known = ctx.known(1)) {
    STROP_ASSIGN(const ValueId output, ctx.emit(op, AttrsType{*std::move(known)}, {ctx.input(0)}));
    return ctx.set_output(0, output);
  }
  STROP_ASSIGN(const ValueId output,
               ctx.emit(op, AttrsType{}, {ctx.input(0), ctx.input(1)}, {.late = {{std::string(name), 1}}}));
  return ctx.set_output(0, output);
}

Result<void> import_expand(NodeContext& ctx) { return import_with_vector<ExpandAttrs>(ctx, kExpand, "shape"); }
Result<void> import_tile(NodeContext& ctx) { return import_with_vector<TileAttrs>(ctx, kTile, "repeats"); }

// Opset 1 names one axis and its repeats by two scalar operands of the data's dtype.
Result<void> import_tile_one_axis(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  const Tensor* tiles = ctx.constant(1);
  const Tensor* axis = ctx.constant(2);
  if (!input.has_rank() || tiles == nullptr || axis == nullptr || tiles->count() != 1 || axis->count() != 1) {
    return ctx.unsupported("opset 1 form with tiles or axis that are not constant, or an operand of unknown rank");
  }
  const auto at = normalize_axis(static_cast<int64_t>(load_f64(*axis)[0]), input.rank(), "axis");
  if (!at.ok()) return ctx.node_error(at.error().code, at.error().message);
  Dims repeats(static_cast<size_t>(input.rank()), Dim(1));
  repeats[static_cast<size_t>(*at)] = Dim(static_cast<int64_t>(load_f64(*tiles)[0]));
  STROP_ASSIGN(const ValueId output, ctx.emit(kTile, TileAttrs{std::move(repeats)}, {ctx.input(0)}));
  return ctx.set_output(0, output);
}

}  // namespace

std::span<const onnx::Importer> expand_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Expand", import_expand, 8},
      onnx::Importer{"Tile", import_tile_one_axis, 1, 5},
      onnx::Importer{"Tile", import_tile, 6},
  };
  return kImporters;
}

}  // namespace strop::ops
