/// fp32 convolution on the CPU, channels-last: 1-D, 2-D and 3-D, grouped, strided, dilated, transposed.
///
/// An activation of N images, D·H·W pixels and C channels lies in memory as N·D·H·W pixels in row-major order, one
/// every `pixel_stride` floats (at least C), its channels contiguous; 2-D has D = 1, 1-D has D = H = 1. Triples of
/// sizes are always in the order depth, height, width.
///
/// Use: pick a method with `why_not(...) == nullptr`, `plan_conv` once per shape, `pack_weights` once per model,
/// `run_conv` often. Running allocates nothing.
///
/// Numerics: fp32 accumulation with fused multiply-adds where the target has them, in an order that depends on the
/// problem and the config, never on the number of threads. Winograd adds the error of its transforms, see ConvMethod.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/threads.h"
#include "kernels/cpu_target.h"

namespace strop::kernels {

/// Depth, height, width.
using Extent3 = std::array<int64_t, 3>;

/// Where a sliding window goes. Padding may be asymmetric, and negative (cropping).
struct Window {
  Extent3 kernel{1, 1, 1};
  Extent3 stride{1, 1, 1};
  Extent3 dilation{1, 1, 1};
  Extent3 pad_begin{0, 0, 0};
  Extent3 pad_end{0, 0, 0};

  bool operator==(const Window&) const = default;
};

/// Sizes and layouts of one convolution.
struct ConvProblem {
  int64_t batch = 1;
  Extent3 in{1, 1, 1};
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;  ///< divides both channel counts
  Window window;
  int64_t in_pixel_stride = 0;      ///< 0: dense. Not used with nchw_input
  int64_t out_pixel_stride = 0;     ///< 0: dense
  bool nchw_input = false;          ///< the input is dense [N, C, D, H, W] (RowGemm only)
  bool transposed = false;          ///< ConvTranspose
  Extent3 output_padding{0, 0, 0};  ///< transposed only: extra pixels at the end of each axis

  bool operator==(const ConvProblem&) const = default;
};

/// Output pixels along an axis (0 depth, 1 height, 2 width); 0 if the window does not fit.
int64_t out_extent(const ConvProblem& problem, int axis);

/// Ways to compute a convolution. `why_not` tells which apply.
enum class ConvMethod {
  /// Matrix multiplication whose left rows are found through a table of pointers, one per output pixel and tap (the
  /// "indirect convolution algorithm", Dukhan 2019, with the table made block by block). Never refuses a problem that
  /// is
  /// neither transposed nor nchw_input. A 1x1 convolution of stride 1 is a plain matrix multiplication here.
  ImplicitGemm,
  /// For few input channels: the input rows that a block of output pixels needs are copied, padded, to scratch memory;
  /// a row of the window is then one contiguous run of kernel-width x channels floats. Reads NCHW input, too.
  RowGemm,
  /// groups == in_channels; vectorised over channels.
  Depthwise,
  /// Few channels per group: channels per group a power of two up to 16, as many out as in; vectorised over channels.
  GroupedDirect,
  /// Winograd F(2x2, 3x3) and F(4x4, 3x3) (Lavin and Gray 2015): 2.25 and 4 times fewer multiplications. Over 128 input
  /// channels the rms error is 0.6 and 1.8 times that of ImplicitGemm (measured), but it follows the largest values of
  /// a
  /// tile, not the output's own; a NaN or infinity in the input spreads over its tile, as NaN.
  Winograd2,
  Winograd4,
  /// ConvTranspose: for every output phase an ImplicitGemm over the taps that meet it. Never refuses a transposed
  /// problem.
  Transposed,
};
inline constexpr int kConvMethods = 7;
const char* to_string(ConvMethod method);

/// Blocking: every value gives a right result. Zeros mean "choose".
struct ConvConfig {
  CpuTarget target = best_cpu_target();
  int64_t k_block = 0;  ///< length of a section of the sum; k_block x 16 floats of weights should stay in L1
  int64_t pixel_block =
      0;  ///< output pixels (Winograd: tiles) per block; k_block x pixel_block floats should stay in L2
  int64_t channel_block = 0;  ///< output channels per task; 0: as few tasks as keep the threads busy

  bool operator==(const ConvConfig&) const = default;
};

/// Null if the method can solve the problem, or why it cannot (static text).
const char* why_not(ConvMethod method, const ConvProblem& problem, CpuTarget target);
/// The configs worth measuring, the default first, no duplicates.
std::vector<ConvConfig> candidate_configs(ConvMethod method, const ConvProblem& problem, CpuTarget target);

/// Everything that is derived from a shape; a plain value. Make it with plan_conv.
struct ConvPlan {
  ConvProblem problem;  ///< with explicit pixel strides
  ConvMethod method = ConvMethod::ImplicitGemm;
  ConvConfig config;  ///< with the choices made
  Extent3 out{1, 1, 1};
  int64_t out_pixels = 0;  ///< of the whole batch
  int64_t group_in = 1;    ///< input channels per group
  int64_t group_out = 1;   ///< output channels per group
};
/// Needs why_not(...) == nullptr.
ConvPlan plan_conv(const ConvProblem& problem, ConvMethod method, const ConvConfig& config = {});

/// Bytes of packed weights. They and their layout depend on method, channels, groups, window kernel (Transposed: the
/// whole window) only: not on sizes, threads, target or blocking. Layouts are documented beside each method.
size_t packed_weight_bytes(const ConvPlan& plan);
/// Packs ONNX weights, [out_channels, in_channels / groups, kernel...], or when transposed [in_channels,
/// out_channels / groups, kernel...]. `packed` should be aligned to 64 bytes.
void pack_weights(const ConvPlan& plan, const float* weights, float* packed);

/// A finished block of the output, still in cache: `pixels` consecutive output pixels from `first_pixel` (counted over
/// the whole batch) and `channels` channels from `first_channel`; `out` is the first of them.
struct ConvBlock {
  float* out;
  int64_t pixel_stride;
  int64_t first_pixel, first_channel, pixels, channels;
  int worker;  ///< unique among concurrent calls, in [0, threads.count())
};

/// What happens to the sums. In registers: y = clamp(sum + bias[channel] + residual[pixel, channel], lo, hi), where
/// clamp(x) = x < lo ? lo : x > hi ? hi : x, so that NaN survives. Then `apply`, exactly once per element, possibly
/// from several workers at once.
struct ConvEpilogue {
  const float* bias = nullptr;        ///< [out_channels]
  const float* residual = nullptr;    ///< shaped like the output; may not overlap it
  int64_t residual_pixel_stride = 0;  ///< 0: dense
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
  void (*apply)(void* context, const ConvBlock& block) = nullptr;
  void* context = nullptr;
};

/// The memory of one call. The output may not overlap anything else.
struct ConvBuffers {
  const float* input = nullptr;
  const float* weights = nullptr;  ///< from pack_weights
  float* output = nullptr;
  void* workspace = nullptr;  ///< conv_workspace_bytes, any alignment, contents undefined before and after
};

/// Scratch memory for run_conv on a Threads of that count.
size_t conv_workspace_bytes(const ConvPlan& plan, int threads);

/// Computes the convolution. Allocates nothing; small problems run on the calling thread alone.
void run_conv(const ConvPlan& plan, const ConvBuffers& buffers, const ConvEpilogue& epilogue, Threads& threads);

}  // namespace strop::kernels
