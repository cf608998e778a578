#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/signal/signal.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

/// Operands that become attributes where they are known, and late ones where they are not.
class Fields {
 public:
  explicit Fields(NodeContext& ctx, std::vector<ValueId> operands) : ctx_(ctx), operands_(std::move(operands)) {}

  /// One integer from operand `index`, if it is there.
  Result<void> integer(size_t index, std::string_view name, Dim& target) {
    Dims values;
    STROP_TRY(integers(index, name, values));
    if (values.size() > 1) return ctx_.invalid("operand {} has {} values", index, values.size());
    if (!values.empty()) target = values[0];
    return {};
  }
  Result<void> integers(size_t index, std::string_view name, Dims& target) {
    if (!ctx_.has_input(index)) return {};
    STROP_TRY(ctx_.tensor(index));
    if (auto known = ctx_.known(index)) {
      target = *std::move(known);
    } else {
      late(index, name);
    }
    return {};
  }
  Result<void> number(size_t index, std::string_view name, double& target) {
    STROP_TRY(ctx_.tensor(index));
    const Tensor* constant = ctx_.constant(index);
    if (constant && constant->count() == 1 && is_float(constant->dtype())) {
      target = load_f64(*constant)[0];
    } else {
      late(index, name);
    }
    return {};
  }
  void late(size_t index, std::string_view name) {
    extras_.late.push_back({std::string(name), static_cast<int32_t>(operands_.size())});
    operands_.push_back(ctx_.input(index));
  }
  Result<void> emit(const Operator& op, Attrs attrs) {
    STROP_ASSIGN(const ValueId result, ctx_.emit(op, std::move(attrs), std::move(operands_), std::move(extras_)));
    return ctx_.set_output(0, result);
  }

 private:
  NodeContext& ctx_;
  std::vector<ValueId> operands_;
  onnx::EmitExtras extras_;
};

template <WindowKind kind>
Result<void> import_window_function(NodeContext& ctx) {
  WindowFunctionAttrs attrs;
  attrs.kind = kind;
  STROP_ASSIGN(const int64_t periodic, ctx.attr_int("periodic", 1));
  attrs.periodic = periodic != 0;
  STROP_ASSIGN(attrs.to, ctx.attr_dtype("output_datatype", DType::F32));
  STROP_TRY(ctx.tensor(0));
  Fields fields(ctx, {});
  STROP_TRY(fields.integer(0, "size", attrs.size));
  return fields.emit(kWindowFunction, std::move(attrs));
}

Result<void> import_mel(NodeContext& ctx) {
  MelWeightMatrixAttrs attrs;
  STROP_ASSIGN(attrs.to, ctx.attr_dtype("output_datatype", DType::F32));
  for (const size_t i : {0, 1, 2}) STROP_TRY(ctx.tensor(i));
  Fields fields(ctx, {});
  STROP_TRY(fields.integer(0, "mel_bins", attrs.mel_bins));
  STROP_TRY(fields.integer(1, "dft_length", attrs.dft_length));
  STROP_TRY(fields.integer(2, "sample_rate", attrs.sample_rate));
  STROP_TRY(fields.number(3, "lower_hertz", attrs.lower_hertz));
  STROP_TRY(fields.number(4, "upper_hertz", attrs.upper_hertz));
  return fields.emit(kMelWeightMatrix, std::move(attrs));
}

// Opset 17 has the axis as an attribute, opset 20 as operand 2.
Result<void> import_dft(NodeContext& ctx) {
  DftAttrs attrs;
  STROP_ASSIGN(const int64_t one_sided, ctx.attr_int("onesided", 0));
  STROP_ASSIGN(const int64_t inverse, ctx.attr_int("inverse", 0));
  attrs.one_sided = one_sided != 0;
  attrs.inverse = inverse != 0;
  Fields fields(ctx, {ctx.input(0)});
  STROP_TRY(fields.integers(1, "length", attrs.length));
  if (ctx.opset() < 20) {
    STROP_ASSIGN(attrs.axis, ctx.attr_int("axis", 1));
  } else if (ctx.has_input(2)) {
    const auto constant = ctx.constant_ints(2);
    if (constant && constant->size() == 1) {
      attrs.axis = constant->front();
    } else {
      fields.late(2, "axis");
    }
  }
  return fields.emit(kDft, std::move(attrs));
}

Result<void> import_stft(NodeContext& ctx) {
  StftAttrs attrs;
  STROP_ASSIGN(const int64_t one_sided, ctx.attr_int("onesided", 1));
  attrs.one_sided = one_sided != 0;
  STROP_TRY(ctx.tensor(1));
  Fields fields(ctx, {ctx.input(0), ctx.input(2)});
  STROP_TRY(fields.integer(1, "frame_step", attrs.frame_step));
  STROP_TRY(fields.integers(3, "frame_length", attrs.frame_length));
  return fields.emit(kStft, std::move(attrs));
}

}  // namespace

std::span<const onnx::Importer> signal_importers() {
  static constexpr std::array<onnx::Importer, 6> kImporters = {{
      {"HannWindow", import_window_function<WindowKind::Hann>, 17},
      {"HammingWindow", import_window_function<WindowKind::Hamming>, 17},
      {"BlackmanWindow", import_window_function<WindowKind::Blackman>, 17},
      {"MelWeightMatrix", import_mel, 17},
      {"DFT", import_dft, 17},
      {"STFT", import_stft, 17},
  }};
  return kImporters;
}

}  // namespace strop::ops
