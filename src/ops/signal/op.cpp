#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "ops/late.h"
#include "ops/signal/signal.h"

namespace strop::ops {
namespace {

constexpr double kPi = 3.14159265358979323846;

// -- Windows --

Result<void> infer_window(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<WindowFunctionAttrs>();
  const Dim size = dim_field(ctx, "size", attrs.size).value_or(ctx.unbacked());
  if (size.is_constant() && size.constant() < 0) return violates("(C1) a window of {} values", size.constant());
  STROP_TRY(check_sizes({size}));
  ctx.outputs[0] = Type(attrs.to, {size});
  return {};
}

// a0 - a1 cos(2πn / period) + a2 cos(4πn / period).
struct CosineSum {
  double a0, a1, a2;
};

CosineSum cosines(WindowKind kind) {
  switch (kind) {
    case WindowKind::Hann: return {0.5, 0.5, 0};
    case WindowKind::Hamming: return {25.0 / 46, 21.0 / 46, 0};
    case WindowKind::Blackman: return {0.42, 0.5, 0.08};
  }
  return {};
}

Result<void> evaluate_window(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<WindowFunctionAttrs>();
  const int64_t size = attrs.size.constant();
  if (size < 0) return bad_data("a window of {} values", size);
  const auto [a0, a1, a2] = cosines(attrs.kind);
  const auto period = static_cast<double>(std::max<int64_t>(attrs.periodic ? size : size - 1, 1));
  std::vector<double> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) {
    const double angle = 2 * kPi * static_cast<double>(i) / period;
    values[i] = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  ctx.outputs[0] = store_f64(attrs.to, {size}, values);
  return {};
}

// -- MelWeightMatrix --

Result<void> infer_mel(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<MelWeightMatrixAttrs>();
  const auto length = dim_field(ctx, "dft_length", attrs.dft_length);
  const auto bins = dim_field(ctx, "mel_bins", attrs.mel_bins);
  const Dims dims = {length ? floor_div(*length, Dim(2)) + Dim(1) : ctx.unbacked(), bins ? *bins : ctx.unbacked()};
  for (const Dim& dim : dims) {
    if (dim.is_constant() && dim.constant() < 0) return violates("(C1) a matrix of {}", to_string(dims));
  }
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(attrs.to, dims);
  return {};
}

double to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double to_hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

Result<void> evaluate_mel(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<MelWeightMatrixAttrs>();
  const int64_t bins = attrs.mel_bins.constant();
  const int64_t length = attrs.dft_length.constant();
  const int64_t rate = attrs.sample_rate.constant();
  if (bins < 1 || length < 1 || rate < 1)
    return bad_data("MelWeightMatrix: {} bins, length {}, rate {}", bins, length, rate);
  const int64_t rows = length / 2 + 1;
  const double low = to_mel(attrs.lower_hertz);
  const double step = (to_mel(attrs.upper_hertz) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = to_hertz(low + static_cast<double>(i) * step);
    const double row = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(row >= 0 && row < static_cast<double>(rows)))
      return bad_data("MelWeightMatrix: {} Hz at a rate of {}", hertz, rate);
    edges.push_back(static_cast<int64_t>(row));
  }
  std::vector<double> weights(static_cast<size_t>(rows * bins), 0.0);
  for (int64_t i = 0; i < bins; ++i) {
    const auto at = [&](int64_t row) -> double& { return weights[static_cast<size_t>(row * bins + i)]; };
    const auto e = edges.begin() + i;
    const int64_t rise = e[1] - e[0];
    const int64_t fall = e[2] - e[1];
    if (rise == 0) at(e[1]) = 1;
    for (int64_t row = e[0]; rise > 0 && row <= e[1]; ++row)
      at(row) = static_cast<double>(row - e[0]) / static_cast<double>(rise);
    for (int64_t row = e[1]; fall > 0 && row < e[2]; ++row)
      at(row) = static_cast<double>(e[2] - row) / static_cast<double>(fall);
  }
  ctx.outputs[0] = store_f64(attrs.to, {rows, bins}, weights);
  return {};
}

std::vector<WorkedCase> window_cases() {
  return {
      {"hann", WindowFunctionAttrs{WindowKind::Hann, 10}, {}},
      {"hamming_symmetric", WindowFunctionAttrs{WindowKind::Hamming, 9, false}, {}},
      {"blackman", WindowFunctionAttrs{WindowKind::Blackman, 16}, {}},
      {"single", WindowFunctionAttrs{WindowKind::Hann, 1, false}, {}},
  };
}

std::vector<WorkedCase> mel_cases() { return {{"small", MelWeightMatrixAttrs{8, 16, 8192, 0, 4096}, {}}}; }

}  // namespace

const Operator kWindowFunction = {
    .name = "WindowFunction",
    .make_attrs = [] { return Attrs(WindowFunctionAttrs{}); },
    .infer = infer_window,
    .evaluate = evaluate_window,
    .cases = window_cases,
};
const Operator kMelWeightMatrix = {
    .name = "MelWeightMatrix",
    .make_attrs = [] { return Attrs(MelWeightMatrixAttrs{}); },
    .infer = infer_mel,
    .evaluate = evaluate_mel,
    .cases = mel_cases,
};

std::span<const Operator* const> signal_operators() {
  static constexpr std::array kOperators = {&kWindowFunction, &kMelWeightMatrix, &kDft, &kStft};
  return kOperators;
}

}  // namespace strop::ops
