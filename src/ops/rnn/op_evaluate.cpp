// The recurrent layers in double, one batch entry after the other.
#include <algorithm>
#include <cmath>

#include "ops/late.h"
#include "ops/rnn/rnn.h"
#include "tensor/convert.h"

namespace strop::ops {
namespace {

struct Activation {
  RnnActivation function = RnnActivation::Tanh;
  double alpha = 0, beta = 0;
  double clip = 0;

  double operator()(double x) const {
    if (clip > 0) x = std::clamp(x, -clip, clip);
    switch (function) {
      case RnnActivation::Relu: return std::max(x, 0.0);
      case RnnActivation::Tanh: return std::tanh(x);
      case RnnActivation::Sigmoid: return 1 / (1 + std::exp(-x));
      case RnnActivation::Affine: return alpha * x + beta;
      case RnnActivation::LeakyRelu: return x >= 0 ? x : alpha * x;
      case RnnActivation::ThresholdedRelu: return x >= alpha ? x : 0;
      case RnnActivation::ScaledTanh: return alpha * std::tanh(beta * x);
      case RnnActivation::HardSigmoid: return std::clamp(alpha * x + beta, 0.0, 1.0);
      case RnnActivation::Elu: return x >= 0 ? x : alpha * std::expm1(x);
      case RnnActivation::Softsign: return x / (1 + std::fabs(x));
      case RnnActivation::Softplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
    }
    return x;
  }
};

using Numbers = std::vector<double>;

/// One direction of a layer: its parameters and the arithmetic of one step of one batch entry.
struct Layer {
  int64_t inputs = 0, hidden = 0;
  const double* w = nullptr;  // [G*H, I]
  const double* r = nullptr;  // [G*H, H]
  Numbers bias_w, bias_r;     // [G*H]
  Numbers peepholes;          // [3*H]
  Activation f, g, h;
  bool flag = false;  // GRU: linear before reset; LSTM: coupled forget gate

  // Row `row` of w times x, and of r times a hidden state.
  double of_input(int64_t row, const double* x) const {
    double sum = bias_w[static_cast<size_t>(row)];
    for (int64_t i = 0; i < inputs; ++i) sum += w[row * inputs + i] * x[i];
    return sum;
  }
  double of_state(int64_t row, const Numbers& state) const {
    double sum = bias_r[static_cast<size_t>(row)];
    for (int64_t i = 0; i < hidden; ++i) sum += r[row * hidden + i] * state[static_cast<size_t>(i)];
    return sum;
  }
  double gate(int64_t number, int64_t unit, const double* x, const Numbers& state) const {
    return of_input(number * hidden + unit, x) + of_state(number * hidden + unit, state);
  }
  double peephole(int64_t number, int64_t unit) const { return peepholes[static_cast<size_t>(number * hidden + unit)]; }

  void step_rnn(const double* x, Numbers& state) const {
    Numbers next(state.size());
    for (int64_t j = 0; j < hidden; ++j) next[static_cast<size_t>(j)] = f(gate(0, j, x, state));
    state = std::move(next);
  }

  void step_gru(const double* x, Numbers& state) const {
    Numbers reset(state.size());
    for (int64_t j = 0; j < hidden; ++j) reset[static_cast<size_t>(j)] = f(gate(1, j, x, state));
    Numbers damped(state.size());
    for (size_t j = 0; j < state.size(); ++j) damped[j] = reset[j] * state[j];
    Numbers next(state.size());
    for (int64_t j = 0; j < hidden; ++j) {
      const auto at = static_cast<size_t>(j);
      const double z = f(gate(0, j, x, state));
      const double recurrent = flag ? reset[at] * of_state(2 * hidden + j, state) : of_state(2 * hidden + j, damped);
      next[at] = (1 - z) * g(of_input(2 * hidden + j, x) + recurrent) + z * state[at];
    }
    state = std::move(next);
  }

  void step_lstm(const double* x, Numbers& state, Numbers& cell) const {
    Numbers next(state.size());
    for (int64_t j = 0; j < hidden; ++j) {
      const auto at = static_cast<size_t>(j);
      const double in = f(gate(0, j, x, state) + peephole(0, j) * cell[at]);
      const double forget = flag ? 1 - in : f(gate(2, j, x, state) + peephole(2, j) * cell[at]);
      cell[at] = forget * cell[at] + in * g(gate(3, j, x, state));
      const double out = f(gate(1, j, x, state) + peephole(1, j) * cell[at]);
      next[at] = out * h(cell[at]);
    }
    state = std::move(next);
  }
};

Numbers operand_or_zeros(const EvalContext& ctx, size_t index, int64_t count) {
  return ctx.has_input(index) ? load_f64(ctx.in(index)) : Numbers(static_cast<size_t>(count), 0.0);
}

Activation activation(const RnnAttrs& attrs, size_t index) {
  const auto& names = kEnumNames<RnnActivation>;
  const auto found = std::find(names.begin(), names.end(), attrs.activations[index]);
  return {static_cast<RnnActivation>(found - names.begin()), attrs.alpha[index], attrs.beta[index], attrs.clip};
}

Result<std::vector<int64_t>> lengths(const EvalContext& ctx, const RnnSizes& sizes) {
  if (!ctx.has_input(kRnnLengths)) return std::vector<int64_t>(static_cast<size_t>(sizes.batch), sizes.steps);
  auto values = load_i64(ctx.in(kRnnLengths));
  for (const int64_t length : values) {
    if (length < 0 || length > sizes.steps) return bad_data("a sequence of {} among {} steps", length, sizes.steps);
  }
  return values;
}

Numbers slice(const Numbers& all, int64_t first, int64_t count) {
  return {all.begin() + first, all.begin() + first + count};
}

}  // namespace

Result<void> evaluate_recurrent(RnnCell kind, EvalContext& ctx) {
  const RnnAttrs& attrs = rnn_attrs(kind, ctx.attrs);
  const Tensor& x = ctx.in(0);
  const RnnSizes s = rnn_sizes(attrs, x.dims(), ctx.in(2).dims());
  const int64_t rows = gates_of(kind) * s.hidden;
  STROP_ASSIGN(const auto length_of, lengths(ctx, s));
  const Numbers inputs = load_f64(x);
  const Numbers w = load_f64(ctx.in(1));
  const Numbers r = load_f64(ctx.in(2));
  const Numbers bias = operand_or_zeros(ctx, kRnnBias, s.directions * 2 * rows);
  const bool lstm = kind == RnnCell::Lstm;
  const Numbers peepholes = operand_or_zeros(ctx, lstm ? kLstmPeepholes : SIZE_MAX, s.directions * 3 * s.hidden);
  Numbers hidden = operand_or_zeros(ctx, kRnnHidden, s.directions * s.batch * s.hidden);
  Numbers cell = operand_or_zeros(ctx, lstm ? kLstmCell : SIZE_MAX, s.directions * s.batch * s.hidden);
  Numbers y(static_cast<size_t>(s.steps * s.directions * s.batch * s.hidden), 0.0);
  const DType dtype = x.dtype();
  for (int64_t d = 0; d < s.directions; ++d) {
    Layer layer;
    layer.inputs = s.inputs;
    layer.hidden = s.hidden;
    layer.w = w.data() + d * rows * s.inputs;
    layer.r = r.data() + d * rows * s.hidden;
    layer.bias_w = slice(bias, d * 2 * rows, rows);
    layer.bias_r = slice(bias, (d * 2 + 1) * rows, rows);
    layer.peepholes = slice(peepholes, d * 3 * s.hidden, 3 * s.hidden);
    const size_t first = static_cast<size_t>(d) * activations_of(kind);
    layer.f = activation(attrs, first);
    if (kind != RnnCell::Rnn) layer.g = activation(attrs, first + 1);
    if (lstm) layer.h = activation(attrs, first + 2);
    if (lstm) layer.flag = ctx.attrs.as<LstmAttrs>().couple_forget;
    if (kind == RnnCell::Gru) layer.flag = ctx.attrs.as<GruAttrs>().linear_before_reset;
    const bool backward = d == 1 || attrs.direction == RnnDirection::Reverse;
    ctx.threads.run(s.batch, [&](int64_t b, int) {
      const int64_t at = s.state_row(d, b) * s.hidden;
      Numbers state = slice(hidden, at, s.hidden);
      Numbers memory = slice(cell, at, s.hidden);
      const int64_t length = length_of[static_cast<size_t>(b)];
      for (int64_t i = 0; i < length; ++i) {
        const int64_t step = backward ? length - 1 - i : i;
        const double* row = inputs.data() + s.x_row(step, b) * s.inputs;
        if (kind == RnnCell::Rnn) layer.step_rnn(row, state);
        if (kind == RnnCell::Gru) layer.step_gru(row, state);
        if (lstm) layer.step_lstm(row, state, memory);
        std::copy(state.begin(), state.end(), y.begin() + s.y_row(step, d, b) * s.hidden);
      }
      std::copy(state.begin(), state.end(), hidden.begin() + at);
      std::copy(memory.begin(), memory.end(), cell.begin() + at);
    });
  }
  const std::vector<int64_t> state_dims =
      s.batch_first ? std::vector{s.batch, s.directions, s.hidden} : std::vector{s.directions, s.batch, s.hidden};
  const std::vector<int64_t> y_dims = s.batch_first ? std::vector{s.batch, s.steps, s.directions, s.hidden}
                                                    : std::vector{s.steps, s.directions, s.batch, s.hidden};
  ctx.outputs[0] = store_f64(dtype, y_dims, y);
  if (ctx.wants(1)) ctx.outputs[1] = store_f64(dtype, state_dims, hidden);
  if (ctx.wants(2)) ctx.outputs[2] = store_f64(dtype, state_dims, cell);
  return {};
}

}  // namespace strop::ops
