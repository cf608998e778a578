/// What a recurrent layer does with the sums of its gates: sigmoid for gates, tanh for everything else, in f32.
#pragma once

#include <cstdint>

#include "kernels/cpu_target.h"

namespace strop::kernels {

/// One step of one batch entry. `hidden` and `cell` are read and overwritten, [H] each. `gates` holds the sums, [G*H].
/// Sums are first forced into [-clip, clip] (infinity: they are not).
struct LstmGates {
  int64_t size = 0;                  ///< H
  const float* gates = nullptr;      ///< input, output, forget, candidate
  const float* peepholes = nullptr;  ///< [3*H] for input, output, forget; null: none
  float clip = 0;
  bool couple_forget = false;  ///< forget gate = 1 - input gate
  float* cell = nullptr;
  float* hidden = nullptr;
};

/// GRU with the reset gate before the recurrent product: `reset` makes out = sigmoid(gates r) * hidden, what the
/// product is then formed with and added to the candidate's sums; `finish` makes the new hidden state. With the reset
/// gate after it: `finish` alone, given the recurrent sums.
struct GruGates {
  int64_t size = 0;                  ///< H
  const float* gates = nullptr;      ///< update, reset, candidate
  const float* recurrent = nullptr;  ///< [3*H], the recurrent part of the sums, not in `gates`; null: it is
  float clip = 0;
  float* hidden = nullptr;
};

struct RnnKernels {
  void (*lstm)(const LstmGates& step);
  void (*gru_reset)(const GruGates& step, float* out);
  void (*gru_finish)(const GruGates& step);
};
const RnnKernels& rnn_kernels(CpuTarget target);

}  // namespace strop::kernels
