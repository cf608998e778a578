/// Activations that exporters write in many operators become the one function that they are: GELU (erf and tanh forms),
/// SiLU, sigmoid, hard-swish, Mish. The function rounds once where the operators rounded often, hence the knob's
/// effect. Infinities and NaN come out as they did.
#include <cmath>

#include "ops/pointwise/pointwise.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/program_match.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{{.name = "passes.match_activations",
                               .help = "recognise GELU, SiLU, hard-swish and Mish in pointwise regions",
                               .effect = Effect::Numerics}};

using ops::Fn;

struct Found {
  Fn fn = Fn::Copy;
  int32_t x = -1;
};

class Matcher {
 public:
  explicit Matcher(const ops::ScalarProgram& program) : match_(program) {}

  /// The activation that the instruction computes.
  std::optional<Found> find(int32_t index) const {
    if (!is_float(match_.at(index).dtype)) return std::nullopt;
    if (const auto x = sigmoid(index)) return Found{Fn::Sigmoid, *x};
    if (const auto x = quotient_silu(index)) return Found{Fn::Silu, *x};
    if (!match_.is(index, Fn::Mul) && !match_.is(index, Fn::Div)) return std::nullopt;
    const Product product = match_.product(index);
    if (product.factors.size() != 2) return std::nullopt;
    for (const size_t k : {0, 1}) {
      const int32_t x = product.factors[k];
      const int32_t gate = product.factors[1 - k];
      const auto is = [&](double constant) { return match_.near(product.constant, constant, index); };
      if (is(0.5) && is_erf_gate(gate, x)) return Found{Fn::Gelu, x};
      if (is(0.5) && is_tanh_gate(gate, x)) return Found{Fn::GeluTanh, x};
      if (is(1) && match_.is(gate, Fn::Sigmoid) && match_.arg(gate, 0) == x) return Found{Fn::Silu, x};
      if (is(1) && is_mish_gate(gate, x)) return Found{Fn::Mish, x};
      if (is(1.0 / 6) && is_clipped_sum(gate, x)) return Found{Fn::HardSwish, x};
      if (is(1) && is_hard_sigmoid(gate, x)) return Found{Fn::HardSwish, x};
    }
    return std::nullopt;
  }

 private:
  /// 1 / (1 + exp(-x))
  std::optional<int32_t> sigmoid(int32_t index) const {
    if (match_.is(index, Fn::Reciprocal)) return one_plus_exp_minus(match_.arg(index, 0));
    if (!match_.is(index, Fn::Div) || !match_.is_number(match_.arg(index, 0), 1)) return std::nullopt;
    return one_plus_exp_minus(match_.arg(index, 1));
  }

  /// x / (1 + exp(-x))
  std::optional<int32_t> quotient_silu(int32_t index) const {
    if (!match_.is(index, Fn::Div)) return std::nullopt;
    const auto x = one_plus_exp_minus(match_.arg(index, 1));
    return x && *x == match_.arg(index, 0) ? x : std::nullopt;
  }

  std::optional<int32_t> one_plus_exp_minus(int32_t index) const {
    const auto exp = match_.plus(index, 1);
    if (!exp || !match_.is(*exp, Fn::Exp)) return std::nullopt;
    return match_.scaled(match_.arg(*exp, 0), -1);
  }

  /// 1 + erf(x / sqrt(2))
  bool is_erf_gate(int32_t gate, int32_t x) const {
    const auto erf = match_.plus(gate, 1);
    return erf && match_.is(*erf, Fn::Erf) && match_.scaled(match_.arg(*erf, 0), M_SQRT1_2) == x;
  }

  /// 1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), the cubic as written or with x in front: x (1 + 0.044715 x^2).
  bool is_tanh_gate(int32_t gate, int32_t x) const {
    const auto tanh = match_.plus(gate, 1);
    if (!tanh || !match_.is(*tanh, Fn::Tanh)) return false;
    const int32_t inner = match_.arg(*tanh, 0);
    const Product product = match_.product(inner);
    const double scale = std::sqrt(2 / M_PI);
    if (product.factors.size() == 1 && match_.near(product.constant, scale, inner)) {
      const int32_t sum = product.factors[0];
      if (!match_.is(sum, Fn::Add)) return false;
      return (match_.arg(sum, 0) == x && is_power(match_.arg(sum, 1), x, 3)) ||
             (match_.arg(sum, 1) == x && is_power(match_.arg(sum, 0), x, 3));
    }
    if (product.factors.size() != 2 || !match_.near(product.constant, scale, inner)) return false;
    for (const size_t k : {0, 1}) {
      const auto square = match_.plus(product.factors[1 - k], 1);
      if (product.factors[k] == x && square && is_power(*square, x, 2)) return true;
    }
    return false;
  }

  /// 0.044715 x^n
  bool is_power(int32_t index, int32_t x, size_t n) const {
    const Product product = match_.product(index);
    return product.factors == std::vector<int32_t>(n, x) && match_.near(product.constant, 0.044715, index);
  }

  /// clip(x + 3, 0, 6), also written with Min and Max or Relu
  bool is_clipped_sum(int32_t gate, int32_t x) const {
    if (match_.is(gate, Fn::Clip)) {
      return match_.is_number(match_.arg(gate, 1), 0) && match_.is_number(match_.arg(gate, 2), 6) &&
             match_.plus(match_.arg(gate, 0), 3) == x;
    }
    const auto below = other_operand(gate, Fn::Min, 6);
    if (!below) return false;
    const auto above =
        match_.is(*below, Fn::Relu) ? std::optional(match_.arg(*below, 0)) : other_operand(*below, Fn::Max, 0);
    return above && match_.plus(*above, 3) == x;
  }

  std::optional<int32_t> other_operand(int32_t index, Fn fn, double constant) const {
    if (!match_.is(index, fn)) return std::nullopt;
    if (match_.is_number(match_.arg(index, 1), constant)) return match_.arg(index, 0);
    if (match_.is_number(match_.arg(index, 0), constant)) return match_.arg(index, 1);
    return std::nullopt;
  }

  bool is_hard_sigmoid(int32_t gate, int32_t x) const {
    return match_.is(gate, Fn::HardSigmoid) && match_.arg(gate, 0) == x &&
           match_.is_number(match_.arg(gate, 1), 1.0 / 6) && match_.is_number(match_.arg(gate, 2), 0.5);
  }

  bool is_mish_gate(int32_t gate, int32_t x) const {
    return match_.is(gate, Fn::Tanh) && match_.is(match_.arg(gate, 0), Fn::Softplus) &&
           match_.arg(match_.arg(gate, 0), 0) == x;
  }

  ProgramMatcher match_;
};

/// The program with every activation found replaced. Unchanged if there is none.
ops::ScalarProgram with_activations(const ops::ScalarProgram& program) {
  ops::ScalarProgram result = program;
  for (size_t i = 0; i < result.instrs.size(); ++i) {  // operands first: sigmoid before SiLU
    const auto found = Matcher(result).find(static_cast<int32_t>(i));
    if (!found) continue;
    const DType dtype = result.instrs[i].dtype;
    result.instrs[i] = ops::ScalarInstr{.fn = found->fn, .dtype = dtype};
    result.instrs[i].args[0] = found->x;
  }
  return result == program ? program : ops::simplify(result);
}

Result<bool> run(ir::Graph& graph, const PassContext&) {
  bool changed = false;
  for (const ir::NodeId id : graph.order()) {
    ir::Node& node = graph.node(id);
    if (node.op != &ops::kPointwise) continue;
    const ops::ScalarProgram& program = node.attrs.as<ops::PointwiseAttrs>().program;
    ops::ScalarProgram simpler = with_activations(program);
    if (simpler == program) continue;
    node.attrs = ops::PointwiseAttrs{std::move(simpler)};
    changed = true;
  }
  return changed;
}

}  // namespace

extern const Pass kMatchActivations;
const Pass kMatchActivations = {"match_activations", "recognises activations in pointwise regions", run, &kEnabled};

}  // namespace strop::passes
