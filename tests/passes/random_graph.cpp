#include "passes/random_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/expand/expand.h"
#include "ops/matmul/matmul.h"
#include "ops/norm/norm.h"
#include "ops/pad/pad.h"
#include "ops/pointwise/pointwise.h"
#include "ops/pool/pool.h"
#include "ops/reduce/reduce.h"
#include "ops/resize/resize.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"
#include "ops/view/view.h"

namespace strop::passes {
namespace {

using ir::ValueId;
using ops::Fn;

constexpr int64_t kMaxElements = 600;
constexpr int64_t kBatch = 2;  // of inputs whose first dimension is "n"

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  RandomGraph make() {
    graph_->name = "random";
    add_input(2 + below(3));
    if (chance(3)) add_input(1 + below(4));
    for (int64_t left = 3 + below(8); left > 0; --left) add_operator();
    // The last value and some others; what nobody uses would be dropped before it can go wrong.
    for (size_t i = graph_->inputs.size(); i < values_.size(); ++i) {
      if (i + 1 == values_.size() || chance(3)) graph_->outputs.push_back({"y" + std::to_string(i), values_[i]});
    }
    if (graph_->outputs.empty()) graph_->outputs.push_back({"y", values_.back()});
    return {graph_, inputs_};
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int64_t one_in) { return below(one_in) == 0; }

  // Mostly small integers: sums of products of them are exact.
  Tensor numbers(const std::vector<int64_t>& dims) {
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values) value = static_cast<double>(below(9) - 4) / 2;
    return store_f64(DType::F32, dims, values);
  }

  ValueId constant(const std::vector<int64_t>& dims) { return graph_->add_constant(numbers(dims)); }

  void add_input(int64_t rank) {
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < rank; ++i) dims.push_back(i == 1 ? 1 + below(6) : 1 + below(5));
    Dims symbolic = to_dims(dims);
    if (graph_->inputs.empty() && chance(3)) {
      symbolic[0] = Dim::symbol("n");
      dims[0] = kBatch;
    }
    values_.push_back(graph_->add_input("x" + std::to_string(inputs_.size()), Type(DType::F32, std::move(symbolic))));
    inputs_.emplace_back(numbers(dims));
  }

  const Dims& dims_of(ValueId value) const { return graph_->value(value).type.tensor.dims(); }
  int64_t rank_of(ValueId value) const { return static_cast<int64_t>(dims_of(value).size()); }

  // Later values more often, so that graphs become deep.
  ValueId pick() {
    const auto count = static_cast<int64_t>(values_.size());
    return values_[static_cast<size_t>(std::max(below(count), below(count)))];
  }
  ValueId pick_of_rank(int64_t least, int64_t most) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const ValueId value = pick();
      if (rank_of(value) >= least && rank_of(value) <= most) return value;
    }
    return ir::kNone;
  }

  // Keeps the node if its operands are legal and no result is too large.
  void add(const ops::Operator& op, ops::Attrs attrs, std::vector<ValueId> operands, size_t outputs = 1) {
    const auto node = graph_->add_node({.op = &op,
                                        .attrs = std::move(attrs),
                                        .inputs = std::move(operands),
                                        .output_count = outputs,
                                        .sources = {fmt::format("{}{}", op.name, values_.size())}});
    if (!node.ok()) return;
    const ValueId result = graph_->node(*node).outputs[0];
    const auto count = product(dims_of(result)).evaluate([](const std::string&) { return std::optional(kBatch); });
    if (!count || *count > kMaxElements || rank_of(result) > 6) {
      graph_->erase(*node);
      return;
    }
    for (const ValueId output : graph_->node(*node).outputs) {
      if (graph_->value(output).type.tensor.dtype == DType::F32) values_.push_back(output);
    }
  }

  void add_operator() {
    using Step = void (Maker::*)();
    static constexpr std::array<Step, 22> kSteps = {
        &Maker::add_conv,    &Maker::add_conv,    &Maker::add_conv,    &Maker::add_conv,      &Maker::add_unary,
        &Maker::add_unary,   &Maker::add_binary,  &Maker::add_binary,  &Maker::add_binary,    &Maker::add_where,
        &Maker::add_reshape, &Maker::add_reshape, &Maker::add_reshape, &Maker::add_transpose, &Maker::add_transpose,
        &Maker::add_expand,  &Maker::add_concat,  &Maker::add_pool,    &Maker::add_part,      &Maker::add_reduce,
        &Maker::add_norm,    &Maker::add_matmul};
    (this->*kSteps[static_cast<size_t>(below(kSteps.size()))])();
  }

  void add_conv() {
    const ValueId x = pick_of_rank(3, 5);
    if (x == ir::kNone || !dims_of(x)[1].is_constant()) return;
    const auto spatial = static_cast<size_t>(rank_of(x) - 2);
    const int64_t channels = dims_of(x)[1].constant();
    ops::ConvAttrs attrs;
    attrs.transposed = chance(3);
    attrs.group = channels > 1 && chance(4) ? channels : 1;
    std::vector<int64_t> weights = {1 + below(5), channels / attrs.group};
    if (attrs.group > 1) weights[0] = attrs.group * (1 + below(2));
    if (attrs.transposed) weights = {channels, 1 + below(3)};
    for (size_t axis = 0; axis < spatial; ++axis) {
      weights.push_back(1 + below(3));
      attrs.strides.push_back(1 + below(2));
      attrs.dilations.push_back(1);
      attrs.output_padding.push_back(0);
    }
    attrs.pads.assign(2 * spatial, Dim(chance(2) ? 1 : 0));
    std::vector<ValueId> operands = {x, constant(weights)};
    if (chance(2)) operands.push_back(constant({attrs.transposed ? weights[1] * attrs.group : weights[0]}));
    add(ops::kConv, attrs, operands);
  }

  void add_unary() {
    static constexpr std::array kFunctions = {Fn::Relu, Fn::Sigmoid, Fn::Tanh, Fn::Neg, Fn::Abs};
    add(ops::kPointwise,
        ops::PointwiseAttrs{
            ops::function_program(kFunctions[static_cast<size_t>(below(kFunctions.size()))], DType::F32)},
        {pick()});
  }

  // A second operand: a value, or a constant that broadcasts.
  ValueId partner(ValueId value) {
    if (chance(2)) return pick();
    const Dims& dims = dims_of(value);
    std::vector<int64_t> own;
    for (size_t i = static_cast<size_t>(below(static_cast<int64_t>(dims.size()) + 1)); i < dims.size(); ++i)
      own.push_back(dims[i].is_constant() && chance(2) ? dims[i].constant() : 1);
    return constant(own);
  }

  void add_binary() {
    static constexpr std::array kFunctions = {Fn::Add, Fn::Add, Fn::Sub, Fn::Mul, Fn::Max, Fn::Min};
    const ValueId value = pick();
    std::vector<ValueId> operands = {value, partner(value)};
    if (chance(2)) std::swap(operands[0], operands[1]);
    add(ops::kPointwise,
        ops::PointwiseAttrs{
            ops::function_program(kFunctions[static_cast<size_t>(below(kFunctions.size()))], DType::F32)},
        operands);
  }

  // Where(a < 0.123, a, b): the number is none that the small integers make.
  void add_where() {
    const ValueId value = pick();
    ops::ScalarProgram program;
    const int32_t a = program.add_input(0, DType::F32);
    const int32_t b = program.add_input(1, DType::F32);
    const int32_t number = program.add_number(DType::F32, 0.12345);
    program.outputs = {program.add(Fn::Where, {program.add(Fn::Less, {a, number}), a, b})};
    add(ops::kPointwise, ops::PointwiseAttrs{program}, {value, partner(value)});
  }

  // The dimensions with one moved into a neighbour, split, or an axis of size 1 added.
  void add_reshape() {
    const ValueId value = pick();
    Dims dims = dims_of(value);
    const auto rank = static_cast<int64_t>(dims.size());
    const auto at = static_cast<size_t>(below(std::max<int64_t>(rank, 1)));
    const int64_t kind = below(4);
    if (kind == 0) {
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : at), Dim(1));
    } else if (kind == 1 && at + 1 < dims.size()) {
      dims[at + 1] = dims[at] * dims[at + 1];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (kind == 2 && rank > 0 && dims[at].is_constant()) {
      const int64_t factor = dims[at].constant() % 2 == 0 ? 2 : dims[at].constant();
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), Dim(dims[at].constant() / factor));
      dims[at + 1] = Dim(factor);
    } else {
      dims = {Dim(1), Dim(1), product(dims)};
      if (chance(2)) dims.emplace_back(1);
    }
    add(ops::kReshape, ops::ReshapeAttrs{dims, false}, {value});
  }

  void add_transpose() {
    const ValueId value = pick();
    std::vector<int64_t> perm(static_cast<size_t>(rank_of(value)));
    std::iota(perm.begin(), perm.end(), 0);
    for (size_t i = perm.size(); i > 1; --i)
      std::swap(perm[i - 1], perm[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    add(ops::kTranspose, ops::TransposeAttrs{perm}, {value});
  }

  void add_expand() {
    const ValueId value = pick();
    Dims dims = dims_of(value);
    for (Dim& dim : dims) dim = dim == Dim(1) && chance(2) ? Dim(1 + below(3)) : dim;
    if (chance(2)) dims.insert(dims.begin(), Dim(1 + below(2)));
    add(ops::kExpand, ops::ExpandAttrs{dims}, {value});
  }

  void add_concat() {
    const ValueId value = pick();
    if (rank_of(value) == 0) return;
    const int64_t axis = below(rank_of(value));
    ValueId other = chance(2) ? value : pick();
    if (other != value && rank_of(other) != rank_of(value)) return;
    if (chance(3)) {  // a constant of one element along the axis, where the others are known
      const auto own = as_constants(dims_of(value));
      if (!own) return;
      auto dims = *own;
      dims[static_cast<size_t>(axis)] = 1;
      other = constant(dims);
    }
    add(ops::kConcat, ops::ConcatAttrs{axis}, {value, other});
  }

  void add_pool() {
    const ValueId x = pick_of_rank(3, 5);
    if (x == ir::kNone) return;
    const auto spatial = static_cast<size_t>(rank_of(x) - 2);
    const auto kind = chance(2) ? ops::PoolKind::Max : ops::PoolKind::Average;
    ops::PoolAttrs attrs =
        ops::plain_window(kind, std::vector<int64_t>(spatial, 2), std::vector<int64_t>(spatial, 1 + below(2)),
                          Dims(2 * spatial, Dim(below(2))));
    attrs.count_include_pad = chance(2);
    add(ops::kPool, attrs, {x}, kind == ops::PoolKind::Max && chance(3) ? 2 : 1);
  }

  void add_part() {
    const ValueId value = pick();
    const int64_t rank = rank_of(value);
    if (rank == 0) return;
    const Dims axes = {Dim(below(rank))};
    if (chance(2)) {
      const Dims steps = {Dim(chance(3) ? -1 : 1 + below(2))};
      const bool reversed = steps[0] == Dim(-1);
      add(ops::kSlice, ops::SliceAttrs{axes, {Dim(reversed ? -1 : below(2))}, {Dim(reversed ? -100 : 100)}, steps},
          {value});
      return;
    }
    static constexpr std::array kModes = {ops::PadMode::Constant, ops::PadMode::Constant, ops::PadMode::Edge};
    add(ops::kPad, ops::PadAttrs{kModes[static_cast<size_t>(below(3))], {Dim(below(3)), Dim(below(2))}, axes}, {value});
  }

  void add_reduce() {
    static constexpr std::array kKinds = {ops::ReduceKind::Sum, ops::ReduceKind::Mean, ops::ReduceKind::Max,
                                          ops::ReduceKind::L1};
    const ValueId value = pick();
    Dims axes;
    for (int64_t axis = 0; axis < rank_of(value); ++axis) {
      if (chance(2)) axes.emplace_back(chance(2) ? axis : axis - rank_of(value));
    }
    if (axes.empty()) return;
    add(ops::kReduce,
        ops::ReduceAttrs{kKinds[static_cast<size_t>(below(kKinds.size()))], axes, true, chance(2), {}, {}}, {value});
  }

  void add_norm() {
    const ValueId x = pick_of_rank(2, 5);
    if (x == ir::kNone || !dims_of(x)[1].is_constant()) return;
    const int64_t channels = dims_of(x)[1].constant();
    const int64_t kind = below(4);
    if (kind == 0) {
      // A variance that is not tiny: rounding errors must not become results.
      const ValueId variance = graph_->add_constant(
          store_f64(DType::F32, {channels}, std::vector<double>(static_cast<size_t>(channels), 0.5)));
      add(ops::kBatchNorm, ops::BatchNormAttrs{},
          {x, constant({channels}), constant({channels}), constant({channels}), variance});
    } else if (kind == 1) {
      const int64_t groups = channels % 2 == 0 && chance(2) ? 2 : 0;
      add(ops::kGroupNorm, ops::GroupNormAttrs{groups, 0.5, false, {}, {}},
          {x, constant({channels}), constant({channels})});
    } else if (kind == 2) {
      add(ops::kSoftmax, ops::SoftmaxAttrs{ops::SoftmaxKind::Softmax, below(rank_of(x)), false, {}, {}}, {x});
    } else {
      ops::ResizeAttrs attrs;
      attrs.mode = chance(2) ? ops::ResizeMode::Nearest : ops::ResizeMode::Linear;
      attrs.coordinates = ops::ResizeCoordinates::Asymmetric;
      attrs.axes = {rank_of(x) - 1};
      attrs.scales = {2};
      add(ops::kResize, attrs, {x});
    }
  }

  void add_matmul() {
    const ValueId value = pick_of_rank(2, 5);
    if (value == ir::kNone || !dims_of(value).back().is_constant()) return;
    add(ops::kMatMul, ops::MatMulAttrs{}, {value, constant({dims_of(value).back().constant(), 1 + below(4)})});
  }

  std::mt19937 random_;
  std::shared_ptr<ir::Graph> graph_ = std::make_shared<ir::Graph>();
  std::vector<ValueId> values_;  // f32, candidates for operands
  std::vector<Value> inputs_;
};

}  // namespace

RandomGraph make_random_graph(uint32_t seed) { return Maker(seed).make(); }

std::optional<std::string> difference(const Tensor& expected, const Tensor& actual) {
  if (to_string(expected.type()) != to_string(actual.type()))
    return fmt::format("{} instead of {}", to_string(actual.type()), to_string(expected.type()));
  const auto a = load_f64(expected);
  const auto b = load_f64(actual);
  double largest = 1;
  for (const double value : a) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= 1e-4 * largest)) return fmt::format("element {}: {} instead of {}", i, b[i], a[i]);
  }
  return std::nullopt;
}

}  // namespace strop::passes
