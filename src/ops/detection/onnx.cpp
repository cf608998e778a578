#include <array>

#include "onnx/importer.h"
#include "ops/detection/detection.h"
#include "ops/families.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<void> import_non_max_suppression(NodeContext& ctx) {
  NonMaxSuppressionAttrs attrs;
  STROP_ASSIGN(const int64_t center_format, ctx.attr_int("center_point_box", 0));
  attrs.center_format = center_format != 0;
  std::vector<ValueId> operands = {ctx.input(0), ctx.input(1)};
  onnx::EmitExtras extras;
  const auto take = [&](size_t index, std::string_view name, auto& target) {
    if (!ctx.has_input(index)) return;
    if (const Tensor* value = ctx.constant(index);
        value != nullptr && value->count() == 1 && value->dtype() != DType::String) {
      target = static_cast<std::remove_reference_t<decltype(target)>>(load_f64(*value)[0]);
      return;
    }
    extras.late.push_back({std::string(name), static_cast<int32_t>(operands.size())});
    operands.push_back(ctx.input(index));
  };
  take(2, "max_boxes", attrs.max_boxes);
  take(3, "iou_threshold", attrs.iou_threshold);
  take(4, "score_threshold", attrs.score_threshold);
  STROP_ASSIGN(const ValueId result, ctx.emit(kNonMaxSuppression, attrs, std::move(operands), std::move(extras)));
  return ctx.set_output(0, result);
}

}  // namespace

std::span<const onnx::Importer> detection_importers() {
  static constexpr std::array kImporters = {onnx::Importer{"NonMaxSuppression", import_non_max_suppression, 10}};
  return kImporters;
}

}  // namespace strop::ops
