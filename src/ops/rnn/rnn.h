/// Recurrent layers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ops/operator.h"

namespace strop::ops {

enum class RnnActivation : uint8_t {
  Relu,
  Tanh,
  Sigmoid,
  Affine,
  LeakyRelu,
  ThresholdedRelu,
  ScaledTanh,
  HardSigmoid,
  Elu,
  Softsign,
  Softplus
};
template <>
inline constexpr auto kEnumNames<RnnActivation> = std::to_array<std::string_view>({"Relu", "Tanh", "Sigmoid", "Affine",
                                                                                   "LeakyRelu", "ThresholdedRelu",
                                                                                   "ScaledTanh", "HardSigmoid", "Elu",
                                                                                   "Softsign", "Softplus"});

/// Which way time runs; both: two layers side by side, the forward one first.
enum class RnnDirection : uint8_t { Forward, Reverse, Both };
template <>
inline constexpr auto kEnumNames<RnnDirection> = std::to_array<std::string_view>({"forward", "reverse",
                                                                                  "bidirectional"});

/// The three layers share operands, D directions, S steps, B batch entries, I inputs, H hidden units, G gates:
///   x [S, B, I], w [D, G*H, I], r [D, G*H, H], bias [D, 2*G*H] (of w, then of r; none: 0), sequence lengths i32 [B]
///   (none: S), initial hidden state [D, B, H] (none: 0); LSTM further has the initial cell state [D, B, H] (none: 0)
///   and peepholes [D, 3*H] for i, o, f (none: 0).
/// Results: y [S, D, B, H], 0 beyond a sequence's end; the last hidden state [D, B, H]; for LSTM the last cell state.
/// With batch_first x is [B, S, I], y [B, S, D, H], and all states are [B, D, H].
/// Activations are given per direction in the order of use: `activations` holds names, alpha and beta one number each.
/// Arguments of activations are first forced into [-clip, clip]; 0: they are not.
struct RnnAttrs {
  RnnDirection direction = RnnDirection::Forward;
  bool batch_first = false;
  std::vector<std::string> activations;
  std::vector<double> alpha, beta;
  double clip = 0;
  static constexpr auto fields =
      std::make_tuple(field("direction", &RnnAttrs::direction), field("batch_first", &RnnAttrs::batch_first),
                      field("activations", &RnnAttrs::activations), field("alpha", &RnnAttrs::alpha),
                      field("beta", &RnnAttrs::beta), field("clip", &RnnAttrs::clip));
};

/// h = f(x W + h R + b).
extern const Operator kRnn;

/// As RnnAttrs; the struct has fields of its own because attributes do not nest.
struct LstmAttrs : RnnAttrs {
  bool couple_forget = false;  ///< forget gate = 1 - input gate
  static constexpr auto fields = std::make_tuple(
      field("direction", &LstmAttrs::direction), field("batch_first", &LstmAttrs::batch_first),
      field("activations", &LstmAttrs::activations), field("alpha", &LstmAttrs::alpha), field("beta", &LstmAttrs::beta),
      field("clip", &LstmAttrs::clip), field("couple_forget", &LstmAttrs::couple_forget));
};
/// Gates i, o, f, c: i = f(.. + pi c), f = f(.. + pf c), c' = f c + i g(..), o = f(.. + po c'), h = o h(c').
extern const Operator kLstm;

struct GruAttrs : RnnAttrs {
  bool linear_before_reset = false;
  static constexpr auto fields = std::make_tuple(
      field("direction", &GruAttrs::direction), field("batch_first", &GruAttrs::batch_first),
      field("activations", &GruAttrs::activations), field("alpha", &GruAttrs::alpha), field("beta", &GruAttrs::beta),
      field("clip", &GruAttrs::clip), field("linear_before_reset", &GruAttrs::linear_before_reset));
};
/// Gates z, r, h: candidate n = g(x Wh + (r h) Rh + b), or with linear_before_reset g(x Wh + bw + r (h Rh + br));
/// h' = (1 - z) n + z h.
extern const Operator kGru;

/// What the three differ in.
enum class RnnCell : uint8_t { Rnn, Gru, Lstm };
constexpr int64_t gates_of(RnnCell cell) { return cell == RnnCell::Rnn ? 1 : cell == RnnCell::Gru ? 3 : 4; }
constexpr size_t activations_of(RnnCell cell) { return cell == RnnCell::Rnn ? 1 : cell == RnnCell::Gru ? 2 : 3; }
/// The attributes that all have, whichever of the three it is.
const RnnAttrs& rnn_attrs(RnnCell cell, const Attrs& attrs);

/// Operand positions.
inline constexpr size_t kRnnBias = 3, kRnnLengths = 4, kRnnHidden = 5, kLstmCell = 6, kLstmPeepholes = 7;

/// Concrete sizes of a layer, and where things lie in its tensors.
struct RnnSizes {
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
  bool batch_first = false;

  int64_t x_row(int64_t step, int64_t b) const { return batch_first ? b * steps + step : step * batch + b; }
  /// Index of the H values of y, and of a state.
  int64_t y_row(int64_t step, int64_t d, int64_t b) const {
    return batch_first ? (b * steps + step) * directions + d : (step * directions + d) * batch + b;
  }
  int64_t state_row(int64_t d, int64_t b) const { return batch_first ? b * directions + d : d * batch + b; }
};
RnnSizes rnn_sizes(const RnnAttrs& attrs, const std::vector<int64_t>& x, const std::vector<int64_t>& r);

/// Whether the activations of every direction are Sigmoid (gates) and Tanh (all others), as is the default.
bool has_default_activations(RnnCell cell, const RnnAttrs& attrs);

/// Implemented in op_evaluate.cpp: the three operators' evaluation.
Result<void> evaluate_recurrent(RnnCell cell, EvalContext& ctx);

}  // namespace strop::ops
