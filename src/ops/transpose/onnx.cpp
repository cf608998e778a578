#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/transpose/transpose.h"

namespace strop::ops {
namespace {

Result<void> import_transpose(onnx::NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  STROP_ASSIGN(auto perm, ctx.attr_ints("perm", std::vector<int64_t>{}));
  if (input.has_rank()) {
    auto full = full_permutation(perm, input.rank());
    if (!full.ok()) return ctx.node_error(full.error().code, full.error().message);
    perm = *std::move(full);
  }
  STROP_ASSIGN(const auto output, ctx.emit(kTranspose, TransposeAttrs{std::move(perm)}, {ctx.input(0)}));
  return ctx.set_output(0, output);
}

}  // namespace

std::span<const onnx::Importer> transpose_importers() {
  static constexpr std::array kImporters = {onnx::Importer{"Transpose", import_transpose}};
  return kImporters;
}

}  // namespace strop::ops
