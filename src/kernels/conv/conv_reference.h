/// A plain convolution in double and what the tests of this folder share. Test code.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/conv/conv.h"

namespace strop::kernels::conv_test {

/// Reference sums, and for the tolerance the sums of absolute products: both [out pixels, out channels].
struct Reference {
  std::vector<double> sum, magnitude;
};

/// The definition, scattering from input to output; input dense NHWC, weights as ONNX has them.
inline Reference reference(const ConvProblem& p, const std::vector<float>& input, const std::vector<float>& weights) {
  const Window& w = p.window;
  const Extent3 out{out_extent(p, 0), out_extent(p, 1), out_extent(p, 2)};
  const int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
  const int64_t ins = p.in_channels / p.groups;
  const int64_t outs = p.out_channels / p.groups;
  Reference r;
  r.sum.resize(static_cast<size_t>(p.batch * out[0] * out[1] * out[2] * p.out_channels));
  r.magnitude.resize(r.sum.size());
  // o and i are an output and an input place; for a transposed problem the roles in the window equation swap.
  const auto add = [&](int64_t n, const Extent3& o, const Extent3& i, int64_t tap) {
    const int64_t to = ((n * out[0] + o[0]) * out[1] + o[1]) * out[2] + o[2];
    const int64_t from = ((n * p.in[0] + i[0]) * p.in[1] + i[1]) * p.in[2] + i[2];
    for (int64_t m = 0; m < p.out_channels; ++m) {
      const int64_t group = m / outs;
      for (int64_t c = 0; c < ins; ++c) {
        const int64_t weight =
            p.transposed ? ((group * ins + c) * outs + m % outs) * taps + tap : (m * ins + c) * taps + tap;
        const double product = static_cast<double>(input[static_cast<size_t>(from * p.in_channels + group * ins + c)]) *
                               static_cast<double>(weights[static_cast<size_t>(weight)]);
        r.sum[static_cast<size_t>(to * p.out_channels + m)] += product;
        r.magnitude[static_cast<size_t>(to * p.out_channels + m)] += std::abs(product);
      }
    }
  };
  const Extent3& slow = p.transposed ? p.in : out;
  const Extent3& fast = p.transposed ? out : p.in;
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t d = 0; d < slow[0]; ++d) {
      for (int64_t h = 0; h < slow[1]; ++h) {
        for (int64_t x = 0; x < slow[2]; ++x) {
          for (int64_t tap = 0; tap < taps; ++tap) {
            const Extent3 k{tap / w.kernel[2] / w.kernel[1], tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]};
            const Extent3 a{d, h, x};
            Extent3 b{};
            bool inside = true;
            for (size_t axis = 0; axis < 3; ++axis) {
              b[axis] = a[axis] * w.stride[axis] - w.pad_begin[axis] + k[axis] * w.dilation[axis];
              inside = inside && b[axis] >= 0 && b[axis] < fast[axis];
            }
            if (!inside) continue;
            if (p.transposed) {
              add(n, b, a, tap);
            } else {
              add(n, a, b, tap);
            }
          }
        }
      }
    }
  }
  return r;
}

inline std::vector<float> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = uniform(engine);
  return values;
}

inline std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> all{CpuTarget::Portable};
  if (best_cpu_target() != CpuTarget::Portable) all.push_back(CpuTarget::Avx2);
  if (best_cpu_target() == CpuTarget::Avx512) all.push_back(CpuTarget::Avx512);
  return all;
}

/// Error allowed for a sum of these absolute products, in units of float's epsilon.
inline double tolerance(ConvMethod method, double magnitude, int64_t length) {
  constexpr double kEpsilon = 6e-8;
  const double direct = kEpsilon * (2.0 + std::sqrt(static_cast<double>(length))) * (magnitude + 2.0);
  // Winograd mixes neighbouring outputs: its error follows the largest sum of the tile, not this one.
  if (method == ConvMethod::Winograd2) return 2 * direct + kEpsilon * static_cast<double>(length);
  if (method == ConvMethod::Winograd4) return 4 * direct + 2 * kEpsilon * static_cast<double>(length);
  return direct;
}

}  // namespace strop::kernels::conv_test
