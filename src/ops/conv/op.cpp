#include <algorithm>
#include <array>

#include "ops/conv/conv.h"
#include "ops/families.h"
#include "ops/reference_gemm.h"

namespace strop::ops {
namespace {

Result<void> infer_conv(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<ConvAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const TensorType w, ctx.tensor(1));
  // (C1) one numeric type.
  if (x.dtype != w.dtype || !(is_float(x.dtype) || is_integer(x.dtype))) {
    return error(ErrorCode::InvalidModel, "(C1) cannot convolve {} with weights of {}", to_string(x.dtype),
                 to_string(w.dtype));
  }
  TensorType result{x.dtype, std::nullopt, {}};
  if (x.has_rank() && w.has_rank()) {
    STROP_ASSIGN(result.shape, conv_dims(attrs, x.dims(), w.dims()));
  }
  if (ctx.has_input(kConvBiasInput)) {
    STROP_ASSIGN(const TensorType bias, ctx.tensor(kConvBiasInput));
    // (C5) bias has one value per output channel.
    const bool fits = bias.dtype == x.dtype && (!bias.has_rank() || bias.rank() == 1);
    if (!fits)
      return error(ErrorCode::InvalidModel, "(C5) the bias is {}, one value of {} per output channel is needed",
                   to_string(bias), to_string(x.dtype));
    if (bias.has_rank() && result.has_rank()) {
      const Dim& channels =
          result.dim(static_cast<int64_t>(channel_axis(attrs.output_channels_last, result.dims().size())));
      if (bias.dim(0).is_constant() && channels.is_constant() && !(bias.dim(0) == channels)) {
        return error(ErrorCode::InvalidModel, "(C5) the bias has {} values, the result {} channels",
                     bias.dim(0).to_string(), channels.to_string());
      }
    }
  }
  STROP_ASSIGN(const DType dtype, infer_epilogue(attrs.epilogue, result,
                                                 ctx.inputs.subspan(std::min(kConvEpilogueInput, ctx.inputs.size()))));
  ctx.outputs[0] = TensorType{dtype, result.shape, {}};
  return {};
}

// Everything as 3-D, channels first, in doubles: axes that are missing have size 1.
struct Reference {
  int64_t batch = 1, channels = 1, out_channels = 1, group = 1;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

Reference describe(const ConvAttrs& attrs, const Tensor& x, const Tensor& w, const std::vector<int64_t>& out_dims) {
  Reference r;
  const auto rank = static_cast<size_t>(x.rank());
  const size_t spatial = rank - 2;
  r.batch = x.dim(0);
  r.channels = x.dims()[channel_axis(attrs.input_channels_last, rank)];
  r.out_channels = out_dims[channel_axis(attrs.output_channels_last, rank)];
  r.group = attrs.group;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    r.in[axis] = x.dims()[spatial_axis(attrs.input_channels_last) + i];
    r.out[axis] = out_dims[spatial_axis(attrs.output_channels_last) + i];
    r.kernel[axis] = w.dims()[2 + i];
    r.stride[axis] = attrs.strides[i];
    r.dilation[axis] = attrs.dilations[i];
    r.pad[axis] = attrs.pads[i].constant();
  }
  return r;
}

// [N, pixels, C] → [N, C, pixels], or the reverse.
std::vector<double> swap_channels(const std::vector<double>& from, int64_t batch, int64_t rows, int64_t columns) {
  std::vector<double> to(from.size());
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j)
        to[static_cast<size_t>((n * columns + j) * rows + i)] = from[static_cast<size_t>((n * rows + i) * columns + j)];
    }
  }
  return to;
}

// The input index that output position `at` and tap meet along one axis, or -1 in the padding. A transposed convolution
// meets input i where i * stride - pad + tap * dilation is the output position.
int64_t meet(const Reference& r, bool transposed, size_t axis, int64_t at, int64_t tap) {
  if (!transposed) {
    const int64_t index = at * r.stride[axis] - r.pad[axis] + tap * r.dilation[axis];
    return index >= 0 && index < r.in[axis] ? index : -1;
  }
  const int64_t scaled = at + r.pad[axis] - tap * r.dilation[axis];
  if (scaled < 0 || scaled % r.stride[axis] != 0) return -1;
  return scaled / r.stride[axis] < r.in[axis] ? scaled / r.stride[axis] : -1;
}

// Gathers what `count` output pixels from `first` see into columns [C/group * taps, count].
void gather_columns(const Reference& r, bool transposed, const double* image, int64_t first, int64_t count,
                    double* columns) {
  const int64_t channels = r.channels / r.group;
  std::vector<int64_t> source(static_cast<size_t>(count));
  for (int64_t tap = 0; tap < r.taps(); ++tap) {
    const std::array<int64_t, 3> k = {tap / (r.kernel[1] * r.kernel[2]), tap / r.kernel[2] % r.kernel[1],
                                      tap % r.kernel[2]};
    for (int64_t p = 0; p < count; ++p) {
      const int64_t pixel = first + p;
      const std::array<int64_t, 3> at = {pixel / (r.out[1] * r.out[2]), pixel / r.out[2] % r.out[1], pixel % r.out[2]};
      int64_t index = 0;
      for (size_t axis = 0; axis < 3 && index >= 0; ++axis) {
        const int64_t met = meet(r, transposed, axis, at[axis], k[axis]);
        index = met < 0 ? -1 : index * r.in[axis] + met;
      }
      source[static_cast<size_t>(p)] = index;
    }
    for (int64_t c = 0; c < channels; ++c) {
      double* row = columns + (c * r.taps() + tap) * count;
      const double* plane = image + c * r.in_pixels();
      for (int64_t p = 0; p < count; ++p)
        row[p] = source[static_cast<size_t>(p)] < 0 ? 0.0 : plane[source[static_cast<size_t>(p)]];
    }
  }
}

// Weights as [group][M/group][C/group * taps].
std::vector<double> arrange_weights(const Reference& r, bool transposed, std::vector<double> w) {
  if (!transposed) return w;
  std::vector<double> out(w.size());
  const int64_t channels = r.channels / r.group;
  const int64_t results = r.out_channels / r.group;
  for (int64_t g = 0; g < r.group; ++g) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t m = 0; m < results; ++m) {
        for (int64_t t = 0; t < r.taps(); ++t) {
          out[static_cast<size_t>(((g * results + m) * channels + c) * r.taps() + t)] =
              w[static_cast<size_t>(((g * channels + c) * results + m) * r.taps() + t)];
        }
      }
    }
  }
  return out;
}

Result<void> evaluate_conv(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<ConvAttrs>();
  const Tensor& x = ctx.in(0);
  const Tensor& w = ctx.in(1);
  STROP_ASSIGN(const Dims symbolic, conv_dims(attrs, to_dims(x.dims()), to_dims(w.dims())));
  const std::vector<int64_t> dims = *as_constants(symbolic);
  const Reference r = describe(attrs, x, w, dims);
  std::vector<double> input = load_f64(x);
  if (attrs.input_channels_last) input = swap_channels(input, r.batch, r.in_pixels(), r.channels);
  const std::vector<double> weights = arrange_weights(r, attrs.transposed, load_f64(w));
  const int64_t results = r.out_channels / r.group;
  const int64_t depth = r.channels / r.group * r.taps();
  std::vector<double> sums(static_cast<size_t>(element_count(dims)), 0.0);
  if (ctx.has_input(kConvBiasInput)) {
    const std::vector<double> bias = load_f64(ctx.in(kConvBiasInput));
    for (int64_t i = 0; i < r.batch * r.out_channels; ++i) {
      std::fill_n(sums.begin() + i * r.out_pixels(), r.out_pixels(), bias[static_cast<size_t>(i % r.out_channels)]);
    }
  }
  constexpr int64_t kPixels = 256;
  const int64_t blocks = (r.out_pixels() + kPixels - 1) / kPixels;
  ctx.threads.run(r.batch * r.group * blocks, [&](int64_t task, int) {
    const int64_t first = task % blocks * kPixels;
    const int64_t count = std::min(kPixels, r.out_pixels() - first);
    const int64_t plane = task / blocks;  // image and group
    std::vector<double> columns(static_cast<size_t>(depth * count));
    gather_columns(r, attrs.transposed, input.data() + plane * (r.channels / r.group) * r.in_pixels(), first, count,
                   columns.data());
    std::vector<double> block(static_cast<size_t>(results * count), 0.0);
    reference_gemm(results, count, depth, weights.data() + plane % r.group * results * depth, columns.data(),
                   block.data());
    for (int64_t m = 0; m < results; ++m) {
      double* to = sums.data() + (plane * results + m) * r.out_pixels() + first;
      for (int64_t p = 0; p < count; ++p) to[p] += block[static_cast<size_t>(m * count + p)];
    }
  });
  if (attrs.output_channels_last) sums = swap_channels(sums, r.batch, r.out_channels, r.out_pixels());
  ReferenceSums result{x.dtype(), dims, {}, {}};
  if (is_float(x.dtype())) {
    result.numbers = std::move(sums);
  } else {
    result.integers.assign(sums.begin(), sums.end());
  }
  ctx.outputs[0] = apply_epilogue(attrs.epilogue, result,
                                  ctx.inputs.subspan(std::min(kConvEpilogueInput, ctx.inputs.size())), ctx.threads);
  return {};
}

ConvAttrs conv2d(std::vector<int64_t> strides, std::vector<int64_t> pads, int64_t group = 1,
                 std::vector<int64_t> dilations = {1, 1}) {
  ConvAttrs attrs;
  attrs.strides = std::move(strides);
  attrs.dilations = std::move(dilations);
  attrs.pads = to_dims(pads);
  attrs.group = group;
  attrs.output_padding.assign(attrs.strides.size(), 0);
  return attrs;
}

ConvAttrs channels_last(ConvAttrs attrs) {
  attrs.input_channels_last = attrs.output_channels_last = true;
  return attrs;
}

ConvAttrs with_relu_add(ConvAttrs attrs) {
  ScalarProgram& program = attrs.epilogue;
  const int32_t sum = program.add_input(0, DType::F32);
  const int32_t residual = program.add_input(1, DType::F32);
  program.outputs = {program.add(Fn::Relu, {program.add(Fn::Add, {sum, residual})})};
  return attrs;
}

ConvAttrs with_sigmoid(ConvAttrs attrs) {
  ScalarProgram& program = attrs.epilogue;
  program.outputs = {program.add(Fn::Sigmoid, {program.add_input(0, DType::F32)})};
  return attrs;
}

ConvAttrs transposed(ConvAttrs attrs, std::vector<int64_t> output_padding) {
  attrs.transposed = true;
  attrs.output_padding = std::move(output_padding);
  return attrs;
}

Type f32(const std::vector<int64_t>& dims) { return Type(DType::F32, to_dims(dims)); }

std::vector<WorkedCase> conv_cases() {
  const Type none;
  const ConvAttrs same = conv2d({1, 1}, {1, 1, 1, 1});
  return {
      {"3x3", same, {f32({1, 5, 9, 11}), f32({7, 5, 3, 3}), f32({7})}},
      {"3x3_last", channels_last(same), {f32({1, 9, 11, 16}), f32({24, 16, 3, 3}), f32({24})}},
      {"3x3_last_wide", channels_last(same), {f32({1, 14, 14, 64}), f32({64, 64, 3, 3})}},
      {"3x3_stride2_last",
       channels_last(conv2d({2, 2}, {1, 1, 1, 1})),
       {f32({2, 13, 10, 8}), f32({16, 8, 3, 3}), f32({16})}},
      {"1x1_last", channels_last(conv2d({1, 1}, {0, 0, 0, 0})), {f32({2, 7, 7, 33}), f32({40, 33, 1, 1}), f32({40})}},
      {"1x1_relu_add_last",
       channels_last(with_relu_add(conv2d({1, 1}, {0, 0, 0, 0}))),
       {f32({1, 7, 7, 32}), f32({48, 32, 1, 1}), f32({48}), f32({1, 7, 7, 48})}},
      {"3x3_relu_add", with_relu_add(same), {f32({1, 5, 6, 7}), f32({8, 5, 3, 3}), f32({8}), f32({1, 8, 6, 7})}},
      {"3x3_sigmoid_last", channels_last(with_sigmoid(same)), {f32({1, 6, 7, 8}), f32({8, 8, 3, 3}), f32({8})}},
      {"stem_7x7", conv2d({2, 2}, {3, 3, 3, 3}), {f32({1, 3, 31, 29}), f32({16, 3, 7, 7}), f32({16})}},
      {"depthwise", conv2d({1, 1}, {1, 1, 1, 1}, 12), {f32({1, 12, 9, 9}), f32({12, 1, 3, 3}), f32({12})}},
      {"depthwise_last",
       channels_last(conv2d({1, 1}, {1, 1, 1, 1}, 24)),
       {f32({1, 9, 9, 24}), f32({24, 1, 3, 3}), f32({24})}},
      {"depthwise_stride2_last",
       channels_last(conv2d({2, 2}, {2, 2, 2, 2}, 16)),
       {f32({1, 12, 9, 16}), f32({16, 1, 5, 5}), f32({16})}},
      {"grouped_last", channels_last(conv2d({1, 1}, {1, 1, 1, 1}, 4)), {f32({1, 8, 8, 32}), f32({32, 8, 3, 3})}},
      {"grouped", conv2d({1, 1}, {0, 0, 0, 0}, 3), {f32({2, 9, 5, 5}), f32({6, 3, 1, 1})}},
      {"dilated", conv2d({1, 1}, {2, 2, 2, 2}, 1, {2, 2}), {f32({1, 3, 10, 10}), f32({4, 3, 3, 3})}},
      {"asymmetric_pads", conv2d({1, 2}, {0, 1, 2, 3}), {f32({1, 3, 8, 9}), f32({4, 3, 3, 2})}},
      {"1d", conv2d({2}, {1, 2}, 1, {1}), {f32({2, 4, 15}), f32({6, 4, 3}), f32({6})}},
      {"3d", conv2d({1, 2, 1}, {1, 0, 1, 1, 0, 1}, 1, {1, 1, 1}), {f32({1, 2, 5, 6, 7}), f32({3, 2, 3, 2, 3})}},
      {"transposed",
       transposed(conv2d({2, 2}, {1, 1, 1, 1}), {1, 1}),
       {f32({1, 4, 6, 5}), f32({4, 3, 3, 3}), f32({3})}},
      {"transposed_last",
       channels_last(transposed(conv2d({2, 2}, {0, 0, 0, 0}), {0, 0})),
       {f32({1, 6, 5, 16}), f32({16, 8, 2, 2}), f32({8})}},
      {"transposed_grouped",
       transposed(conv2d({3, 2}, {0, 1, 1, 0}, 2), {0, 1}),
       {f32({1, 4, 3, 4}), f32({4, 2, 3, 3})}},
      {"i32", same, {Type(DType::I32, {1, 2, 5, 5}), Type(DType::I32, {3, 2, 3, 3})}},
      {"f16", same, {Type(DType::F16, {1, 2, 5, 5}), Type(DType::F16, {3, 2, 3, 3})}},
  };
}

}  // namespace

Result<Dims> conv_dims(const ConvAttrs& attrs, const Dims& x, const Dims& w) {
  const size_t rank = x.size();
  // (C2) 1 to 3 spatial axes, weights of the same rank.
  if (rank < 3 || rank > 5 || w.size() != rank) {
    return error(
        ErrorCode::InvalidModel,
        "(C2) an operand of rank {} cannot be convolved with weights of rank {}: 1 to 3 spatial axes are possible",
        rank, w.size());
  }
  const size_t spatial = rank - 2;
  // (C3) one stride and dilation per axis, at least 1; two pads per axis.
  const auto positive = [&](const std::vector<int64_t>& values) {
    return values.size() == spatial && std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 1; });
  };
  if (!positive(attrs.strides) || !positive(attrs.dilations) || attrs.pads.size() != 2 * spatial || attrs.group < 1) {
    return error(ErrorCode::InvalidModel, "(C3) strides, dilations, pads or group do not fit {} spatial axes", spatial);
  }
  if (attrs.transposed && attrs.output_padding.size() != spatial)
    return error(ErrorCode::InvalidModel, "(C3) output_padding does not fit {} spatial axes", spatial);
  const Dim& channels = x[channel_axis(attrs.input_channels_last, rank)];
  const Dim group(attrs.group);
  const Dim in_channels = attrs.transposed ? w[0] : w[1] * group;
  const Dim out_channels = attrs.transposed ? w[1] * group : w[0];
  // (C4) channels match, and groups divide them.
  if (channels.is_constant() && in_channels.is_constant() && !(channels == in_channels)) {
    return error(ErrorCode::InvalidModel, "(C4) the operand has {} channels, the weights take {} in {} groups",
                 channels.to_string(), in_channels.to_string(), attrs.group);
  }
  const Dim divided = attrs.transposed ? w[0] : out_channels;
  if (divided.is_constant() && divided.constant() % attrs.group != 0) {
    return error(ErrorCode::InvalidModel, "(C4) {} channels cannot be divided into {} groups", divided.to_string(),
                 attrs.group);
  }
  Dims result(rank);
  result[0] = x[0];
  result[channel_axis(attrs.output_channels_last, rank)] = out_channels;
  for (size_t i = 0; i < spatial; ++i) {
    const Dim& size = x[spatial_axis(attrs.input_channels_last) + i];
    const Dim reach = (w[2 + i] - Dim(1)) * Dim(attrs.dilations[i]);
    const Dim pads = attrs.pads[i] + attrs.pads[spatial + i];
    Dim out;
    if (attrs.transposed) {
      out = (size - Dim(1)) * Dim(attrs.strides[i]) + reach + Dim(1) + Dim(attrs.output_padding[i]) - pads;
    } else {
      out = floor_div(size + pads - reach - Dim(1), Dim(attrs.strides[i])) + Dim(1);
    }
    if (out.is_constant() && out.constant() < 0) {
      return error(ErrorCode::InvalidModel, "(C3) the window is larger than the padded operand along spatial axis {}",
                   i);
    }
    result[spatial_axis(attrs.output_channels_last) + i] = out;
  }
  return result;
}

const Operator kConv{
    .name = "Conv",
    .make_attrs = [] { return Attrs(ConvAttrs{}); },
    .infer = infer_conv,
    .evaluate = evaluate_conv,
    .cases = conv_cases,
};

std::span<const Operator* const> conv_operators() {
  static constexpr std::array<const Operator*, 1> kOperators = {&kConv};
  return kOperators;
}

}  // namespace strop::ops
