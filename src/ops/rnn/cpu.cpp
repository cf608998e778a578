// LSTM and GRU in f32: the input's part of all gates for all steps as one matrix product, then per step the hidden
// state's part, added in place, and the gates.
#include <array>
#include <cstring>
#include <limits>

#include "kernels/gemm/gemm.h"
#include "kernels/rnn/gates.h"
#include "ops/families.h"
#include "ops/rnn/rnn.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::GemmConfig;
using kernels::GemmProblem;
using tactics::Config;
using tactics::Launch;
using tactics::LaunchArgs;
using tactics::PackRequest;
using tactics::PrepareArgs;
using tactics::Problem;

/// Weights [n, k] as they are packed, whatever the number of rows that they will meet.
GemmConfig packing_of(int64_t n, int64_t k) { return kernels::default_config(GemmProblem{64, n, k}); }

int64_t packed_floats(int64_t n, int64_t k) {
  const auto floats = static_cast<int64_t>(kernels::packed_b_bytes(k, n, packing_of(n, k)) / sizeof(float));
  return (floats + 15) / 16 * 16;
}

/// A product with packed weights: rows [m, k] to [m, n], in memory with leading dimensions of their own.
struct Product {
  GemmProblem problem;
  GemmConfig config;
  size_t workspace = 0;

  Product() = default;
  Product(const GemmProblem& p, int threads) : problem(p) {
    problem.trans_b = problem.packed_b = true;
    config = kernels::default_config(problem);
    STROP_CHECK(config.nr == packing_of(p.n, p.k).nr, "the packing depends on the number of rows");
    workspace = kernels::gemm_workspace_bytes(problem, config, threads);
  }
};

bool resets_before(const Problem& problem, RnnCell cell) {
  return cell == RnnCell::Gru && !problem.attrs.as<GruAttrs>().linear_before_reset;
}

std::optional<std::string> why_not(const Problem& problem, RnnCell cell) {
  if (problem.in(0).dtype != DType::F32) return "only f32";
  if (!problem.in(0).has_rank()) return "the operand's rank is not known";
  for (const size_t weights : {1, 2}) {
    if (!problem.is_constant(weights)) return "the weights are not constant";
    if (problem.in(weights).count() == Dim(0)) return "there are no weights";
  }
  const RnnAttrs& attrs = rnn_attrs(cell, problem.attrs);
  if (!has_default_activations(cell, attrs)) return "only the default activations";
  return std::nullopt;
}

/// The parts that the weights of one direction are packed in: rows [first, first + count) of an operand [D, G*H, k].
struct PackPart {
  int64_t first, count, k;
};

std::vector<PackPart> parts_of(const Problem& problem, RnnCell cell, size_t operand) {
  const auto dims = problem.in_dims(operand);
  if (operand == 1 || !resets_before(problem, cell)) return {{0, dims[1], dims[2]}};
  // The candidate's recurrent product comes after the reset gate.
  return {{0, dims[1] / 3 * 2, dims[2]}, {dims[1] / 3 * 2, dims[1] / 3, dims[2]}};
}

int64_t floats_of(const std::vector<PackPart>& parts) {
  int64_t floats = 0;
  for (const PackPart& part : parts) floats += packed_floats(part.count, part.k);
  return floats;
}

template <RnnCell cell>
std::vector<PackRequest> packs(const Problem& problem, const Config&) {
  std::vector<PackRequest> requests;
  for (const size_t operand : {1, 2}) {
    const auto dims = problem.in_dims(operand);
    const auto parts = parts_of(problem, cell, operand);
    const int nr = packing_of(parts[0].count, parts[0].k).nr;
    requests.push_back({static_cast<int32_t>(operand), dims[0] * floats_of(parts) * 4,
                        fmt::format("{} x {} panels nr={} transposed", dims[0], parts.size(), nr)});
  }
  return requests;
}

template <RnnCell cell>
void pack(const Problem& problem, const Config&, const PackRequest& request, const Tensor& source,
          std::span<std::byte> packed) {
  const auto operand = static_cast<size_t>(request.operand);
  const auto dims = problem.in_dims(operand);
  auto* to = reinterpret_cast<float*>(packed.data());
  for (int64_t d = 0; d < dims[0]; ++d) {
    for (const PackPart& part : parts_of(problem, cell, operand)) {
      const float* from = source.data<float>() + (d * dims[1] + part.first) * part.k;
      kernels::pack_b({part.k, part.count, true, 0, from, to}, packing_of(part.count, part.k));
      to += packed_floats(part.count, part.k);
    }
  }
}

/// Scratch memory of a launch, in floats.
struct Scratch {
  int64_t gates = 0;      // [S*B or B*S, G*H]
  int64_t recurrent = 0;  // [B, 3*H], or [B, H] for what the reset gate left
  int64_t hidden = 0, cell = 0;
  int64_t bias = 0;  // [G*H] of w (with that of r where both are added at once), then of r
  int64_t gemm = 0;
  int64_t total = 0;
};

/// What the step functions of one direction need.
struct Pass {
  const LaunchArgs& args;
  int64_t direction;
  bool backward;
  const float* r;  // packed
  float *gates, *recurrent, *hidden, *cell, *bias, *gemm;
  const int32_t* lengths;
};

class RecurrentLaunch : public Launch {
 public:
  RecurrentLaunch(RnnCell cell, const PrepareArgs& args)
      : cell_(cell),
        sizes_(rnn_sizes(rnn_attrs(cell, args.problem.attrs), args.problem.in_dims(0), args.problem.in_dims(2))) {
    const RnnAttrs& attrs = rnn_attrs(cell, args.problem.attrs);
    clip_ = attrs.clip > 0 ? static_cast<float>(attrs.clip) : std::numeric_limits<float>::infinity();
    reverse_ = attrs.direction == RnnDirection::Reverse;
    resets_before_ = resets_before(args.problem, cell);
    if (cell == RnnCell::Lstm) couple_forget_ = args.problem.attrs.as<LstmAttrs>().couple_forget;
    w_stride_ = floats_of(parts_of(args.problem, cell, 1));
    r_stride_ = floats_of(parts_of(args.problem, cell, 2));
    plan_products(args.threads);
    plan_scratch();
  }

  int64_t workspace_bytes() const override { return scratch_.total * 4; }

  Result<void> run(const LaunchArgs& args) const override {
    STROP_TRY(check_lengths(args));
    for (int64_t d = 0; d < sizes_.directions; ++d) run_direction(args, d);
    return {};
  }

 private:
  int64_t width() const { return gates_of(cell_) * sizes_.hidden; }
  /// Distance of two batch entries' gates of one step.
  int64_t gate_row(int64_t step, int64_t b) const { return sizes_.x_row(step, b) * width(); }

  void plan_products(int threads) {
    const int64_t h = sizes_.hidden;
    const int64_t ld = sizes_.batch_first ? sizes_.steps * width() : width();
    input_ = Product({.m = sizes_.steps * sizes_.batch, .n = width(), .k = sizes_.inputs}, threads);
    GemmProblem step{.m = sizes_.batch, .n = width(), .k = h};
    step.ldc = ld;
    if (resets_before_) {
      step.n = 2 * h;
      GemmProblem candidate = step;
      candidate.n = h;
      candidate_ = Product(candidate, threads);
    } else if (cell_ == RnnCell::Gru) {
      step.ldc = width();
    }
    step_ = Product(step, threads);
  }

  void plan_scratch() {
    const auto take = [&](int64_t floats) {
      const int64_t at = scratch_.total;
      scratch_.total += (floats + 15) / 16 * 16;
      return at;
    };
    const int64_t state = sizes_.batch * sizes_.hidden;
    scratch_.gates = take(sizes_.steps * sizes_.batch * width());
    scratch_.recurrent = take(cell_ == RnnCell::Gru ? state * (resets_before_ ? 1 : 3) : 0);
    scratch_.hidden = take(state);
    scratch_.cell = take(cell_ == RnnCell::Lstm ? state : 0);
    scratch_.bias = take(2 * width());
    const size_t bytes = std::max({input_.workspace, step_.workspace, candidate_.workspace});
    scratch_.gemm = take(static_cast<int64_t>((bytes + 3) / 4));
  }

  Result<void> check_lengths(const LaunchArgs& args) const {
    const auto* lengths = operand<int32_t>(args, kRnnLengths);
    for (int64_t b = 0; lengths && b < sizes_.batch; ++b) {
      if (lengths[b] < 0 || lengths[b] > sizes_.steps) {
        return error(ErrorCode::InvalidArgument, "a sequence of {} among {} steps", lengths[b], sizes_.steps);
      }
    }
    return {};
  }

  template <class T>
  static const T* operand(const LaunchArgs& args, size_t index) {
    return index < args.inputs.size() ? args.inputs[index].as<const T>() : nullptr;
  }

  void run_direction(const LaunchArgs& args, int64_t d) const {
    auto* scratch = static_cast<float*>(args.workspace);
    const Pass pass{args,
                    d,
                    d == 1 || reverse_,
                    operand<float>(args, 2) + d * r_stride_,
                    scratch + scratch_.gates,
                    scratch + scratch_.recurrent,
                    scratch + scratch_.hidden,
                    scratch + scratch_.cell,
                    scratch + scratch_.bias,
                    scratch + scratch_.gemm,
                    operand<int32_t>(args, kRnnLengths)};
    load_state(args, d, kRnnHidden, pass.hidden);
    if (cell_ == RnnCell::Lstm) load_state(args, d, kLstmCell, pass.cell);
    load_bias(pass);
    kernels::GemmEpilogue with_bias;
    with_bias.bias = pass.bias;
    multiply(pass, input_, {operand<float>(args, 0), operand<float>(args, 1) + d * w_stride_, pass.gates}, with_bias);
    for (int64_t i = 0; i < sizes_.steps; ++i) run_step(pass, pass.backward ? sizes_.steps - 1 - i : i);
    store_state(args, d, 1, pass.hidden);
    if (cell_ == RnnCell::Lstm) store_state(args, d, 2, pass.cell);
  }

  void multiply(const Pass& pass, const Product& product, kernels::GemmBuffers buffers,
                const kernels::GemmEpilogue& epilogue) const {
    buffers.workspace = pass.gemm;
    buffers.workspace_bytes = product.workspace;
    kernels::run_gemm(product.problem, product.config, buffers, epilogue, pass.args.threads);
  }

  // Where a product is added to what its result already holds.
  static kernels::GemmEpilogue added_to(const float* c, const Product& product) {
    kernels::GemmEpilogue epilogue;
    epilogue.residual = c;
    epilogue.ldr = product.problem.ldc;
    return epilogue;
  }

  void run_step(const Pass& pass, int64_t step) const {
    float* gates = pass.gates + gate_row(step, 0);
    if (cell_ == RnnCell::Gru && !resets_before_) {
      kernels::GemmEpilogue with_bias;
      with_bias.bias = pass.bias + width();
      multiply(pass, step_, {pass.hidden, pass.r, pass.recurrent}, with_bias);
    } else {
      multiply(pass, step_, {pass.hidden, pass.r, gates}, added_to(gates, step_));
    }
    if (resets_before_) {
      for_entries(
          pass, [&](int64_t b) { kernels().gru_reset(gru_gates(pass, step, b), pass.recurrent + b * sizes_.hidden); });
      float* candidate = gates + 2 * sizes_.hidden;
      const float* r = pass.r + packed_floats(2 * sizes_.hidden, sizes_.hidden);
      multiply(pass, candidate_, {pass.recurrent, r, candidate}, added_to(candidate, candidate_));
    }
    for_entries(pass, [&](int64_t b) { finish(pass, step, b); });
  }

  // Calls body for every batch entry.
  template <class Body>
  void for_entries(const Pass& pass, const Body& body) const {
    constexpr int64_t kGrainUnits = 8192;
    parallel_for(pass.args.threads, sizes_.batch, kGrainUnits / sizes_.hidden + 1,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t b = begin; b < end; ++b) body(b);
                 });
  }

  static const kernels::RnnKernels& kernels() { return kernels::rnn_kernels(kernels::best_cpu_target()); }

  kernels::GruGates gru_gates(const Pass& pass, int64_t step, int64_t b) const {
    return {sizes_.hidden, pass.gates + gate_row(step, b), nullptr, clip_, pass.hidden + b * sizes_.hidden};
  }

  // The gates of one batch entry and its row of the result; beyond the end of its sequence nothing changes.
  void finish(const Pass& pass, int64_t step, int64_t b) const {
    const int64_t h = sizes_.hidden;
    auto* y = pass.args.outputs[0].as<float>();
    float* row = y ? y + sizes_.y_row(step, pass.direction, b) * h : nullptr;
    if (pass.lengths && step >= pass.lengths[b]) {
      if (row) std::memset(row, 0, static_cast<size_t>(h) * 4);
      return;
    }
    float* hidden = pass.hidden + b * h;
    if (cell_ == RnnCell::Lstm) {
      const auto* peepholes = operand<float>(pass.args, kLstmPeepholes);
      if (peepholes) peepholes += pass.direction * 3 * h;
      kernels().lstm({h, pass.gates + gate_row(step, b), peepholes, clip_, couple_forget_, pass.cell + b * h, hidden});
    } else {
      kernels::GruGates gates = gru_gates(pass, step, b);
      if (!resets_before_) gates.recurrent = pass.recurrent + b * width();
      kernels().gru_finish(gates);
    }
    if (row) std::memcpy(row, hidden, static_cast<size_t>(h) * 4);
  }

  // Biases of the input's sums, then of the recurrent ones; joined into the former where both are added anyway.
  void load_bias(const Pass& pass) const {
    const int64_t n = width();
    const auto* from = operand<float>(pass.args, kRnnBias);
    if (!from) return void(std::memset(pass.bias, 0, static_cast<size_t>(2 * n) * 4));
    from += pass.direction * 2 * n;
    const bool apart = cell_ == RnnCell::Gru && !resets_before_;
    for (int64_t i = 0; i < n; ++i) {
      pass.bias[i] = apart ? from[i] : from[i] + from[n + i];
      pass.bias[n + i] = from[n + i];
    }
  }

  void load_state(const LaunchArgs& args, int64_t d, size_t index, float* to) const {
    const auto* from = operand<float>(args, index);
    const auto bytes = static_cast<size_t>(sizes_.hidden) * 4;
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      float* row = to + b * sizes_.hidden;
      if (from) {
        std::memcpy(row, from + sizes_.state_row(d, b) * sizes_.hidden, bytes);
      } else {
        std::memset(row, 0, bytes);
      }
    }
  }

  void store_state(const LaunchArgs& args, int64_t d, size_t output, const float* from) const {
    auto* to = output < args.outputs.size() ? args.outputs[output].as<float>() : nullptr;
    if (!to) return;
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      std::memcpy(to + sizes_.state_row(d, b) * sizes_.hidden, from + b * sizes_.hidden,
                  static_cast<size_t>(sizes_.hidden) * 4);
    }
  }

  RnnCell cell_;
  RnnSizes sizes_;
  float clip_ = 0;
  bool reverse_ = false, resets_before_ = false, couple_forget_ = false;
  int64_t w_stride_ = 0, r_stride_ = 0;  // floats between directions
  Product input_, step_, candidate_;
  Scratch scratch_;
};

template <RnnCell cell>
constexpr tactics::Tactic packed(std::string_view name, std::string_view op) {
  return {
      .name = name,
      .version = 2,
      .op = op,
      .why_not = [](const Problem& problem) { return why_not(problem, cell); },
      .packs = packs<cell>,
      .pack = pack<cell>,
      .prepare = [](const PrepareArgs& args) -> Result<std::unique_ptr<Launch>> {
        return std::unique_ptr<Launch>(std::make_unique<RecurrentLaunch>(cell, args));
      },
  };
}

constexpr tactics::Tactic kPackedLstm = packed<RnnCell::Lstm>("LSTM.cpu.packed_gemm", "LSTM");
constexpr tactics::Tactic kPackedGru = packed<RnnCell::Gru>("GRU.cpu.packed_gemm", "GRU");

}  // namespace

std::span<const tactics::Tactic* const> rnn_cpu_tactics() {
  static constexpr std::array kTactics = {&kPackedLstm, &kPackedGru};
  return kTactics;
}

}  // namespace strop::ops
