#include "kernels/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/conv/conv_reference.h"

namespace strop::kernels {
namespace {

using conv_test::random_floats;
using conv_test::targets;

/// The definition for one output value, in double.
double expected(const PoolProblem& p, const std::vector<float>& input, int64_t n, const Extent3& o, int64_t c) {
  double best = -std::numeric_limits<double>::infinity();
  double sum = 0;
  int64_t inside = 0;
  int64_t padded = 0;
  bool nan = false;
  const Window& w = p.window;
  for (int64_t kd = 0; kd < w.kernel[0]; ++kd) {
    for (int64_t kh = 0; kh < w.kernel[1]; ++kh) {
      for (int64_t kw = 0; kw < w.kernel[2]; ++kw) {
        const Extent3 k{kd, kh, kw};
        Extent3 at{};
        bool in = true;
        bool pad = true;
        for (size_t a = 0; a < 3; ++a) {
          at[a] = o[a] * w.stride[a] - w.pad_begin[a] + k[a] * w.dilation[a];
          in = in && at[a] >= 0 && at[a] < p.in[a];
          pad = pad && at[a] < p.in[a] + w.pad_end[a];
        }
        padded += pad;
        if (!in) continue;
        ++inside;
        const float x =
            input[static_cast<size_t>((((n * p.in[0] + at[0]) * p.in[1] + at[1]) * p.in[2] + at[2]) * p.channels + c)];
        nan = nan || std::isnan(x);
        best = std::max<double>(best, x);
        sum += x;
      }
    }
  }
  if (p.kind == PoolKind::Max) return nan ? NAN : best;
  return sum / static_cast<double>(p.kind == PoolKind::Average ? inside : padded);
}

void check(PoolProblem p, bool ceil_mode, int64_t gap, int threads) {
  for (int axis = 0; axis < 3; ++axis) {
    p.out[static_cast<size_t>(axis)] = pool_out_extent(p.in[static_cast<size_t>(axis)], p.window, axis, ceil_mode);
  }
  const int64_t in_pixels = p.batch * p.in[0] * p.in[1] * p.in[2];
  const int64_t out_pixels = p.batch * p.out[0] * p.out[1] * p.out[2];
  auto input = random_floats(in_pixels * p.channels, 5);
  if (!input.empty()) input[input.size() / 2] = NAN;
  std::vector<float> placed(static_cast<size_t>(in_pixels * (p.channels + gap)), 1e30F);
  for (int64_t i = 0; i < in_pixels * p.channels; ++i) {
    placed[static_cast<size_t>(i / p.channels * (p.channels + gap) + i % p.channels)] = input[static_cast<size_t>(i)];
  }
  p.in_pixel_stride = p.out_pixel_stride = p.channels + gap;
  std::vector<float> output(static_cast<size_t>(out_pixels * p.out_pixel_stride + 8), 77.0F);
  const auto pool_of_threads = make_thread_pool(threads);
  pool(p, placed.data(), output.data(), *pool_of_threads);
  for (int64_t i = 0; i < out_pixels; ++i) {
    const int64_t x = i % p.out[2];
    const int64_t h = i / p.out[2] % p.out[1];
    const int64_t d = i / p.out[2] / p.out[1] % p.out[0];
    const int64_t n = i / p.out[2] / p.out[1] / p.out[0];
    for (int64_t c = 0; c < p.out_pixel_stride; ++c) {
      const double want = c < p.channels ? expected(p, input, n, {d, h, x}, c) : 77.0;
      const double got = output[static_cast<size_t>(i * p.out_pixel_stride + c)];
      if (std::isnan(want) != std::isnan(got) ||
          (!std::isnan(want) && !(std::abs(got - want) <= 2e-6 || got == want))) {
        FAIL() << "pixel " << i << " channel " << c << ": got " << got << ", want " << want;
      }
    }
  }
  EXPECT_EQ(output.back(), 77.0F);
}

TEST(Pool, MatchesTheDefinition) {
  for (const CpuTarget target : targets()) {
    for (const PoolKind kind : {PoolKind::Max, PoolKind::Average, PoolKind::AverageWithPads}) {
      for (const int64_t channels : {1, 3, 8, 17, 40, 70}) {
        for (const bool ceil_mode : {false, true}) {
          PoolProblem p{.kind = kind, .batch = 2, .in = {1, 8, 9}, .channels = channels, .target = target};
          p.window.kernel = {1, 3, 2};
          p.window.stride = {1, 2, 2};
          p.window.pad_begin = {0, 1, 0};
          p.window.pad_end = {0, 0, 1};
          check(p, ceil_mode, 0, 1);
          p.window.dilation = {1, 2, 3};
          check(p, ceil_mode, 3, 3);
          p.in = {4, 5, 6};
          p.window.kernel = {2, 2, 3};
          p.window.dilation = {2, 1, 1};
          p.window.stride = {1, 3, 2};
          check(p, ceil_mode, 1, 2);
        }
      }
    }
  }
}

TEST(Pool, WindowsOfManyPixels) {
  for (const PoolKind kind : {PoolKind::Max, PoolKind::Average}) {
    PoolProblem p{.kind = kind, .in = {1, 40, 50}, .channels = 5};
    p.window.kernel = {1, 39, 50};
    check(p, false, 0, 1);
  }
}

TEST(Pool, CeilModeDropsWindowsThatStartInThePadding) {
  Window w;
  w.kernel = {1, 1, 2};
  w.stride = {1, 1, 2};
  EXPECT_EQ(pool_out_extent(5, w, 2, false), 2);
  EXPECT_EQ(pool_out_extent(5, w, 2, true), 3);
  w.pad_begin = w.pad_end = {0, 0, 1};
  EXPECT_EQ(pool_out_extent(4, w, 2, true), 3);  // the last window starts at 3, the last input
  w.stride = {1, 1, 3};
  w.kernel = {1, 1, 2};
  EXPECT_EQ(pool_out_extent(5, w, 2, true), 2);  // a third would start at 5, behind the input
}

TEST(GlobalPool, MatchesTheDefinition) {
  for (const CpuTarget target : targets()) {
    for (const PoolKind kind : {PoolKind::Max, PoolKind::Average}) {
      for (const int64_t channels : {1, 7, 64, 65, 300}) {
        for (const int64_t height : {1, 7, 40}) {
          PoolProblem p{.kind = kind, .batch = 3, .in = {1, height, 9}, .channels = channels, .target = target};
          const auto input = random_floats(3 * height * 9 * channels, 6);
          std::vector<float> output(static_cast<size_t>(3 * channels));
          const auto threads = make_thread_pool(3);
          global_pool(p, input.data(), output.data(), *threads);
          p.window.kernel = p.in;
          for (int64_t n = 0; n < 3; ++n) {
            for (int64_t c = 0; c < channels; ++c) {
              EXPECT_NEAR(output[static_cast<size_t>(n * channels + c)], expected(p, input, n, {0, 0, 0}, c), 1e-6);
            }
          }
        }
      }
    }
  }
}

TEST(GlobalPool, LongSumsStayAccurate) {
  const PoolProblem p{.kind = PoolKind::Average, .in = {1, 1000, 1000}, .channels = 2};
  const std::vector<float> input(2000000, 0.1F);
  float output[2];
  SingleThread threads;
  global_pool(p, input.data(), output, threads);
  EXPECT_NEAR(output[0], 0.1F, 1e-6);
}

}  // namespace
}  // namespace strop::kernels
