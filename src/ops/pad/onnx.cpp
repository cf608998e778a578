#include <algorithm>
#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/pad/pad.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<PadMode> pad_mode(NodeContext& ctx) {
  STROP_ASSIGN(const std::string name, ctx.attr_string("mode", "constant"));
  const auto& names = kEnumNames<PadMode>;
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return ctx.invalid("mode '{}' is none of constant, reflect, edge, wrap", name);
  return static_cast<PadMode>(it - names.begin());
}

// Before opset 11 pads and value are attributes; opset 1 calls the pads "paddings".
Result<void> import_pad_attributes(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  STROP_ASSIGN(const PadMode mode, pad_mode(ctx));
  STROP_ASSIGN(const auto pads, ctx.attr_ints(ctx.opset() < 2 ? "paddings" : "pads"));
  STROP_ASSIGN(const double value, ctx.attr_float("value", 0.0));
  std::vector<ValueId> operands = {ctx.input(0)};
  if (value != 0 && mode == PadMode::Constant)
    operands.push_back(ctx.constant_value(Tensor::scalar(input.dtype, value)));
  STROP_ASSIGN(const ValueId output, ctx.emit(kPad, PadAttrs{mode, to_dims(pads), {}}, std::move(operands)));
  return ctx.set_output(0, output);
}

Result<void> import_pad(NodeContext& ctx) {
  STROP_ASSIGN(const PadMode mode, pad_mode(ctx));
  PadAttrs attrs{mode, {}, {}};
  const bool has_value = mode == PadMode::Constant && ctx.has_input(2);
  std::vector<ValueId> operands = {ctx.input(0), has_value ? ctx.input(2) : ir::kNone};
  onnx::EmitExtras extras;
  const auto take = [&](size_t index, std::string_view name, Dims& target) {
    if (!ctx.has_input(index)) return;
    if (auto known = ctx.known(index)) {
      target = *std::move(known);
      return;
    }
    extras.late.push_back({std::string(name), static_cast<int32_t>(operands.size())});
    operands.push_back(ctx.input(index));
  };
  take(1, "pads", attrs.pads);
  take(3, "axes", attrs.axes);
  if (!has_value && operands.size() == 2) operands.pop_back();
  STROP_ASSIGN(const ValueId output, ctx.emit(kPad, std::move(attrs), std::move(operands), std::move(extras)));
  return ctx.set_output(0, output);
}

}  // namespace

std::span<const onnx::Importer> pad_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"Pad", import_pad_attributes, 1, 10},
      onnx::Importer{"Pad", import_pad, 11},
  };
  return kImporters;
}

}  // namespace strop::ops
