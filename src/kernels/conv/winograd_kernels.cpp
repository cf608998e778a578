#include "kernels/conv/winograd_kernels.h"

#include <algorithm>
#include <cstddef>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/conv/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using kernels::HWY_NAMESPACE::clamp_vector;
using kernels::HWY_NAMESPACE::kD;
using kernels::HWY_NAMESPACE::kLanes;
using kernels::HWY_NAMESPACE::load_part;
using kernels::HWY_NAMESPACE::store_part;
using kernels::HWY_NAMESPACE::V;

/// One-dimensional transforms over vectors: `input` is B^T x, `output` A^T x.
struct F2 {
  static constexpr int kM = 2;
  static HWY_INLINE void input(const V (&x)[4], V (&y)[4]) {
    y[0] = hn::Sub(x[0], x[2]);
    y[1] = hn::Add(x[1], x[2]);
    y[2] = hn::Sub(x[2], x[1]);
    y[3] = hn::Sub(x[1], x[3]);
  }
  static HWY_INLINE void output(const V (&x)[4], V (&y)[2]) {
    y[0] = hn::Add(x[0], hn::Add(x[1], x[2]));
    y[1] = hn::Sub(hn::Sub(x[1], x[2]), x[3]);
  }
};

struct F4 {
  static constexpr int kM = 4;
  static constexpr double kA2 = kPointA * kPointA;
  static constexpr double kB2 = kPointB * kPointB;
  static HWY_INLINE V constant(double x) { return hn::Set(kD, static_cast<float>(x)); }

  static HWY_INLINE void input(const V (&x)[6], V (&y)[6]) {
    const V a = constant(kPointA);
    const V b = constant(kPointB);
    const V a2 = constant(kA2);
    const V b2 = constant(kB2);
    const V sum = constant(kA2 + kB2);
    const V product = constant(kA2 * kB2);
    const V even_a = hn::NegMulAdd(b2, x[2], x[4]);
    const V even_b = hn::NegMulAdd(a2, x[2], x[4]);
    const V odd_a = hn::NegMulAdd(b2, x[1], x[3]);
    const V odd_b = hn::NegMulAdd(a2, x[1], x[3]);
    y[0] = hn::MulAdd(product, x[0], hn::NegMulAdd(sum, x[2], x[4]));
    y[1] = hn::MulAdd(a, odd_a, even_a);
    y[2] = hn::NegMulAdd(a, odd_a, even_a);
    y[3] = hn::MulAdd(b, odd_b, even_b);
    y[4] = hn::NegMulAdd(b, odd_b, even_b);
    y[5] = hn::MulAdd(product, x[1], hn::NegMulAdd(sum, x[3], x[5]));
  }
  static HWY_INLINE void output(const V (&x)[6], V (&y)[4]) {
    const V even_a = hn::Add(x[1], x[2]);
    const V even_b = hn::Add(x[3], x[4]);
    const V odd_a = hn::Sub(x[1], x[2]);
    const V odd_b = hn::Sub(x[3], x[4]);
    y[0] = hn::Add(x[0], hn::Add(even_a, even_b));
    y[1] = hn::MulAdd(constant(kPointA), odd_a, hn::Mul(constant(kPointB), odd_b));
    y[2] = hn::MulAdd(constant(kA2), even_a, hn::Mul(constant(kB2), even_b));
    y[3] = hn::MulAdd(constant(kA2 * kPointA), odd_a, hn::MulAdd(constant(kB2 * kPointB), odd_b, x[5]));
  }
};

template <class F, bool kPart>
HWY_INLINE void input_vector(const WinogradInput& tile, int64_t c, int64_t count) {
  constexpr int N = F::kM + 2;
  V columns[N][N];  // [column of the tile][row of B^T x]
  for (int j = 0; j < N; ++j) {
    V x[N];
    HWY_UNROLL(6) for (int i = 0; i < N; ++i) {
      const float* from = tile.pixels[i * N + j] + c;
      if constexpr (kPart) {
        x[i] = load_part(from, count);
      } else {
        x[i] = hn::LoadU(kD, from);
      }
    }
    F::input(x, columns[j]);
  }
  float* to = tile.to + c;
  for (int i = 0; i < N; ++i) {
    V x[N];
    V y[N];
    HWY_UNROLL(6) for (int j = 0; j < N; ++j) x[j] = columns[j][i];
    F::input(x, y);
    HWY_UNROLL(6) for (int j = 0; j < N; ++j, to += tile.pitch) {
      if constexpr (kPart) {
        store_part(y[j], to, count);
      } else {
        hn::StoreU(y[j], kD, to);
      }
    }
  }
}

template <class F>
void transform_input(const WinogradInput& tile) {
  int64_t c = 0;
  for (; c + kLanes <= tile.channels; c += kLanes) input_vector<F, false>(tile, c, kLanes);
  if (c < tile.channels) input_vector<F, true>(tile, c, tile.channels - c);
}

template <class F, bool kPart>
HWY_INLINE void output_vector(const WinogradOutput& tile, int64_t c, int64_t count) {
  constexpr int M = F::kM;
  constexpr int N = M + 2;
  V rows[N][M];  // [row of the tile][column of the output]
  const float* from = tile.from + c;
  for (int i = 0; i < N; ++i) {
    V x[N];
    HWY_UNROLL(6) for (int j = 0; j < N; ++j, from += tile.pitch) x[j] = hn::LoadU(kD, from);  // padded: always whole
    F::output(x, rows[i]);
  }
  V bias = hn::Zero(kD);
  if (tile.bias) bias = kPart ? load_part(tile.bias + c, count) : hn::LoadU(kD, tile.bias + c);
  const V lo = hn::Set(kD, tile.lo);
  const V hi = hn::Set(kD, tile.hi);
  for (int64_t j = 0; j < tile.cols; ++j) {
    V x[N];
    V y[M];
    HWY_UNROLL(6) for (int i = 0; i < N; ++i) x[i] = rows[i][j];
    F::output(x, y);
    float* to = tile.out + j * tile.pixel_stride + c;
    const float* residual = tile.residual ? tile.residual + j * tile.residual_pixel_stride + c : nullptr;
    HWY_UNROLL(4) for (int i = 0; i < M; ++i, to += tile.row_stride) {
      if (i >= tile.rows) break;
      V sum = hn::Add(y[i], bias);
      if (residual) {
        sum = hn::Add(sum, kPart ? load_part(residual, count) : hn::LoadU(kD, residual));
        residual += tile.residual_row_stride;
      }
      sum = clamp_vector(sum, lo, hi);
      if constexpr (kPart) {
        store_part(sum, to, count);
      } else {
        hn::StoreU(sum, kD, to);
      }
    }
  }
}

template <class F>
void transform_output(const WinogradOutput& tile) {
  int64_t c = 0;
  for (; c + kLanes <= tile.channels; c += kLanes) output_vector<F, false>(tile, c, kLanes);
  if (c < tile.channels) output_vector<F, true>(tile, c, tile.channels - c);
}

constexpr WinogradKernels kKernels[2] = {{transform_input<F2>, transform_output<F2>},
                                         {transform_input<F4>, transform_output<F4>}};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels::conv {

const WinogradKernels& winograd_kernels(CpuTarget target, int64_t m) {
  const int index = m == 2 ? 0 : 1;
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kKernels[index];
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kKernels[index];
#endif
    default: return HWY_STATIC_DISPATCH(kKernels)[index];
  }
}

}  // namespace strop::kernels::conv
#endif  // HWY_ONCE
