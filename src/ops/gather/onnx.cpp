#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/gather/gather.h"

namespace strop::ops {
namespace {

using onnx::NodeContext;

Result<void> import_with(NodeContext& ctx, const Operator& op, Attrs attrs) {
  STROP_ASSIGN(const auto output, ctx.emit(op, std::move(attrs), {ctx.input(0), ctx.input(1)}));
  return ctx.set_output(0, output);
}

Result<void> import_gather(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", 0));
  return import_with(ctx, kGather, GatherAttrs{axis});
}

Result<void> import_gather_elements(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", 0));
  return import_with(ctx, kGatherElements, GatherAttrs{axis});
}

Result<void> import_gather_nd(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t batch, ctx.attr_int("batch_dims", 0));
  return import_with(ctx, kGatherND, GatherNDAttrs{batch});
}

}  // namespace

std::span<const onnx::Importer> gather_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Gather", import_gather},
      onnx::Importer{"GatherElements", import_gather_elements, 11},
      onnx::Importer{"GatherND", import_gather_nd, 11},
  };
  return kImporters;
}

}  // namespace strop::ops
