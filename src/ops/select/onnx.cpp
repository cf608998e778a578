#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/select/select.h"

namespace strop::ops {
namespace {

using onnx::NodeContext;

Result<void> import_compress(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", 0));
  const CompressAttrs attrs{!ctx.has_attr("axis"), axis};
  STROP_ASSIGN(const auto output, ctx.emit(kCompress, attrs, {ctx.input(0), ctx.input(1)}));
  return ctx.set_output(0, output);
}

Result<void> import_non_zero(NodeContext& ctx) {
  STROP_ASSIGN(const auto output, ctx.emit(kNonZero, NoAttrs{}, {ctx.input(0)}));
  return ctx.set_output(0, output);
}

Result<void> import_unique(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", 0));
  STROP_ASSIGN(const int64_t sorted, ctx.attr_int("sorted", 1));
  const UniqueAttrs attrs{!ctx.has_attr("axis"), axis, sorted != 0};
  STROP_ASSIGN(const auto outputs, ctx.emit_many(kUnique, attrs, {ctx.input(0)}, ctx.output_count()));
  return ctx.set_outputs(outputs);
}

}  // namespace

std::span<const onnx::Importer> select_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Compress", import_compress, 9},
      onnx::Importer{"NonZero", import_non_zero, 9},
      onnx::Importer{"Unique", import_unique, 11},
  };
  return kImporters;
}

}  // namespace strop::ops
