#include <algorithm>
#include <cmath>

#include "ops/element_map.h"
#include "ops/late.h"
#include "ops/signal/signal.h"

namespace strop::ops {
namespace {

using Complex = std::complex<double>;

int64_t smallest_factor(int64_t n) {
  for (int64_t f = 2; f * f <= n; ++f) {
    if (n % f == 0) return f;
  }
  return n;
}

// -- DFT --

/// Dimensions of a DFT's result; `length` is how many values are transformed.
Dim result_size(const DftAttrs& attrs, const Dim& length) {
  return attrs.one_sided && !attrs.inverse ? floor_div(length, Dim(2)) + Dim(1) : length;
}

Dim transformed_length(const DftAttrs& attrs, const Dim& size) {
  return attrs.one_sided && attrs.inverse ? Dim(2) * (size - Dim(1)) : size;
}

Result<void> infer_dft(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<DftAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (!is_float(x.dtype)) return violates("(C1) an operand of {}", to_string(x.dtype));
  ctx.outputs[0] = Type::unranked(x.dtype);
  if (!x.has_rank()) return {};
  if (x.rank() < 2) return violates("(C2) {} has fewer than two axes", to_string(x));
  Dims dims = x.dims();
  dims.back() = Dim(attrs.one_sided && attrs.inverse ? 1 : 2);
  const auto axis = int_field(ctx, "axis", attrs.axis);
  if (!axis) {
    for (size_t i = 0; i + 1 < dims.size(); ++i) dims[i] = ctx.unbacked();
    ctx.outputs[0] = Type(x.dtype, std::move(dims));
    return {};
  }
  STROP_ASSIGN(const int64_t at, normalize_axis(*axis, x.rank(), "(C2) axis"));
  if (at == x.rank() - 1) return violates("(C2) the last axis holds real and imaginary parts");
  Dim& size = dims[static_cast<size_t>(at)];
  const auto length = dims_field(ctx, "length", attrs.length);
  if (!length) {
    size = ctx.unbacked();
  } else {
    const Dim used = length->empty() ? transformed_length(attrs, size) : length->front();
    if (used.is_constant() && used.constant() < 1) return violates("(C3) a transform of {} values", used.constant());
    STROP_TRY(check_sizes({used}));
    size = result_size(attrs, used);
  }
  ctx.outputs[0] = Type(x.dtype, std::move(dims));
  return {};
}

// The missing half of a real signal's transform mirrors the one that is there.
void complete(std::vector<Complex>& spectrum, int64_t given) {
  const auto length = static_cast<int64_t>(spectrum.size());
  for (int64_t k = std::max<int64_t>(given, length / 2 + 1); k < length; ++k) {
    spectrum[static_cast<size_t>(k)] = std::conj(spectrum[static_cast<size_t>(length - k)]);
  }
}

/// One line of a tensor of complex or real numbers.
struct Line {
  int64_t first, stride, parts;
};

std::vector<Complex> read_line(const std::vector<double>& values, const Line& line, int64_t count, int64_t length) {
  std::vector<Complex> result(static_cast<size_t>(length));
  for (int64_t i = 0; i < std::min(count, length); ++i) {
    const auto at = static_cast<size_t>((line.first + i * line.stride) * line.parts);
    result[static_cast<size_t>(i)] = {values[at], line.parts == 2 ? values[at + 1] : 0.0};
  }
  return result;
}

void write_line(std::vector<double>& values, const Line& line, const std::vector<Complex>& numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>((line.first + i * line.stride) * line.parts);
    values[at] = numbers[static_cast<size_t>(i)].real();
    if (line.parts == 2) values[at + 1] = numbers[static_cast<size_t>(i)].imag();
  }
}

Result<void> evaluate_dft(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<DftAttrs>();
  const Tensor& x = ctx.in(0);
  STROP_ASSIGN(const int64_t axis, normalize_axis(attrs.axis, x.rank(), "(C2) axis"));
  const int64_t parts = x.dim(x.rank() - 1);
  if (axis == x.rank() - 1 || parts < 1 || parts > 2)
    return bad_data("DFT: {} along axis {}", to_string(x.type()), axis);
  const int64_t size = x.dim(axis);
  const int64_t length =
      attrs.length.empty() ? transformed_length(attrs, Dim(size)).constant() : bound(attrs.length)[0];
  if (length < 1) return bad_data("DFT: a transform of {} values", length);
  const int64_t count = result_size(attrs, Dim(length)).constant();
  const int64_t outer = count_between(x.dims(), 0, axis);
  const int64_t inner = count_between(x.dims(), axis + 1, x.rank() - 1);
  const bool real = attrs.one_sided && attrs.inverse;
  auto dims = x.dims();
  dims[static_cast<size_t>(axis)] = count;
  dims.back() = real ? 1 : 2;
  const auto values = load_f64(x);
  std::vector<double> result(static_cast<size_t>(element_count(dims)));
  const FourierPlan plan(length, attrs.inverse);
  ctx.threads.run(outer * inner, [&](int64_t line, int) {
    const int64_t o = line / inner;
    const int64_t i = line % inner;
    auto numbers = read_line(values, {o * size * inner + i, inner, parts}, size, length);
    if (real) complete(numbers, std::min(size, length));
    numbers = plan.transform(numbers);
    if (attrs.inverse) {
      for (Complex& number : numbers) number /= static_cast<double>(length);
    }
    write_line(result, {o * count * inner + i, inner, real ? 1 : 2}, numbers, count);
  });
  ctx.outputs[0] = store_f64(x.dtype(), dims, result);
  return {};
}

// -- STFT --

Result<void> infer_stft(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<StftAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (!is_float(x.dtype)) return violates("(C1) a signal of {}", to_string(x.dtype));
  if (x.has_rank() && x.rank() != 2 && x.rank() != 3) return violates("(C2) the signal is {}", to_string(x));
  std::optional<Dim> length;
  const auto given = dims_field(ctx, "frame_length", attrs.frame_length);
  if (given && given->size() == 1) length = given->front();
  if (ctx.has_input(1)) {
    STROP_ASSIGN(const TensorType window, ctx.tensor(1));
    if (window.has_rank() && window.rank() != 1) return violates("(C2) the window is {}", to_string(window));
    if (!length && given && window.has_rank()) length = window.dim(0);
  } else if (given && given->empty()) {
    return violates("(C3) neither a window nor a frame length is given");
  }
  const auto step = dim_field(ctx, "frame_step", attrs.frame_step);
  if (step && step->is_constant() && step->constant() < 1) return violates("(C3) a frame step of {}", step->constant());
  if (length && length->is_constant() && length->constant() < 1)
    return violates("(C3) frames of {}", length->constant());
  const bool counted = x.has_rank() && length && step && step->is_constant();
  const Dim frames = counted ? floor_div(x.dim(1) - *length, *step) + Dim(1) : ctx.unbacked();
  if (frames.is_constant() && frames.constant() < 0) return violates("(C3) the signal is shorter than a frame");
  const Dim bins = !length ? ctx.unbacked() : attrs.one_sided ? floor_div(*length, Dim(2)) + Dim(1) : *length;
  ctx.outputs[0] = Type(x.dtype, {x.has_rank() ? x.dim(0) : ctx.unbacked(), frames, bins, Dim(2)});
  return {};
}

Result<void> evaluate_stft(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<StftAttrs>();
  const Tensor& x = ctx.in(0);
  const int64_t step = attrs.frame_step.constant();
  const int64_t samples = x.dim(1);
  const int64_t parts = x.rank() == 3 ? x.dim(2) : 1;
  const auto given = bound(attrs.frame_length);
  const int64_t length = !given.empty() ? given[0] : ctx.has_input(1) ? ctx.in(1).count() : 0;
  if (length < 1 || length > samples || step < 1 || parts < 1 || parts > 2) {
    return bad_data("STFT: frames of {} every {} of {}", length, step, to_string(x.type()));
  }
  std::vector<double> window(static_cast<size_t>(length), 1.0);
  if (ctx.has_input(1)) window = load_f64(ctx.in(1));
  if (static_cast<int64_t>(window.size()) != length)
    return bad_data("STFT: a window of {} for frames of {}", window.size(), length);
  const int64_t frames = (samples - length) / step + 1;
  const int64_t bins = attrs.one_sided ? length / 2 + 1 : length;
  const auto values = load_f64(x);
  const std::vector<int64_t> dims = {x.dim(0), frames, bins, 2};
  std::vector<double> result(static_cast<size_t>(element_count(dims)));
  const FourierPlan plan(length, false);
  ctx.threads.run(x.dim(0) * frames, [&](int64_t i, int) {
    const int64_t first = i / frames * samples + i % frames * step;
    auto numbers = read_line(values, {first, 1, parts}, length, length);
    for (size_t n = 0; n < numbers.size(); ++n) numbers[n] *= window[n];
    write_line(result, {i * bins, 1, 2}, plan.transform(numbers), bins);
  });
  ctx.outputs[0] = store_f64(x.dtype(), dims, result);
  return {};
}

std::vector<WorkedCase> dft_cases() {
  return {
      {"real", DftAttrs{1}, {Type(DType::F32, {2, 12, 3, 1})}},
      {"one_sided", DftAttrs{-2, {}, true}, {Type(DType::F32, {3, 15, 1})}},
      {"complex_padded", DftAttrs{0, {8}}, {Type(DType::F32, {5, 2, 2})}},
      {"inverse_cut", DftAttrs{1, {7}, false, true}, {Type(DType::F64, {2, 9, 2})}},
      {"inverse_one_sided", DftAttrs{1, {}, true, true}, {Type(DType::F32, {2, 6, 2})}},
  };
}

std::vector<WorkedCase> stft_cases() {
  return {
      {"window", StftAttrs{8, {}}, {Type(DType::F32, {2, 64, 1}), Type(DType::F32, {16})}},
      {"length", StftAttrs{5, {12}, false}, {Type(DType::F32, {1, 40, 2})}},
  };
}

}  // namespace

FourierPlan::FourierPlan(int64_t length, bool backward) : length_(length) {
  constexpr double kPi = 3.14159265358979323846;
  for (int64_t k = 0; k < length; ++k) {
    const double angle = 2 * kPi * static_cast<double>(k) / static_cast<double>(length);
    roots_.emplace_back(std::cos(angle), backward ? std::sin(angle) : -std::sin(angle));
  }
}

std::vector<Complex> FourierPlan::transform(const std::vector<Complex>& x) const {
  std::vector<Complex> out(x.size());
  step(x.data(), 1, length_, out.data());
  return out;
}

// Cooley and Tukey: `count` values, every stride-th of x, as f interleaved transforms of count / f values each.
void FourierPlan::step(const Complex* x, int64_t stride, int64_t count, Complex* out) const {
  if (count == 1) {
    out[0] = x[0];
    return;
  }
  const int64_t factor = smallest_factor(count);
  const int64_t part = count / factor;
  for (int64_t f = 0; f < factor; ++f) step(x + f * stride, stride * factor, part, out + f * part);
  std::vector<Complex> column(static_cast<size_t>(factor));
  for (int64_t k = 0; k < part; ++k) {
    for (int64_t f = 0; f < factor; ++f) column[static_cast<size_t>(f)] = out[f * part + k];
    for (int64_t q = 0; q < factor; ++q) {
      Complex sum = 0;
      const int64_t bin = k + q * part;
      for (int64_t f = 0; f < factor; ++f)
        sum += column[static_cast<size_t>(f)] * roots_[static_cast<size_t>(bin * f % count * stride)];
      out[bin] = sum;
    }
  }
}

const Operator kDft = {
    .name = "DFT",
    .make_attrs = [] { return Attrs(DftAttrs{}); },
    .infer = infer_dft,
    .evaluate = evaluate_dft,
    .cases = dft_cases,
};
const Operator kStft = {
    .name = "STFT",
    .make_attrs = [] { return Attrs(StftAttrs{}); },
    .infer = infer_stft,
    .evaluate = evaluate_stft,
    .cases = stft_cases,
};

}  // namespace strop::ops
