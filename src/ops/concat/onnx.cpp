#include <array>

#include "onnx/importer.h"
#include "ops/concat/concat.h"
#include "ops/families.h"

namespace strop::ops {
namespace {

Result<void> import_concat(onnx::NodeContext& ctx) {
  // Required since opset 4; before, it defaults to 1.
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", ctx.opset() < 4 ? std::optional<int64_t>(1) : std::nullopt));
  std::vector<ir::ValueId> operands;
  for (size_t i = 0; i < ctx.input_count(); ++i) operands.push_back(ctx.input(i));
  STROP_ASSIGN(const auto output, ctx.emit(kConcat, ConcatAttrs{axis}, std::move(operands)));
  return ctx.set_output(0, output);
}

}  // namespace

std::span<const onnx::Importer> concat_importers() {
  static constexpr std::array kImporters = {onnx::Importer{"Concat", import_concat}};
  return kImporters;
}

}  // namespace strop::ops
