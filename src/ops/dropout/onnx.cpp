#include <array>

#include "onnx/importer.h"
#include "ops/dropout/dropout.h"
#include "ops/families.h"
#include "ops/pointwise/pointwise.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

// The operand as it is; the mask, a bool since opset 10, of x's dtype before, is all ones.
Result<void> pass_through(NodeContext& ctx) {
  STROP_TRY(ctx.set_output(0, ctx.input(0)));
  if (!ctx.wants_output(1)) return {};
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  PointwiseAttrs attrs;
  attrs.program.add_input(0, x.dtype);
  attrs.program.outputs = {ctx.opset() < 10 ? attrs.program.add_number(x.dtype, 1) : attrs.program.add_integer(DType::Bool, 1)};
  STROP_ASSIGN(const ValueId mask, ctx.emit(kPointwise, std::move(attrs), {ctx.input(0)}));
  return ctx.set_output(1, mask);
}

Result<void> import_dropout(NodeContext& ctx) {
  const Tensor* training = ctx.constant(2);
  const bool infers = !ctx.has_input(2) || (training != nullptr && training->dtype() == DType::Bool &&
                                            training->count() == 1 && load_i64(*training)[0] == 0);
  if (infers) return pass_through(ctx);
  const size_t outputs = ctx.wants_output(1) ? 2 : 1;
  STROP_ASSIGN(const auto results, ctx.emit_many(kDropout, NoAttrs{}, {ctx.input(0), ctx.input(1), ctx.input(2)}, outputs));
  return ctx.set_outputs(results);
}

}  // namespace

std::span<const onnx::Importer> dropout_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Dropout", pass_through, 1, 11},
      onnx::Importer{"Dropout", import_dropout, 12},
  };
  return kImporters;
}

}  // namespace strop::ops
