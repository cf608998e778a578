#include "kernels/rnn/gates.h"

#include <algorithm>
#include <cstddef>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rnn/gates.cpp"
// The targets first: what follows is compiled once for each.
// clang-format off
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include "kernels/conv/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE V sigmoid(V x) {
  const V one = hn::Set(kD, 1.0f);
  // Min returns its second operand, the NaN, if there is one; exp(88) is still finite.
  const V down = hn::Exp(kD, hn::Min(hn::Set(kD, 88.0f), hn::Neg(x)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Div(one, hn::Add(one, down)));
}

HWY_INLINE V tanh(V x) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(kD, x)); }

/// Reads and writes vectors of H values, the last one in part.
struct Units {
  int64_t at = 0, count = 0;
  HWY_INLINE V operator()(const float* from) const { return load_part(from + at, count); }
  HWY_INLINE void store(V x, float* to) const { store_part(x, to + at, count); }
};

template <class Body>
HWY_INLINE void for_units(int64_t size, const Body& body) {
  for (int64_t at = 0; at < size; at += kLanes) body(Units{at, std::min(kLanes, size - at)});
}

void lstm(const LstmGates& step) {
  const int64_t h = step.size;
  const V hi = hn::Set(kD, step.clip);
  const V lo = hn::Neg(hi);
  for_units(h, [&](const Units& units) HWY_ATTR {
    const V cell = units(step.cell);
    const auto sum = [&](int64_t gate, V of_cell) HWY_ATTR {
      V x = units(step.gates + gate * h);
      if (step.peepholes && gate < 3) x = hn::MulAdd(units(step.peepholes + gate * h), of_cell, x);
      return clamp_vector(x, lo, hi);
    };
    const V in = sigmoid(sum(0, cell));
    const V forget = step.couple_forget ? hn::Sub(hn::Set(kD, 1.0f), in) : sigmoid(sum(2, cell));
    const V next = hn::MulAdd(forget, cell, hn::Mul(in, tanh(sum(3, cell))));
    const V out = sigmoid(sum(1, next));
    units.store(next, step.cell);
    units.store(hn::Mul(out, tanh(clamp_vector(next, lo, hi))), step.hidden);
  });
}

void gru_reset(const GruGates& step, float* out) {
  const V hi = hn::Set(kD, step.clip);
  const V lo = hn::Neg(hi);
  for_units(step.size, [&](const Units& units) HWY_ATTR {
    const V reset = sigmoid(clamp_vector(units(step.gates + step.size), lo, hi));
    units.store(hn::Mul(reset, units(step.hidden)), out);
  });
}

void gru_finish(const GruGates& step) {
  const int64_t h = step.size;
  const V hi = hn::Set(kD, step.clip);
  const V lo = hn::Neg(hi);
  for_units(h, [&](const Units& units) HWY_ATTR {
    V update = units(step.gates);
    V candidate = units(step.gates + 2 * h);
    if (step.recurrent) {
      const V reset_sum = hn::Add(units(step.gates + h), units(step.recurrent + h));
      const V reset = sigmoid(clamp_vector(reset_sum, lo, hi));
      update = hn::Add(update, units(step.recurrent));
      candidate = hn::MulAdd(reset, units(step.recurrent + 2 * h), candidate);
    }
    update = sigmoid(clamp_vector(update, lo, hi));
    candidate = tanh(clamp_vector(candidate, lo, hi));
    const V kept = hn::Mul(update, units(step.hidden));
    units.store(hn::MulAdd(hn::Sub(hn::Set(kD, 1.0f), update), candidate, kept), step.hidden);
  });
}

constexpr RnnKernels kKernels{lstm, gru_reset, gru_finish};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

const RnnKernels& rnn_kernels(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kKernels;
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kKernels;
#endif
    default: return HWY_STATIC_DISPATCH(kKernels);
  }
}

}  // namespace strop::kernels
#endif  // HWY_ONCE
