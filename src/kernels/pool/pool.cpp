#include "kernels/pool/pool.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/pool/pool_kernels.h"

namespace strop::kernels {
namespace {

// Pixels of a window that are gathered before a kernel is called; longer windows (rare) are reduced in several steps.
constexpr int64_t kMostRows = 1024;

PoolProblem with_strides(const PoolProblem& problem) {
  PoolProblem p = problem;
  if (p.in_pixel_stride == 0) p.in_pixel_stride = p.channels;
  if (p.out_pixel_stride == 0) p.out_pixel_stride = p.channels;
  return p;
}

/// Taps [begin, end) of one axis that lie inside the input; `counted` lie inside the padded input.
struct Taps {
  int64_t start, begin, end, counted;
};
Taps taps_of(const PoolProblem& p, size_t axis, int64_t out) {
  const Window& w = p.window;
  const int64_t d = w.dilation[axis];
  const int64_t start = out * w.stride[axis] - w.pad_begin[axis];
  if (start >= 0 && start + (w.kernel[axis] - 1) * d < p.in[axis] && w.pad_end[axis] >= 0) {  // spares three divisions
    return {start, 0, w.kernel[axis], w.kernel[axis]};
  }
  const auto first_at_least = [&](int64_t x) {
    return std::clamp<int64_t>((x - start + d - 1) / d, 0, w.kernel[axis]);
  };
  const int64_t begin = start >= 0 ? 0 : first_at_least(0);
  const int64_t end = start >= p.in[axis] ? begin : std::max(begin, first_at_least(p.in[axis]));
  const int64_t padded = p.in[axis] + w.pad_end[axis];
  return {start, begin, end, start >= padded ? 0 : first_at_least(padded)};
}

void pool_pixel(const PoolProblem& p, const float* image, const Taps (&taps)[3], float* out) {
  const PoolKernels& kernels = pool_kernels(p.target);
  const Window& w = p.window;
  const float* rows[kMostRows];
  int64_t count = 0;
  int64_t total = 1;
  int64_t counted = 1;
  for (const Taps& t : taps) {
    total *= t.end - t.begin;
    counted *= t.counted;
  }
  for (int64_t d = taps[0].begin; d < taps[0].end; ++d) {
    for (int64_t h = taps[1].begin; h < taps[1].end; ++h) {
      const int64_t row = ((taps[0].start + d * w.dilation[0]) * p.in[1] + taps[1].start + h * w.dilation[1]) * p.in[2];
      for (int64_t x = taps[2].begin; x < taps[2].end; ++x) {
        if (count == kMostRows) {  // what there is so far becomes one of the rows of the next step
          if (p.kind == PoolKind::Max) {
            kernels.max(rows, count, p.channels, out);
          } else {
            kernels.average(rows, count, p.channels, 1.0F, out);
          }
          rows[0] = out;
          count = 1;
        }
        rows[count++] = image + (row + taps[2].start + x * w.dilation[2]) * p.in_pixel_stride;
      }
    }
  }
  if (p.kind == PoolKind::Max) {
    kernels.max(rows, count, p.channels, out);
  } else {
    kernels.average(rows, count, p.channels, static_cast<float>(p.kind == PoolKind::Average ? total : counted), out);
  }
}

constexpr int64_t kWorthThreads = 32 * 1024;  // floats read

}  // namespace

int64_t pool_out_extent(int64_t in, const Window& window, int axis, bool ceil_mode) {
  const auto i = static_cast<size_t>(axis);
  const int64_t span = (window.kernel[i] - 1) * window.dilation[i] + 1;
  const int64_t stride = window.stride[i];
  const int64_t room = in + window.pad_begin[i] + window.pad_end[i] - span;
  if (!ceil_mode) return room < 0 ? 0 : room / stride + 1;
  if (room + stride - 1 < 0) return 0;
  int64_t out = (room + stride - 1) / stride + 1;
  if ((out - 1) * stride >= in + window.pad_begin[i]) --out;
  return out;
}

void pool(const PoolProblem& problem, const float* input, float* output, Threads& threads) {
  const PoolProblem p = with_strides(problem);
  const int64_t rows = p.batch * p.out[0] * p.out[1];
  if (rows * p.out[2] * p.channels == 0) return;
  const int64_t row_floats = p.out[2] * p.channels * p.window.kernel[0] * p.window.kernel[1] * p.window.kernel[2];
  parallel_for(threads, rows, kWorthThreads / row_floats, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t h = row % p.out[1];
      const int64_t d = row / p.out[1] % p.out[0];
      const int64_t n = row / p.out[1] / p.out[0];
      const float* image = input + n * p.in[0] * p.in[1] * p.in[2] * p.in_pixel_stride;
      Taps taps[3] = {taps_of(p, 0, d), taps_of(p, 1, h), {}};
      for (int64_t x = 0; x < p.out[2]; ++x) {
        taps[2] = taps_of(p, 2, x);
        pool_pixel(p, image, taps, output + (row * p.out[2] + x) * p.out_pixel_stride);
      }
    }
  });
}

void global_pool(const PoolProblem& problem, const float* input, float* output, Threads& threads) {
  const PoolProblem p = with_strides(problem);
  const PoolKernels& kernels = pool_kernels(p.target);
  const int64_t pixels = p.in[0] * p.in[1] * p.in[2];
  if (p.batch * p.channels == 0) return;
  constexpr int64_t kChannels = 64;  // per task
  const int64_t blocks = (p.channels + kChannels - 1) / kChannels;
  const int64_t grain = kWorthThreads / (std::max<int64_t>(pixels, 1) * kChannels);
  parallel_for(threads, p.batch * blocks, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end;) {
      const int64_t n = index / blocks;
      const int64_t last = std::min(end, (n + 1) * blocks);  // neighbouring blocks of an image at once
      const int64_t c = (index - n * blocks) * kChannels;
      const int64_t channels = std::min(p.channels, (last - n * blocks) * kChannels) - c;
      const float* in = input + n * pixels * p.in_pixel_stride + c;
      float* out = output + n * p.out_pixel_stride + c;
      if (p.kind == PoolKind::Max) {
        kernels.max_run(in, p.in_pixel_stride, pixels, channels, out);
      } else {
        kernels.average_run(in, p.in_pixel_stride, pixels, channels, out);
      }
      index = last;
    }
  });
}

}  // namespace strop::kernels
