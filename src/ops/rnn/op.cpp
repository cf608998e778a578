#include "ops/families.h"
#include "ops/late.h"
#include "ops/rnn/rnn.h"

namespace strop::ops {
namespace {

// A dimension that is wrong, if both sides are known.
bool differs(const Dim& a, const Dim& b) { return a.is_constant() && b.is_constant() && !(a == b); }

Result<void> check_shape(InferContext& ctx, size_t operand, DType dtype, const Dims& expected) {
  if (!ctx.has_input(operand)) return {};
  STROP_ASSIGN(const TensorType type, ctx.tensor(operand));
  if (type.dtype != dtype)
    return violates("(C1) operand {} is {}, not {}", operand, to_string(type.dtype), to_string(dtype));
  if (!type.has_rank()) return {};
  bool fits = type.rank() == static_cast<int64_t>(expected.size());
  for (size_t i = 0; fits && i < expected.size(); ++i) fits = !differs(type.dims()[i], expected[i]);
  if (!fits) return violates("(C2) operand {} is {}, not {}", operand, to_string(type.dims()), to_string(expected));
  return {};
}

Result<void> check_attrs(RnnCell cell, const RnnAttrs& attrs) {
  const size_t directions = attrs.direction == RnnDirection::Both ? 2 : 1;
  const size_t expected = directions * activations_of(cell);
  if (attrs.activations.size() != expected || attrs.alpha.size() != expected || attrs.beta.size() != expected) {
    return violates("(C3) {} activations, {} are needed", attrs.activations.size(), expected);
  }
  for (const std::string& name : attrs.activations) {
    const auto& names = kEnumNames<RnnActivation>;
    if (std::find(names.begin(), names.end(), name) == names.end()) return violates("(C3) activation '{}'", name);
  }
  if (!(attrs.clip >= 0)) return violates("(C3) clip is {}", attrs.clip);
  return {};
}

template <RnnCell cell>
Result<void> infer_recurrent(InferContext& ctx) {
  const RnnAttrs& attrs = rnn_attrs(cell, ctx.attrs);
  STROP_TRY(check_attrs(cell, attrs));
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const TensorType w, ctx.tensor(1));
  STROP_ASSIGN(const TensorType r, ctx.tensor(2));
  if (!is_float(x.dtype)) return violates("(C1) an operand of {}", to_string(x.dtype));
  for (Type& output : ctx.outputs) output = Type::unranked(x.dtype);
  for (const auto* type : {&x, &w, &r}) {
    if (type->has_rank() && type->rank() != 3) return violates("(C2) {} has not three axes", to_string(*type));
  }
  if (!x.has_rank() || !r.has_rank()) return {};
  const Dim directions(attrs.direction == RnnDirection::Both ? 2 : 1);
  const Dim hidden = r.dim(2);
  const Dim gates(gates_of(cell));
  const Dim steps = x.dim(attrs.batch_first ? 1 : 0);
  const Dim batch = x.dim(attrs.batch_first ? 0 : 1);
  const Dims state = attrs.batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  STROP_TRY(check_shape(ctx, 1, x.dtype, {directions, gates * hidden, x.dim(2)}));
  STROP_TRY(check_shape(ctx, 2, x.dtype, {directions, gates * hidden, hidden}));
  STROP_TRY(check_shape(ctx, kRnnBias, x.dtype, {directions, Dim(2) * gates * hidden}));
  STROP_TRY(check_shape(ctx, kRnnLengths, DType::I32, {batch}));
  STROP_TRY(check_shape(ctx, kRnnHidden, x.dtype, state));
  if (cell == RnnCell::Lstm) {
    STROP_TRY(check_shape(ctx, kLstmCell, x.dtype, state));
    STROP_TRY(check_shape(ctx, kLstmPeepholes, x.dtype, {directions, Dim(3) * hidden}));
  }
  ctx.outputs[0] = Type(
      x.dtype, attrs.batch_first ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden});
  for (size_t i = 1; i < ctx.outputs.size(); ++i) ctx.outputs[i] = Type(x.dtype, state);
  return {};
}

template <RnnCell cell>
Result<void> evaluate_cell(EvalContext& ctx) {
  return evaluate_recurrent(cell, ctx);
}

// -- Cases --

RnnAttrs with_defaults(RnnCell cell, RnnDirection direction = RnnDirection::Forward) {
  RnnAttrs attrs;
  attrs.direction = direction;
  for (int d = 0; d < (direction == RnnDirection::Both ? 2 : 1); ++d) {
    if (cell != RnnCell::Rnn) attrs.activations.emplace_back("Sigmoid");
    attrs.activations.emplace_back("Tanh");
    if (cell == RnnCell::Lstm) attrs.activations.emplace_back("Tanh");
  }
  attrs.alpha.assign(attrs.activations.size(), 0);
  attrs.beta = attrs.alpha;
  return attrs;
}

struct Shape4 {
  int64_t steps, batch, inputs, hidden;
};

// How many of the optional operands from the bias on a case has.
std::vector<Type> operand_types(RnnCell cell, const RnnAttrs& attrs, const Shape4& s, size_t optional) {
  const int64_t d = attrs.direction == RnnDirection::Both ? 2 : 1;
  const int64_t g = gates_of(cell);
  const auto f32 = [](const std::vector<int64_t>& dims) { return Type(DType::F32, to_dims(dims)); };
  const Type state = attrs.batch_first ? f32({s.batch, d, s.hidden}) : f32({d, s.batch, s.hidden});
  std::vector<Type> types = {attrs.batch_first ? f32({s.batch, s.steps, s.inputs}) : f32({s.steps, s.batch, s.inputs}),
                             f32({d, g * s.hidden, s.inputs}), f32({d, g * s.hidden, s.hidden})};
  const std::vector<Type> more = {f32({d, 2 * g * s.hidden}), Type(), state, state, f32({d, 3 * s.hidden})};
  types.insert(types.end(), more.begin(), more.begin() + static_cast<int64_t>(optional));
  return types;
}

template <class S>
S attrs_of(const RnnAttrs& common, bool flag) {
  S attrs{common, flag};
  return attrs;
}

Attrs cell_attrs(RnnCell cell, const RnnAttrs& common, bool flag) {
  switch (cell) {
    case RnnCell::Rnn: return common;
    case RnnCell::Gru: return attrs_of<GruAttrs>(common, flag);
    case RnnCell::Lstm: return attrs_of<LstmAttrs>(common, flag);
  }
  return common;
}

template <RnnCell cell>
std::vector<WorkedCase> recurrent_cases() {
  const size_t outputs = cell == RnnCell::Lstm ? 3 : 2;
  const size_t states = cell == RnnCell::Lstm ? 4 : 3;  // bias, no lengths, states
  std::vector<WorkedCase> cases;
  const auto add = [&](std::string name, const RnnAttrs& attrs, Shape4 shape, size_t optional, bool flag = false) {
    WorkedCase added{std::move(name), cell_attrs(cell, attrs, flag), operand_types(cell, attrs, shape, optional)};
    added.output_count = outputs;
    cases.push_back(std::move(added));
    return &cases.back();
  };
  const RnnAttrs forward = with_defaults(cell);
  const RnnAttrs both = with_defaults(cell, RnnDirection::Both);
  RnnAttrs batch_first = both;
  batch_first.batch_first = true;
  RnnAttrs clipped = forward;
  clipped.clip = 0.4;
  RnnAttrs others = forward;
  others.activations = cell == RnnCell::Rnn   ? std::vector<std::string>{"LeakyRelu"}
                       : cell == RnnCell::Gru ? std::vector<std::string>{"HardSigmoid", "Softsign"}
                                              : std::vector<std::string>{"HardSigmoid", "ScaledTanh", "Elu"};
  others.alpha.assign(others.activations.size(), 0.3);
  others.beta.assign(others.activations.size(), 0.4);
  add("one_step", forward, {1, 1, 24, 32}, states);
  add("plain", forward, {5, 3, 7, 9}, 0);
  add("bias_and_states", forward, {6, 2, 10, 16}, states);
  add("reverse", with_defaults(cell, RnnDirection::Reverse), {4, 2, 5, 8}, 1);
  add("both", both, {5, 3, 6, 11}, states);
  add("batch_first", batch_first, {5, 3, 6, 11}, states);
  add("clip", clipped, {4, 2, 5, 8}, 1);
  add("other_activations", others, {4, 2, 5, 8}, 1);
  WorkedCase* lengths = add("lengths", both, {6, 3, 4, 8}, states);
  lengths->inputs[kRnnLengths] = Type(DType::I32, {3});
  lengths->given.emplace_back(kRnnLengths, store_i64(DType::I32, {3}, std::vector<int64_t>{6, 2, 0}));
  if (cell != RnnCell::Rnn)
    add(cell == RnnCell::Gru ? "linear_before_reset" : "couple_forget", both, {5, 2, 6, 16}, 1, true);
  if (cell == RnnCell::Lstm) add("peepholes", both, {4, 2, 6, 16}, 5);
  return cases;
}

}  // namespace

const RnnAttrs& rnn_attrs(RnnCell cell, const Attrs& attrs) {
  switch (cell) {
    case RnnCell::Rnn: return attrs.as<RnnAttrs>();
    case RnnCell::Gru: return attrs.as<GruAttrs>();
    case RnnCell::Lstm: return attrs.as<LstmAttrs>();
  }
  return attrs.as<RnnAttrs>();
}

RnnSizes rnn_sizes(const RnnAttrs& attrs, const std::vector<int64_t>& x, const std::vector<int64_t>& r) {
  return {x[attrs.batch_first ? 1 : 0],
          x[attrs.batch_first ? 0 : 1],
          x[2],
          r[2],
          attrs.direction == RnnDirection::Both ? 2 : 1,
          attrs.batch_first};
}

bool has_default_activations(RnnCell cell, const RnnAttrs& attrs) {
  return attrs.activations == with_defaults(cell, attrs.direction).activations;
}

const Operator kRnn = {
    .name = "RNN",
    .make_attrs = [] { return Attrs(RnnAttrs{}); },
    .infer = infer_recurrent<RnnCell::Rnn>,
    .evaluate = evaluate_cell<RnnCell::Rnn>,
    .cases = recurrent_cases<RnnCell::Rnn>,
};

const Operator kGru = {
    .name = "GRU",
    .make_attrs = [] { return Attrs(GruAttrs{}); },
    .infer = infer_recurrent<RnnCell::Gru>,
    .evaluate = evaluate_cell<RnnCell::Gru>,
    .cases = recurrent_cases<RnnCell::Gru>,
};

const Operator kLstm = {
    .name = "LSTM",
    .make_attrs = [] { return Attrs(LstmAttrs{}); },
    .infer = infer_recurrent<RnnCell::Lstm>,
    .evaluate = evaluate_cell<RnnCell::Lstm>,
    .cases = recurrent_cases<RnnCell::Lstm>,
};

std::span<const Operator* const> rnn_operators() {
  static constexpr std::array kOperators = {&kRnn, &kGru, &kLstm};
  return kOperators;
}

}  // namespace strop::ops
