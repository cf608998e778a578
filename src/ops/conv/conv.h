/// Convolution and transposed convolution, 1-D to 3-D, with an epilogue.
#pragma once

#include "ops/epilogue.h"
#include "ops/operator.h"

namespace strop::ops {

/// Operands: x [N, C, spatial…] ([N, spatial…, C] with input_channels_last), w [M, C/group, kernel…] (transposed:
/// [C, M/group, kernel…]), bias [M] or none, then the epilogue's operands 1, 2, …. Result [N, M, spatial…] ([N,
/// spatial…, M] with output_channels_last). Vectors have one entry per spatial axis; pads are all beginnings, then all
/// ends, and may be symbolic (SAME padding of dynamic sizes) or negative. Integer operands convolve exactly.
struct ConvAttrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  Dims pads;
  int64_t group = 1;
  bool transposed = false;
  std::vector<int64_t> output_padding;  ///< transposed only
  bool input_channels_last = false;
  bool output_channels_last = false;
  ScalarProgram epilogue;
  static constexpr auto fields = std::make_tuple(
      field("strides", &ConvAttrs::strides), field("dilations", &ConvAttrs::dilations), field("pads", &ConvAttrs::pads),
      field("group", &ConvAttrs::group), field("transposed", &ConvAttrs::transposed),
      field("output_padding", &ConvAttrs::output_padding),
      field("input_channels_last", &ConvAttrs::input_channels_last),
      field("output_channels_last", &ConvAttrs::output_channels_last), field("epilogue", &ConvAttrs::epilogue));
};
extern const Operator kConv;

inline constexpr size_t kConvBiasInput = 2;
/// The first epilogue operand's index among the node's inputs.
inline constexpr size_t kConvEpilogueInput = 3;

/// The result's dimensions. Errors: (C2) ranks, (C3) attributes, (C4) channels and groups.
Result<Dims> conv_dims(const ConvAttrs& attrs, const Dims& x, const Dims& w);

/// Where the channels are among a tensor's axes.
inline size_t channel_axis(bool channels_last, size_t rank) { return channels_last ? rank - 1 : 1; }
/// The first spatial axis.
inline size_t spatial_axis(bool channels_last) { return channels_last ? 1 : 2; }

}  // namespace strop::ops
