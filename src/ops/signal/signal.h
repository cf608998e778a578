/// Fourier transforms, windows, mel filters.
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "ops/operator.h"

namespace strop::ops {

enum class WindowKind : uint8_t { Hann, Hamming, Blackman };
template <>
inline constexpr auto kEnumNames<WindowKind> = std::to_array<std::string_view>({"hann", "hamming", "blackman"});

/// A window of `size` values (late-able): of a period of that length, or else symmetric.
struct WindowFunctionAttrs {
  WindowKind kind = WindowKind::Hann;
  Dim size;
  bool periodic = true;
  DType to = DType::F32;
  static constexpr auto fields =
      std::make_tuple(field("kind", &WindowFunctionAttrs::kind), field("size", &WindowFunctionAttrs::size),
                      field("periodic", &WindowFunctionAttrs::periodic), field("to", &WindowFunctionAttrs::to));
};
extern const Operator kWindowFunction;

/// Weights [dft_length / 2 + 1, mel_bins] of triangular filters, evenly spaced on the mel scale
/// 2595 log10(1 + f / 700), from frequencies to mel bins. All but `to` are late-able.
struct MelWeightMatrixAttrs {
  Dim mel_bins, dft_length, sample_rate;
  double lower_hertz = 0, upper_hertz = 0;
  DType to = DType::F32;
  static constexpr auto fields = std::make_tuple(
      field("mel_bins", &MelWeightMatrixAttrs::mel_bins), field("dft_length", &MelWeightMatrixAttrs::dft_length),
      field("sample_rate", &MelWeightMatrixAttrs::sample_rate),
      field("lower_hertz", &MelWeightMatrixAttrs::lower_hertz),
      field("upper_hertz", &MelWeightMatrixAttrs::upper_hertz), field("to", &MelWeightMatrixAttrs::to));
};
extern const Operator kMelWeightMatrix;

/// The discrete Fourier transform along `axis` of x, whose last axis holds real parts alone or real and imaginary
/// parts. `length` (none: the axis' size; both late-able): how many values are transformed, cut or padded with zeros.
/// one_sided: only the first length / 2 + 1 results; with `inverse`: x has only these, and the result is real, its
/// length 2 (n - 1) unless told. The inverse divides by the length.
struct DftAttrs {
  int64_t axis = -2;
  Dims length;
  bool one_sided = false;
  bool inverse = false;
  static constexpr auto fields =
      std::make_tuple(field("axis", &DftAttrs::axis), field("length", &DftAttrs::length),
                      field("one_sided", &DftAttrs::one_sided), field("inverse", &DftAttrs::inverse));
};
extern const Operator kDft;

/// Operands: signal [B, L] or [B, L, 1 or 2], window (none: ones). Result [B, frames, bins, 2]: the transform of each
/// frame of frame_length values (none: the window's), one every frame_step, times the window. Both are late-able.
struct StftAttrs {
  Dim frame_step;
  Dims frame_length;
  bool one_sided = true;
  static constexpr auto fields =
      std::make_tuple(field("frame_step", &StftAttrs::frame_step), field("frame_length", &StftAttrs::frame_length),
                      field("one_sided", &StftAttrs::one_sided));
};
extern const Operator kStft;

/// The Fourier transform of one length: sum of x[n] exp(-2πi k n / length), with + if backward. Mixed radix.
class FourierPlan {
 public:
  FourierPlan(int64_t length, bool backward);
  std::vector<std::complex<double>> transform(const std::vector<std::complex<double>>& x) const;

 private:
  using Complex = std::complex<double>;
  void step(const Complex* x, int64_t stride, int64_t count, Complex* out) const;

  int64_t length_;
  std::vector<Complex> roots_;  // exp(∓2πi k / length)
};

}  // namespace strop::ops
