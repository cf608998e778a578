/// Normalisations that exporters write in many operators become the one that they are:
///   layer normalisation  (x - mean) / sqrt(mean of (x - mean)² + epsilon) * scale + bias, also with the inverse and
///                        scale multiplied first, and as x * factor + (bias - mean * factor);
///   RMS normalisation    x / sqrt(mean of x² + epsilon) * scale + bias;
///   group normalisation  instance normalisation of reshaped groups, with scale and bias per channel behind;
///   softmax, log-softmax exp(x - max) / sum, x - max - log(sum of exp(x - max)).
///
/// The operator rounds once where the chain rounded often, hence the knob's effect. NaN, infinities and zero variance
/// come out as they did: epsilon is positive, so that nothing is divided by 0; an infinite or NaN x makes all of its
/// row NaN either way (RMS: 0 where x is finite). Where a factor made ahead could be infinite by itself, scale and bias
/// have to be finite constants. exp(x) without the maximum overflows where softmax does not: it is left alone.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/norm/norm.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"
#include "ops/view/view.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "tensor/convert.h"

namespace strop::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;
using ops::Fn;
using Operand = Application::Operand;

constexpr Knob<bool> kEnabled{{.name = "passes.match_normalization",
                               .help = "recognise layer, RMS and group normalisation and softmax written out",
                               .effect = Effect::Numerics}};

/// More nodes than any of the patterns has.
constexpr size_t kMaxNodes = 24;

/// x reduced over the axes from `axis` on.
struct Reduced {
  ValueId x = ir::kNone;
  int64_t axis = 0;
  bool squared = false;  ///< x² is what is reduced
  friend bool operator==(const Reduced&, const Reduced&) = default;
};

/// Where the variance is found: the mean of base², and the epsilon that is added to it.
struct Variance {
  Reduced mean;  ///< of base
  double epsilon = 0;
};

/// scale / sqrt(variance + epsilon)
struct Factor {
  Variance variance;
  ValueId scale = ir::kNone;
};

/// Reads expressions over the graph's nodes. All of f32.
class Reader {
 public:
  explicit Reader(const Graph& graph) : graph_(graph) {}

  std::optional<Application> read(ValueId value, Fn fn) const {
    auto found = application(graph_, value);
    return found && found->fn == fn && found->dtype == DType::F32 ? found : std::nullopt;
  }

  /// A reduction over trailing axes that stay with size 1.
  std::optional<Reduced> reduced(ValueId value, ops::ReduceKind kind) const {
    const NodeId id = producer(graph_, value, ops::kReduce);
    if (id == ir::kNone || !graph_.node(id).late.empty()) return std::nullopt;
    const auto& attrs = graph_.node(id).attrs.as<ops::ReduceAttrs>();
    const TensorType* x = ranked(graph_, graph_.node(id).inputs[0]);
    const auto axes = as_constants(attrs.axes);
    if (attrs.kind != kind || !attrs.keep_dims || !attrs.epilogue.empty() || !x || !axes) return std::nullopt;
    if (x->dtype != DType::F32 || (!attrs.prologue.empty() && !is_square(attrs.prologue))) return std::nullopt;
    const auto marked = ops::reduced_axes(*axes, attrs.all_if_empty, x->rank());
    if (!marked.ok()) return std::nullopt;
    const auto first = std::find(marked->begin(), marked->end(), true);
    if (first == marked->end() || !std::all_of(first, marked->end(), [](bool is) { return is; })) return std::nullopt;
    return Reduced{graph_.node(id).inputs[0], first - marked->begin(), !attrs.prologue.empty()};
  }

  /// x - mean of x: that mean.
  std::optional<Reduced> deviation(ValueId value) const {
    const auto sub = read(value, Fn::Sub);
    if (!sub) return std::nullopt;
    const auto mean = reduced(sub->operands[1].value, ops::ReduceKind::Mean);
    return mean && !mean->squared && mean->x == sub->operands[0].value ? mean : std::nullopt;
  }

  /// sqrt(variance + epsilon)
  std::optional<Variance> root(ValueId value) const {
    if (const auto sqrt = read(value, Fn::Sqrt)) return variance(sqrt->operands[0].value);
    const auto pow = read(value, Fn::Pow);
    return pow && pow->operands[1].number == 0.5 ? variance(pow->operands[0].value) : std::nullopt;
  }

  /// scale / sqrt(variance + epsilon), the scale multiplied on either side, or none.
  std::optional<Factor> factor(ValueId value) const {
    if (const auto variance = inverse_root(value)) return Factor{*variance, ir::kNone};
    const auto mul = read(value, Fn::Mul);
    if (!mul) return std::nullopt;
    for (const size_t k : {0, 1}) {
      const auto variance = inverse_root(mul->operands[k].value);
      if (variance && mul->operands[1 - k].value != ir::kNone) return Factor{*variance, mul->operands[1 - k].value};
    }
    return std::nullopt;
  }

 private:
  static bool is_square(const ops::ScalarProgram& program) {
    ops::ScalarProgram square;
    const int32_t x = square.add_input(0, DType::F32);
    square.outputs = {square.add(Fn::Mul, {x, x})};
    return program == square;
  }

  std::optional<Variance> inverse_root(ValueId value) const {
    if (const auto reciprocal = read(value, Fn::Reciprocal)) return root(reciprocal->operands[0].value);
    if (const auto rsqrt = read(value, Fn::Rsqrt)) return variance(rsqrt->operands[0].value);
    if (const auto div = read(value, Fn::Div)) {
      return div->operands[0].number == 1 ? root(div->operands[1].value) : std::nullopt;
    }
    const auto pow = read(value, Fn::Pow);
    return pow && pow->operands[1].number == -0.5 ? variance(pow->operands[0].value) : std::nullopt;
  }

  // The mean of squares, with an epsilon added that keeps the sum positive.
  std::optional<Variance> variance(ValueId value) const {
    const auto add = read(value, Fn::Add);
    if (!add) return std::nullopt;
    for (const size_t k : {0, 1}) {
      const auto epsilon = add->operands[1 - k].number;
      auto mean = reduced(add->operands[k].value, ops::ReduceKind::Mean);
      if (!mean || !epsilon || !std::isfinite(*epsilon) || *epsilon <= 0) continue;
      if (!mean->squared) {
        const ValueId base = squared(mean->x);
        if (base == ir::kNone) continue;
        *mean = {base, mean->axis, true};
      }
      return Variance{*mean, *epsilon};
    }
    return std::nullopt;
  }

  ValueId squared(ValueId value) const {
    if (const auto mul = read(value, Fn::Mul)) {
      return mul->operands[0].value == mul->operands[1].value ? mul->operands[0].value : ir::kNone;
    }
    const auto pow = read(value, Fn::Pow);
    return pow && pow->operands[1].number == 2 ? pow->operands[0].value : ir::kNone;
  }

  const Graph& graph_;
};

/// Which operator takes a scale and bias of this shape.
enum class Affine : uint8_t { None, Row, Channel };

/// A normalisation that was found.
struct Found {
  ValueId x = ir::kNone;
  int64_t axis = 0;  ///< LayerNorm; with groups > 0 all axes after the channels
  double epsilon = 0;
  bool rms = false;
  int64_t groups = 0;  ///< more than 0: group normalisation
  ValueId scale = ir::kNone, bias = ir::kNone;
  Affine affine = Affine::None;
  ValueId result = ir::kNone;  ///< of the last node
};

class Matcher {
 public:
  explicit Matcher(Graph& graph) : graph_(graph), reader_(graph), uses_(graph.uses()) {}

  Result<bool> run() {
    bool changed = false;
    for (const NodeId id : std::vector<NodeId>(graph_.order())) {
      if (!graph_.node(id).alive || graph_.node(id).outputs.size() != 1) continue;
      STROP_ASSIGN(const bool replaced, replace(graph_.node(id).outputs[0]));
      if (!replaced) continue;
      changed = true;
      uses_ = graph_.uses();
    }
    if (changed) graph_.sort();
    return changed;
  }

 private:
  // True: what computes the value became another node.
  Result<bool> replace(ValueId value) {
    if (const auto softmax = match_softmax(value)) {
      return put(value, {.op = &ops::kSoftmax, .attrs = softmax->second, .inputs = {softmax->first}}, {softmax->first});
    }
    auto found = match_core(value);
    if (!found) found = match_affine_form(value);
    if (!found) found = match_groups(value);
    if (!found) return false;
    return put_normalization(*found);
  }

  // -- Softmax --

  // exp(x - max) / sum, or (x - max) - log(sum): x, and what it is.
  std::optional<std::pair<ValueId, ops::SoftmaxAttrs>> match_softmax(ValueId value) const {
    ops::SoftmaxAttrs attrs;
    ValueId exp = ir::kNone, sum = ir::kNone, shifted = ir::kNone;
    if (const auto div = reader_.read(value, Fn::Div)) {
      exp = div->operands[0].value;
      sum = div->operands[1].value;
    } else if (const auto mul = reader_.read(value, Fn::Mul)) {
      for (const size_t k : {0, 1}) {
        const auto inverse = reader_.read(mul->operands[k].value, Fn::Reciprocal);
        if (!inverse) continue;
        exp = mul->operands[1 - k].value;
        sum = inverse->operands[0].value;
      }
    } else if (const auto sub = reader_.read(value, Fn::Sub)) {
      const auto log = reader_.read(sub->operands[1].value, Fn::Log);
      if (!log) return std::nullopt;
      attrs.kind = ops::SoftmaxKind::LogSoftmax;
      shifted = sub->operands[0].value;
      sum = log->operands[0].value;
      if (const NodeId id = producer(graph_, sum, ops::kReduce); id != ir::kNone) exp = graph_.node(id).inputs[0];
    }
    const auto exponential = reader_.read(exp, Fn::Exp);
    if (!exponential || (shifted != ir::kNone && shifted != exponential->operands[0].value)) return std::nullopt;
    const auto sub = reader_.read(exponential->operands[0].value, Fn::Sub);
    if (!sub) return std::nullopt;
    const ValueId x = sub->operands[0].value;
    const auto axis = single_axis(sub->operands[1].value, ops::ReduceKind::Max, x);
    if (!axis || axis != single_axis(sum, ops::ReduceKind::Sum, exp)) return std::nullopt;
    attrs.axis = *axis;
    if (!only_for(value, {x})) return std::nullopt;
    return std::pair(x, std::move(attrs));
  }

  // The only axis over which `value` reduces `of`.
  std::optional<int64_t> single_axis(ValueId value, ops::ReduceKind kind, ValueId of) const {
    const NodeId id = producer(graph_, value, ops::kReduce);
    const TensorType* type = ranked(graph_, of);
    if (id == ir::kNone || !type || !graph_.node(id).late.empty() || graph_.node(id).inputs[0] != of)
      return std::nullopt;
    const auto& attrs = graph_.node(id).attrs.as<ops::ReduceAttrs>();
    const auto axes = as_constants(attrs.axes);
    if (attrs.kind != kind || !attrs.keep_dims || !axes || axes->size() != 1) return std::nullopt;
    if (!attrs.prologue.empty() || !attrs.epilogue.empty()) return std::nullopt;
    return (*axes)[0] < 0 ? (*axes)[0] + type->rank() : (*axes)[0];
  }

  // -- Layer and RMS normalisation --

  // numerator / sqrt(variance) or numerator * factor
  std::optional<Found> match_core(ValueId value) const {
    if (const auto div = reader_.read(value, Fn::Div)) {
      const auto variance = reader_.root(div->operands[1].value);
      return variance ? normalized(div->operands[0].value, {*variance, ir::kNone}, value) : std::nullopt;
    }
    const auto mul = reader_.read(value, Fn::Mul);
    if (!mul) return std::nullopt;
    for (const size_t k : {0, 1}) {
      const auto factor = reader_.factor(mul->operands[k].value);
      if (!factor) continue;
      if (auto found = normalized(mul->operands[1 - k].value, *factor, value)) return found;
    }
    return std::nullopt;
  }

  // The numerator is what the variance is of: a deviation from the mean, or x itself.
  std::optional<Found> normalized(ValueId numerator, const Factor& factor, ValueId result) const {
    const Reduced& base = factor.variance.mean;
    Found found{.axis = base.axis, .epsilon = factor.variance.epsilon, .scale = factor.scale, .result = result};
    const auto mean = reader_.deviation(base.x);
    if (mean && mean->axis == base.axis && (numerator == base.x || reader_.deviation(numerator) == mean)) {
      found.x = mean->x;
    } else if (numerator == base.x) {
      found.x = base.x;
      found.rms = true;
    } else {
      return std::nullopt;
    }
    if (found.scale != ir::kNone && !accept_affine(found, found.scale)) return std::nullopt;
    return found;
  }

  // x * factor + (bias - mean * factor), as batch normalisation with the row's own mean and variance. A scale or bias
  // that is not finite would come out differently.
  std::optional<Found> match_affine_form(ValueId value) const {
    const auto add = reader_.read(value, Fn::Add);
    const auto sub = add ? std::nullopt : reader_.read(value, Fn::Sub);
    if (!add && !sub) return std::nullopt;
    const auto& sides = add ? add->operands : sub->operands;
    for (const size_t k : {0, 1}) {
      if (sub && k == 1) break;  // what is subtracted is mean * factor
      const auto product = reader_.read(sides[k].value, Fn::Mul);
      if (!product) continue;
      for (const size_t i : {0, 1}) {
        const ValueId by = product->operands[i].value;
        const auto factor = reader_.factor(by);
        if (!factor) continue;
        const auto mean = reader_.deviation(factor->variance.mean.x);
        if (!mean || mean->axis != factor->variance.mean.axis || mean->x != product->operands[1 - i].value) continue;
        auto found = normalized(factor->variance.mean.x, *factor, value);
        if (!found) continue;
        if (found->scale != ir::kNone && !is_finite_constant(found->scale)) continue;
        const Shift shift{*mean, by};
        if (sub ? is_shift(sides[1].value, shift, false) : take_shift(sides[1 - k].value, shift, *found)) return found;
      }
    }
    return std::nullopt;
  }

  struct Shift {
    Reduced mean;
    ValueId factor = ir::kNone;
  };

  // mean * factor; with `negative` -mean * factor.
  bool is_shift(ValueId value, const Shift& shift, bool negative) const {
    if (negative) {
      const auto neg = reader_.read(value, Fn::Neg);
      if (neg && is_shift(neg->operands[0].value, shift, false)) return true;
    }
    const auto mul = reader_.read(value, Fn::Mul);
    if (!mul) return false;
    for (const size_t k : {0, 1}) {
      if (mul->operands[k].value != shift.factor) continue;
      ValueId mean = mul->operands[1 - k].value;
      if (negative) {
        const auto neg = reader_.read(mean, Fn::Neg);
        mean = neg ? neg->operands[0].value : ir::kNone;
      }
      if (reader_.reduced(mean, ops::ReduceKind::Mean) == shift.mean) return true;
    }
    return false;
  }

  // bias - mean * factor, in any of its spellings; the bias is noted.
  bool take_shift(ValueId value, const Shift& shift, Found& found) const {
    if (is_shift(value, shift, true)) return true;
    const auto takes = [&](ValueId bias) {
      return bias != ir::kNone && is_finite_constant(bias) && accept_affine(found, bias) &&
             (found.bias = bias) != ir::kNone;
    };
    if (const auto sub = reader_.read(value, Fn::Sub)) {
      return is_shift(sub->operands[1].value, shift, false) && takes(sub->operands[0].value);
    }
    const auto add = reader_.read(value, Fn::Add);
    if (!add) return false;
    for (const size_t k : {0, 1}) {
      if (is_shift(add->operands[k].value, shift, true)) return takes(add->operands[1 - k].value);
    }
    return false;
  }

  bool is_finite_constant(ValueId value) const {
    const Tensor* tensor = graph_.constant_tensor(value);
    if (!tensor || !is_float(tensor->dtype())) return false;
    const auto numbers = load_f64(*tensor);
    return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
  }

  // -- Group normalisation --

  // reshape([N, C, …]) · instance normalisation of [N, G, …] · reshape back, without scale and bias of its own.
  std::optional<Found> match_groups(ValueId value) const {
    const NodeId back = producer(graph_, value, ops::kReshape);
    if (back == ir::kNone) return std::nullopt;
    const NodeId norm = producer(graph_, graph_.node(back).inputs[0], ops::kGroupNorm);
    if (norm == ir::kNone) return std::nullopt;
    const auto& attrs = graph_.node(norm).attrs.as<ops::GroupNormAttrs>();
    const auto& operands = graph_.node(norm).inputs;
    const NodeId split = producer(graph_, operands[0], ops::kReshape);
    if (split == ir::kNone || attrs.channels_last || !attrs.prologue.empty() || !attrs.epilogue.empty())
      return std::nullopt;
    const auto is_absent = [&](size_t index, double number) {
      return index >= operands.size() || operands[index] == ir::kNone || is_constant_of(operands[index], number);
    };
    const ValueId x = graph_.node(split).inputs[0];
    const TensorType* whole = ranked(graph_, x);
    const TensorType* grouped = ranked(graph_, operands[0]);
    const TensorType* result = ranked(graph_, value);
    if (!is_absent(1, 1) || !is_absent(2, 0) || !whole || !grouped || !result) return std::nullopt;
    if (whole->dtype != DType::F32 || whole->rank() < 3 || grouped->rank() < 2 || whole->dims() != result->dims() ||
        !(whole->dim(0) == grouped->dim(0)))
      return std::nullopt;
    if (!whole->dim(1).is_constant() || !grouped->dim(1).is_constant()) return std::nullopt;
    const int64_t groups = attrs.groups == 0 ? grouped->dim(1).constant() : attrs.groups;
    if (groups < 1 || whole->dim(1).constant() % groups != 0) return std::nullopt;
    return Found{.x = x, .axis = 2, .epsilon = attrs.epsilon, .groups = groups, .result = value};
  }

  bool is_constant_of(ValueId value, double number) const {
    const Tensor* tensor = graph_.constant_tensor(value);
    if (!tensor) return false;
    const auto numbers = load_f64(*tensor);
    return std::all_of(numbers.begin(), numbers.end(), [&](double each) { return each == number; });
  }

  // -- Scale and bias --

  // Sets or checks which way the operand lies beside x; false if it is neither.
  bool accept_affine(Found& found, ValueId operand) const {
    const TensorType* type = ranked(graph_, operand);
    const TensorType* x = ranked(graph_, found.x);
    if (!type || !x || type->dtype != DType::F32 || type->rank() > x->rank()) return false;
    for (const Affine affine : {Affine::Row, Affine::Channel}) {
      if (found.affine != Affine::None && found.affine != affine) continue;
      if (affine == Affine::Row ? found.groups > 0 : found.rms || found.axis != 2 || x->rank() < 3) continue;
      if (!lies(*type, *x, affine == Affine::Row ? found.axis : 1, affine == Affine::Row ? x->rank() : 2)) continue;
      found.affine = affine;
      return true;
    }
    return false;
  }

  // Whether the operand has x's sizes along the axes [first, last) and size 1 along all others.
  static bool lies(const TensorType& operand, const TensorType& x, int64_t first, int64_t last) {
    if (operand.rank() < x.rank() - first) return false;
    for (int64_t i = 0; i < operand.rank(); ++i) {
      const int64_t axis = x.rank() - operand.rank() + i;
      const Dim wanted = axis >= first && axis < last ? x.dim(axis) : Dim(1);
      if (!(operand.dim(i) == wanted)) return false;
    }
    return true;
  }

  // If the only use of the result is `fn` with an operand that fits: takes it in.
  void extend(Found& found, Fn fn, ValueId& operand) const {
    const auto& users = uses_[static_cast<size_t>(found.result)];
    if (users.size() != 1 || users[0].node == ir::kNone || graph_.node(users[0].node).outputs.size() != 1) return;
    const ValueId next = graph_.node(users[0].node).outputs[0];
    const auto user = reader_.read(next, fn);
    if (!user || user->operands.size() != 2) return;
    const ValueId other = user->operands[user->operands[0].value == found.result ? 1 : 0].value;
    if (other == ir::kNone || other == found.result || !accept_affine(found, other)) return;
    operand = other;
    found.result = next;
  }

  // -- Replacing --

  // All that computes the value from the leaves is used for nothing else.
  bool only_for(ValueId value, const std::vector<ValueId>& leaves) const {
    const auto nodes = nodes_between(graph_, leaves, value, kMaxNodes);
    if (!nodes) return false;
    return std::all_of(nodes->begin(), nodes->end(), [&](NodeId id) {
      const auto& outputs = graph_.node(id).outputs;
      return std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) {
        const auto& users = uses_[static_cast<size_t>(output)];
        return output == value || std::all_of(users.begin(), users.end(), [&](const Graph::Use& use) {
                 return use.node != ir::kNone && nodes->contains(use.node);
               });
      });
    });
  }

  Result<bool> put_normalization(Found found) {
    const Found core = found;
    if (found.bias == ir::kNone) {
      if (found.scale == ir::kNone) extend(found, Fn::Mul, found.scale);
      extend(found, Fn::Add, found.bias);
    }
    if (!only_for(found.result, {found.x, found.scale, found.bias})) {
      found = core;
      if (!only_for(found.result, {found.x, found.scale, found.bias})) return false;
    }
    const std::vector<ValueId> leaves = {found.x, found.scale, found.bias};
    const TensorType* x = ranked(graph_, found.x);
    const bool spatial = !found.rms && found.axis == 2 && x->rank() >= 4 && found.affine == Affine::None;
    if (found.groups == 0 && found.affine != Affine::Channel && !spatial) {
      ops::LayerNormAttrs attrs;
      attrs.axis = found.axis - x->rank();
      attrs.epsilon = found.epsilon;
      attrs.rms = found.rms;
      return put(found.result, {.op = &ops::kLayerNorm, .attrs = attrs, .inputs = operands_of(found)}, leaves);
    }
    const std::vector<std::string> sources = graph_.node(graph_.value(found.result).producer).sources;
    for (ValueId* operand : {&found.scale, &found.bias}) {
      if (*operand == ir::kNone) continue;
      const ops::ReshapeAttrs vector{{ranked(graph_, found.x)->dim(1)}, false};
      STROP_ASSIGN(*operand,
                   graph_.add({.op = &ops::kReshape, .attrs = vector, .inputs = {*operand}, .sources = sources}));
    }
    ops::GroupNormAttrs attrs;
    attrs.groups = found.groups;
    attrs.epsilon = found.epsilon;
    return put(found.result, {.op = &ops::kGroupNorm, .attrs = attrs, .inputs = operands_of(found)}, leaves);
  }

  static std::vector<ValueId> operands_of(const Found& found) {
    std::vector<ValueId> operands = {found.x, found.scale, found.bias};
    while (operands.back() == ir::kNone) operands.pop_back();
    return operands;
  }

  // Puts the node in the place of all that computes `result` from the leaves.
  Result<bool> put(ValueId result, Graph::NewNode replacement, const std::vector<ValueId>& leaves) {
    const auto nodes = nodes_between(graph_, leaves, result, kMaxNodes);
    if (!nodes) return false;
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      if (nodes->contains(id)) replacement.sources = merged_sources(replacement.sources, graph_.node(id).sources);
    }
    auto made = graph_.add_node(std::move(replacement));
    if (!made.ok()) return false;  // broadcasting that the operator does not have
    const ValueId value = graph_.node(*made).outputs[0];
    if (graph_.value(value).type != graph_.value(result).type) {
      graph_.erase(*made);
      return false;
    }
    graph_.replace_uses(result, value);
    std::for_each(order.rbegin(), order.rend(), [&](NodeId id) {
      if (nodes->contains(id)) graph_.erase(id);
    });
    return true;
  }

  Graph& graph_;
  Reader reader_;
  std::vector<std::vector<Graph::Use>> uses_;
};

Result<bool> run(Graph& graph, const PassContext&) { return Matcher(graph).run(); }

}  // namespace

extern const Pass kMatchNormalization;
const Pass kMatchNormalization{.name = "match_normalization",
                               .summary = "normalisations and softmax written out become one operator",
                               .run = run,
                               .enabled = &kEnabled};

}  // namespace strop::passes
