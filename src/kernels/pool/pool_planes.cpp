#include "kernels/pool/pool_planes.h"

#include <algorithm>
#include <limits>

#include "kernels/pool/plane_kernels.h"

namespace strop::kernels {
namespace {

// Taps [begin, end) of the window at `out` that lie inside the input; `padded` of them inside the padded input.
struct AxisTaps {
  int64_t start = 0, begin = 0, end = 0, padded = 0;
};
AxisTaps taps_at(const PoolProblem& p, size_t axis, int64_t out) {
  const Window& w = p.window;
  const int64_t start = out * w.stride[axis] - w.pad_begin[axis];
  const auto first_tap = [&](int64_t index) {
    if (index <= start) return int64_t{0};
    return std::min((index - start + w.dilation[axis] - 1) / w.dilation[axis], w.kernel[axis]);
  };
  return {start, first_tap(0), std::max(first_tap(0), first_tap(p.in[axis])), first_tap(p.in[axis] + w.pad_end[axis])};
}

// What an average divides by along one axis.
float divisor_at(const PoolProblem& p, size_t axis, int64_t out) {
  const AxisTaps taps = taps_at(p, axis, out);
  return static_cast<float>(p.kind == PoolKind::AverageWithPads ? taps.padded : taps.end - taps.begin);
}

// Floats of a row with its padding on both sides, and of a row's divisors, rounded up to whole cache lines.
int64_t padded_row(const PoolProblem& p) {
  const Window& w = p.window;
  const int64_t reach = (p.out[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
  const int64_t row = std::max(reach, w.pad_begin[2] + p.in[2]);
  return (std::max<int64_t>(row, 0) + kSlideSlack + 15) / 16 * 16;
}
int64_t divisor_row(const PoolProblem& p) { return (std::max<int64_t>(p.out[2], 0) + 15) / 16 * 16; }

class PlanePool {
 public:
  PlanePool(const PoolProblem& problem, float* divisors)
      : p_(problem),
        kernels_(plane_kernels(problem.target)),
        maximum_(problem.kind == PoolKind::Max),
        row_(padded_row(problem)),
        divisors_(divisors) {
    for (int64_t x = 0; x < p_.out[2] && !maximum_; ++x) divisors[x] = divisor_at(p_, 2, x);
  }

  void plane(const float* in, float* out, float* scratch) const {
    const float nothing = maximum_ ? -std::numeric_limits<float>::infinity() : 0.0F;
    const Window& w = p_.window;
    const RowWindow along{w.kernel[2], w.stride[2], w.dilation[2]};
    // With negative padding the row starts within the input.
    const int64_t cropped = std::max<int64_t>(-w.pad_begin[2], 0);
    const int64_t shift = std::max<int64_t>(w.pad_begin[2], 0);
    const int64_t length = std::max<int64_t>(p_.in[2] - cropped, 0);
    for (int64_t d = 0; d < p_.out[0]; ++d) {
      const AxisTaps depth = taps_at(p_, 0, d);
      for (int64_t y = 0; y < p_.out[1]; ++y, out += p_.out[2]) {
        const AxisTaps height = taps_at(p_, 1, y);
        std::fill_n(scratch, row_, nothing);
        for (int64_t i = depth.begin; i < depth.end; ++i) {
          for (int64_t j = height.begin; j < height.end; ++j) {
            const int64_t row = (depth.start + i * w.dilation[0]) * p_.in[1] + height.start + j * w.dilation[1];
            (maximum_ ? kernels_.join_max : kernels_.join_sum)(in + row * p_.in[2] + cropped, length, scratch + shift);
          }
        }
        (maximum_ ? kernels_.slide_max : kernels_.slide_sum)(scratch, along, p_.out[2], out);
        if (!maximum_) kernels_.divide(divisor_at(p_, 0, d) * divisor_at(p_, 1, y), divisors_, p_.out[2], out);
      }
    }
  }

 private:
  const PoolProblem& p_;
  const PlaneKernels& kernels_;
  bool maximum_;
  int64_t row_;
  const float* divisors_;
};

constexpr int64_t kWorthThreads = 32 * 1024;  // floats read

}  // namespace

int64_t pool_planes_scratch_bytes(const PoolProblem& problem, int threads) {
  return (divisor_row(problem) + padded_row(problem) * threads) * static_cast<int64_t>(sizeof(float));
}

void pool_planes(const PoolProblem& problem, const float* input, float* output, void* scratch, Threads& threads) {
  float* divisors = static_cast<float*>(scratch);
  const PlanePool planes(problem, divisors);
  const int64_t in = problem.in[0] * problem.in[1] * problem.in[2];
  const int64_t out = problem.out[0] * problem.out[1] * problem.out[2];
  if (out == 0) return;
  const int64_t work = in * problem.window.kernel[0] * problem.window.kernel[1];
  const int64_t grain = std::max<int64_t>(kWorthThreads / std::max<int64_t>(work, 1), 1);
  parallel_for(threads, problem.batch * problem.channels, grain, [&](int64_t begin, int64_t end, int worker) {
    float* row = divisors + divisor_row(problem) + worker * padded_row(problem);
    for (int64_t plane = begin; plane < end; ++plane) planes.plane(input + plane * in, output + plane * out, row);
  });
}

}  // namespace strop::kernels
