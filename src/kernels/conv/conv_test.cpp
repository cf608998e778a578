#include "kernels/conv/conv.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "kernels/conv/conv_reference.h"

namespace strop::kernels::conv_test {
namespace {

/// The epilogue's inputs and how often `apply` saw every element.
struct Extras {
  bool bias = true;
  bool residual = true;
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
  int64_t in_gap = 0, out_gap = 0;  ///< added to the pixel strides
  int threads = 1;
};

std::string describe(const ConvProblem& p, const ConvConfig& config, ConvMethod method) {
  const auto text = [](const Extent3& e) { return fmt::format("{}x{}x{}", e[0], e[1], e[2]); };
  const Window& w = p.window;
  return fmt::format("{} {} n{} in {} c{} -> {} g{} k{} s{} d{} pads {}/{}{}", to_string(method),
                     to_string(config.target), p.batch, text(p.in), p.in_channels, p.out_channels, p.groups,
                     text(w.kernel), text(w.stride), text(w.dilation), text(w.pad_begin), text(w.pad_end),
                     p.transposed ? " transposed" : "");
}

constexpr float kGuard = 12345.0F;

struct Coverage {
  std::mutex mutex;
  std::vector<int> seen;  // [pixels, channels]
  const float* output;
  int64_t stride, channels;
  bool consistent = true;
};

void count_block(void* context, const ConvBlock& block) {
  auto& coverage = *static_cast<Coverage*>(context);
  std::lock_guard lock(coverage.mutex);
  coverage.consistent = coverage.consistent && block.pixel_stride == coverage.stride &&
                        block.out == coverage.output + block.first_pixel * block.pixel_stride + block.first_channel;
  for (int64_t p = 0; p < block.pixels; ++p) {
    for (int64_t c = 0; c < block.channels; ++c) {
      coverage.seen[static_cast<size_t>((block.first_pixel + p) * coverage.channels + block.first_channel + c)] += 1;
      block.out[p * block.pixel_stride + c] += 1.0F;  // must come after the epilogue in registers
    }
  }
}

/// Dense [pixels, channels] (or NCHW) placed at a pixel stride, guards between.
std::vector<float> spread(const std::vector<float>& dense, int64_t channels, int64_t stride) {
  std::vector<float> out(dense.size() / static_cast<size_t>(channels) * static_cast<size_t>(stride), NAN);
  for (size_t i = 0; i < dense.size(); ++i) {
    out[i / static_cast<size_t>(channels) * static_cast<size_t>(stride) + i % static_cast<size_t>(channels)] = dense[i];
  }
  return out;
}

std::vector<float> to_nchw(const std::vector<float>& nhwc, int64_t batch, int64_t pixels, int64_t channels) {
  std::vector<float> out(nhwc.size());
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < pixels; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        out[static_cast<size_t>((n * channels + c) * pixels + i)] =
            nhwc[static_cast<size_t>((n * pixels + i) * channels + c)];
      }
    }
  }
  return out;
}

std::vector<float> random_bias(const ConvPlan& plan) { return random_floats(plan.problem.out_channels, 3); }
std::vector<float> random_residual(const ConvPlan& plan) {
  return random_floats(plan.out_pixels * plan.problem.out_channels, 4);
}

/// Compares an output that starts 16 floats into `output` and is followed by 16 guards, gaps included.
void expect_output(const ConvPlan& plan, const Extras& extras, const std::vector<float>& output,
                   const Coverage& coverage, const Reference& expected) {
  const ConvProblem& p = plan.problem;
  const auto bias = random_bias(plan);
  const auto residual = random_residual(plan);
  const int64_t length = plan.group_in * p.window.kernel[0] * p.window.kernel[1] * p.window.kernel[2];
  int bad = 0;
  for (int64_t pixel = 0; pixel < plan.out_pixels && bad < 5; ++pixel) {
    for (int64_t c = 0; c < p.out_pixel_stride && bad < 5; ++c) {
      const float got = output[static_cast<size_t>(16 + pixel * p.out_pixel_stride + c)];
      if (c >= p.out_channels) {
        if (got != kGuard) ADD_FAILURE() << "gap written at pixel " << pixel << " channel " << c, ++bad;
        continue;
      }
      const auto i = static_cast<size_t>(pixel * p.out_channels + c);
      double want = expected.sum[i] + (extras.bias ? static_cast<double>(bias[static_cast<size_t>(c)]) : 0.0) +
                    (extras.residual ? static_cast<double>(residual[i]) : 0.0);
      want = std::min<double>(std::max<double>(want, extras.lo), extras.hi) + 1.0;
      const double error = std::abs(static_cast<double>(got) - want);
      if (!(error <= tolerance(plan.method, expected.magnitude[i], length)) || coverage.seen[i] != 1) {
        ADD_FAILURE() << "pixel " << pixel << " channel " << c << ": got " << got << ", want " << want << ", applied "
                      << coverage.seen[i] << " times";
        ++bad;
      }
    }
  }
  EXPECT_TRUE(coverage.consistent);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(output[i], kGuard);
  for (size_t i = output.size() - 16; i < output.size(); ++i) EXPECT_EQ(output[i], kGuard);
}

/// Runs one method and compares everything: values, untouched gaps and guards, `apply`'s coverage. False if the method
/// does not apply.
bool check_conv(const ConvProblem& problem, ConvMethod method, const ConvConfig& config, const Extras& extras) {
  ConvProblem p = problem;
  p.in_pixel_stride = extras.in_gap ? p.in_channels + extras.in_gap : 0;
  p.out_pixel_stride = extras.out_gap ? p.out_channels + extras.out_gap : 0;
  if (why_not(method, p, config.target)) return false;
  SCOPED_TRACE(describe(p, config, method));
  const ConvPlan plan = plan_conv(p, method, config);
  const int64_t taps = p.window.kernel[0] * p.window.kernel[1] * p.window.kernel[2];
  const int64_t in_pixels = p.in[0] * p.in[1] * p.in[2];
  const auto input = random_floats(p.batch * in_pixels * p.in_channels, 1);
  const auto weights = random_floats(p.in_channels * p.out_channels / p.groups * taps, 2);
  const auto bias = random_bias(plan);
  const auto residual = random_residual(plan);
  const auto placed = p.nchw_input ? to_nchw(input, p.batch, in_pixels, p.in_channels)
                                   : spread(input, p.in_channels, plan.problem.in_pixel_stride);
  std::vector<float> packed(packed_weight_bytes(plan) / sizeof(float));
  pack_weights(plan, weights.data(), packed.data());
  std::vector<float> output(static_cast<size_t>(plan.out_pixels * plan.problem.out_pixel_stride + 32), kGuard);
  const size_t bytes = conv_workspace_bytes(plan, extras.threads);
  std::vector<unsigned char> workspace(bytes + 64, 0xFF);  // NaNs: nothing may rely on it
  std::fill(workspace.begin() + static_cast<std::ptrdiff_t>(bytes), workspace.end(), 0x5A);
  Coverage coverage;
  coverage.seen.resize(static_cast<size_t>(plan.out_pixels * p.out_channels));
  coverage.output = output.data() + 16;
  coverage.stride = plan.problem.out_pixel_stride;
  coverage.channels = p.out_channels;

  const ConvEpilogue epilogue{.bias = extras.bias ? bias.data() : nullptr,
                              .residual = extras.residual ? residual.data() : nullptr,
                              .lo = extras.lo,
                              .hi = extras.hi,
                              .apply = count_block,
                              .context = &coverage};
  const auto threads = make_thread_pool(extras.threads);
  run_conv(plan, {placed.data(), packed.data(), output.data() + 16, workspace.data()}, epilogue, *threads);

  for (size_t i = bytes; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], 0x5A) << "behind the workspace";
  expect_output(plan, extras, output, coverage, reference(p, input, weights));
  return true;
}

ConvProblem make2d(int64_t batch, int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride = 1,
                   int64_t pad = 0, int64_t groups = 1) {
  ConvProblem p{.batch = batch, .in = {1, size, size + 1}, .in_channels = in, .out_channels = out, .groups = groups};
  p.window.kernel = {1, kernel, kernel};
  p.window.stride = {1, stride, stride};
  p.window.pad_begin = p.window.pad_end = {0, pad, pad};
  return p;
}

std::vector<ConvProblem> problems() {
  std::vector<ConvProblem> all;
  for (const int64_t in : {1, 3, 7, 8, 16, 17, 31}) {
    for (const int64_t out : {1, 8, 17, 40}) all.push_back(make2d(1, 7, in, out, 3, 1, 1));
    all.push_back(make2d(2, 5, in, in, 1));
    all.push_back(make2d(1, 6, in, in, 3, 1, 1, in));  // depthwise
    all.push_back(make2d(1, 9, in, in, 3, 2, 1, in));
    all.push_back(make2d(1, 9, in, in, 5, 1, 2, in));
    all.push_back(make2d(1, 8, in, in, 5, 2, 1, in));
    all.push_back(make2d(1, 8, in, 2 * in, 3, 1, 1, in));  // two outputs per input
    all.push_back(make2d(1, 8, in, 3 * in, 2, 3, 0, in));
  }
  for (const int64_t group : {2, 4, 5, 8, 16}) {  // channels per group
    all.push_back(make2d(1, 6, 3 * group, 3 * group, 3, 1, 1, 3));
    all.push_back(make2d(1, 6, 3 * group, 6 * group, 1, 1, 0, 3));
  }
  all.push_back(make2d(1, 20, 3, 33, 7, 2, 3));
  all.push_back(make2d(2, 30, 4, 16, 4, 4, 0));
  all.push_back(make2d(1, 11, 5, 6, 2, 5, 0));    // stride > kernel
  all.push_back(make2d(1, 3, 6, 5, 3));           // output height 1
  all.push_back(make2d(1, 2, 6, 5, 3, 1, 3));     // padding beyond the kernel
  all.push_back(make2d(0, 5, 6, 5, 3, 1, 1));     // empty batch
  all.push_back(make2d(1, 2, 6, 5, 5));           // window does not fit: no output
  all.push_back(make2d(1, 4, 300, 20, 3, 1, 1));  // several sections of one tap
  all.push_back(make2d(1, 5, 96, 20, 3, 1, 1));   // several sections of some taps
  all.push_back(make2d(3, 14, 20, 70, 3, 1, 1));  // several blocks
  for (const int64_t channels : {3, 16, 24}) {
    ConvProblem p = make2d(2, 9, channels, 18, 3);
    p.window.dilation = {1, 2, 3};
    p.window.pad_begin = {0, 1, 0};
    p.window.pad_end = {0, 2, 4};
    all.push_back(p);
    p.window.dilation = {1, 1, 1};
    all.push_back(p);
    p.window.pad_begin = {0, -1, -2};  // cropping
    all.push_back(p);
    p.out_channels = p.groups = channels;
    all.push_back(p);
    p.window.stride = {1, 1, 3};
    all.push_back(p);
  }
  ConvProblem one{.batch = 2, .in = {1, 1, 61}, .in_channels = 10, .out_channels = 12};  // 1-D
  one.window.kernel = {1, 1, 9};
  one.window.stride = {1, 1, 4};
  one.window.pad_begin = {0, 0, 5};
  all.push_back(one);
  one.in_channels = 1;
  all.push_back(one);
  ConvProblem three{.batch = 2, .in = {5, 4, 6}, .in_channels = 6, .out_channels = 9, .groups = 3};  // 3-D
  three.window.kernel = {3, 2, 3};
  three.window.stride = {2, 1, 2};
  three.window.dilation = {1, 2, 1};
  three.window.pad_begin = {1, 0, 2};
  three.window.pad_end = {0, 1, 1};
  all.push_back(three);
  three.groups = three.out_channels = 6;
  all.push_back(three);
  return all;
}

constexpr ConvMethod kForward[] = {ConvMethod::ImplicitGemm,  ConvMethod::RowGemm,   ConvMethod::Depthwise,
                                   ConvMethod::GroupedDirect, ConvMethod::Winograd2, ConvMethod::Winograd4};

TEST(Conv, EveryMethodMatchesTheDefinition) {
  int ran[kConvMethods] = {};
  for (const CpuTarget target : targets()) {
    for (const ConvProblem& p : problems()) {
      for (const ConvMethod method : kForward) {
        ran[static_cast<int>(method)] += check_conv(p, method, {.target = target}, {});
      }
    }
  }
  for (const ConvMethod method : kForward) EXPECT_GT(ran[static_cast<int>(method)], 10) << to_string(method);
}

TEST(Conv, PixelStridesThreadsAndSmallBlocks) {
  for (const CpuTarget target : targets()) {
    for (const ConvProblem& p : problems()) {
      for (const ConvMethod method : kForward) {
        const Extras extras{
            .bias = false, .residual = false, .lo = -0.5F, .hi = 0.75F, .in_gap = 5, .out_gap = 3, .threads = 3};
        check_conv(p, method, {.target = target, .k_block = 20, .pixel_block = 10, .channel_block = 16}, extras);
      }
    }
  }
}

TEST(Conv, ManyThreadsOnLargerShapes) {
  for (const int64_t size : {7, 14, 25}) {
    const Extras extras{.residual = size != 14, .lo = 0.0F, .out_gap = 7, .threads = 4};
    for (const ConvMethod method : kForward) {
      check_conv(make2d(1, size, 48, 72, 3, 1, 1), method, {}, extras);
      check_conv(make2d(2, size, 64, 64, 3, 1, 1, 64), method, {}, extras);
      check_conv(make2d(1, size, 64, 64, 3, 2, 1, 16), method, {}, extras);
      check_conv(make2d(1, 4 * size, 3, 40, 7, 2, 3), method, {}, extras);
    }
  }
}

TEST(Conv, ReadsChannelsFirstInput) {
  for (const CpuTarget target : targets()) {
    for (const int64_t channels : {1, 2, 3, 4, 9}) {
      ConvProblem p = make2d(2, 19, channels, 21, 7, 2, 3);
      p.nchw_input = true;
      EXPECT_TRUE(check_conv(p, ConvMethod::RowGemm, {.target = target}, {}));
      EXPECT_TRUE(
          check_conv(p, ConvMethod::RowGemm, {.target = target, .k_block = 40, .pixel_block = 7}, {.threads = 3}));
      EXPECT_STREQ(why_not(ConvMethod::ImplicitGemm, p, target), "needs channels-last input");
    }
  }
}

TEST(Conv, EveryCandidateConfig) {
  for (const ConvMethod method : kForward) {
    const ConvProblem p = make2d(1, 13, method == ConvMethod::RowGemm ? 4 : 32, 32, 3, 1, 1,
                                 method == ConvMethod::Depthwise       ? 32
                                 : method == ConvMethod::GroupedDirect ? 4
                                                                       : 1);
    for (const ConvConfig& config : candidate_configs(method, p, best_cpu_target())) {
      EXPECT_TRUE(check_conv(p, method, config, {.threads = 2}));
    }
  }
}

TEST(ConvTransposed, MatchesTheDefinition) {
  for (const CpuTarget target : targets()) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t kernel : {1, 2, 3, 4}) {
        for (const int64_t groups : {1, 2}) {
          ConvProblem p = make2d(2, 5, 6, 34, kernel, stride, 0, groups);
          p.transposed = true;
          EXPECT_TRUE(check_conv(p, ConvMethod::Transposed, {.target = target}, {.in_gap = 2, .out_gap = 1}));
          p.window.pad_begin = {0, 1, 0};
          p.window.pad_end = {0, 0, 1};
          p.window.dilation = {1, 1, 2};
          p.output_padding = {0, stride - 1, 0};
          EXPECT_TRUE(check_conv(p, ConvMethod::Transposed, {.target = target, .k_block = 8, .pixel_block = 4},
                                 {.residual = false, .lo = 0.0F, .threads = 3}));
        }
      }
    }
  }
}

TEST(ConvTransposed, ThreeDimensionsAndLongRows) {
  ConvProblem p{.batch = 2, .in = {3, 2, 4}, .in_channels = 5, .out_channels = 7, .transposed = true};
  p.window.kernel = {3, 2, 4};
  p.window.stride = {2, 3, 1};
  p.window.pad_begin = {1, 0, 2};
  p.output_padding = {1, 0, 0};
  EXPECT_TRUE(check_conv(p, ConvMethod::Transposed, {}, {.threads = 2}));
  ConvProblem audio{.batch = 1, .in = {1, 1, 500}, .in_channels = 16, .out_channels = 8, .transposed = true};
  audio.window.kernel = {1, 1, 16};
  audio.window.stride = {1, 1, 8};
  audio.window.pad_begin = audio.window.pad_end = {0, 0, 4};
  EXPECT_TRUE(check_conv(audio, ConvMethod::Transposed, {}, {.threads = 2}));
}

/// 1x1 output of one pixel whose input holds one special value among ones.
float special(ConvMethod method, float value, float lo, float hi, CpuTarget target) {
  const bool depthwise = method == ConvMethod::Depthwise || method == ConvMethod::GroupedDirect;
  ConvProblem p = make2d(1, 4, 16, 16, 3, 1, 1, method == ConvMethod::Depthwise ? 16 : depthwise ? 4 : 1);
  if (why_not(method, p, target)) return value;
  const ConvPlan plan = plan_conv(p, method, {.target = target});
  std::vector<float> input(4 * 5 * 16, 1.0F);
  for (size_t c = 0; c < 16; ++c) input[7 * 16 + c] = value;
  const std::vector<float> weights(static_cast<size_t>(16 * plan.group_in * 9), 1.0F);
  std::vector<float> packed(packed_weight_bytes(plan) / sizeof(float));
  pack_weights(plan, weights.data(), packed.data());
  std::vector<float> output(4 * 5 * 16);
  std::vector<std::byte> workspace(conv_workspace_bytes(plan, 1));
  SingleThread threads;
  run_conv(plan, {input.data(), packed.data(), output.data(), workspace.data()}, {.lo = lo, .hi = hi}, threads);
  return output[7 * 16 + 3];
}

TEST(Conv, NanAndInfinityPropagate) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const CpuTarget target : targets()) {
    for (const ConvMethod method : kForward) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(method), to_string(target)));
      EXPECT_TRUE(std::isnan(special(method, NAN, 0.0F, kInf, target)));
      EXPECT_TRUE(std::isnan(special(method, NAN, -kInf, 6.0F, target)));
      if (method == ConvMethod::Winograd2 || method == ConvMethod::Winograd4) continue;  // Inf - Inf in its transforms
      EXPECT_EQ(special(method, kInf, 0.0F, kInf, target), kInf);
      EXPECT_EQ(special(method, -kInf, -kInf, kInf, target), -kInf);
    }
  }
}

/// Root mean square error of one method on a padded 3x3 convolution with many channels.
double rms_error(ConvMethod method) {
  const ConvProblem p = make2d(1, 15, 128, 16, 3, 1, 1);
  const ConvPlan plan = plan_conv(p, method);
  const auto input = random_floats(15 * 16 * 128, 11);
  const auto weights = random_floats(16 * 128 * 9, 12);
  const Reference expected = reference(p, input, weights);
  std::vector<float> packed(packed_weight_bytes(plan) / sizeof(float));
  pack_weights(plan, weights.data(), packed.data());
  std::vector<float> output(expected.sum.size());
  std::vector<std::byte> workspace(conv_workspace_bytes(plan, 1));
  SingleThread threads;
  run_conv(plan, {input.data(), packed.data(), output.data(), workspace.data()}, {}, threads);
  double sum = 0;
  for (size_t i = 0; i < output.size(); ++i) sum += std::pow(static_cast<double>(output[i]) - expected.sum[i], 2);
  return std::sqrt(sum / static_cast<double>(output.size()));
}

TEST(Conv, WinogradIsNearlyAsAccurateAsTheDirectSum) {
  const double direct = rms_error(ConvMethod::ImplicitGemm);
  RecordProperty("winograd2", std::to_string(rms_error(ConvMethod::Winograd2) / direct));
  RecordProperty("winograd4", std::to_string(rms_error(ConvMethod::Winograd4) / direct));
  EXPECT_LT(rms_error(ConvMethod::Winograd2), 1.5 * direct);
  EXPECT_LT(rms_error(ConvMethod::Winograd4), 3.0 * direct);
}

}  // namespace
}  // namespace strop::kernels::conv_test
