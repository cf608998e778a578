#include <algorithm>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/rnn/rnn.h"

namespace strop::ops {
namespace {

using onnx::NodeContext;

/// What an activation's parameters are where the model does not say, and which of the two it has.
struct ActivationDefaults {
  std::string_view name;
  bool has_alpha = false, has_beta = false;
  double alpha = 0, beta = 0;
};

constexpr std::array<ActivationDefaults, 11> kActivations = {{
    {"Relu"},
    {"Tanh"},
    {"Sigmoid"},
    {"Affine", true, true, 1.0, 0.0},
    {"LeakyRelu", true, false, 0.01},
    {"ThresholdedRelu", true, false, 1.0},
    {"ScaledTanh", true, true, 1.0, 1.0},
    {"HardSigmoid", true, true, 0.2, 0.5},
    {"Elu", true, false, 1.0},
    {"Softsign"},
    {"Softplus"},
}};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// alpha and beta are consumed in order by those activations that have one.
Result<void> import_activations(NodeContext& ctx, RnnCell cell, RnnAttrs& attrs) {
  std::vector<std::string> defaults;
  const size_t directions = attrs.direction == RnnDirection::Both ? 2 : 1;
  for (size_t d = 0; d < directions; ++d) {
    if (cell != RnnCell::Rnn) defaults.emplace_back("Sigmoid");
    defaults.emplace_back("Tanh");
    if (cell == RnnCell::Lstm) defaults.emplace_back("Tanh");
  }
  STROP_ASSIGN(const auto names, ctx.attr_strings("activations", defaults));
  STROP_ASSIGN(const auto alphas, ctx.attr_floats("activation_alpha", std::vector<double>{}));
  STROP_ASSIGN(const auto betas, ctx.attr_floats("activation_beta", std::vector<double>{}));
  if (names.size() != defaults.size()) return ctx.invalid("{} activations, not {}", names.size(), defaults.size());
  size_t next_alpha = 0;
  size_t next_beta = 0;
  for (const std::string& name : names) {
    const auto found = std::find_if(kActivations.begin(), kActivations.end(),
                                    [&](const auto& row) { return equal_ignoring_case(row.name, name); });
    if (found == kActivations.end()) return ctx.unsupported("the activation '{}'", name);
    attrs.activations.emplace_back(found->name);
    attrs.alpha.push_back(found->has_alpha && next_alpha < alphas.size() ? alphas[next_alpha++] : found->alpha);
    attrs.beta.push_back(found->has_beta && next_beta < betas.size() ? betas[next_beta++] : found->beta);
  }
  return {};
}

Result<RnnAttrs> import_common(NodeContext& ctx, RnnCell cell) {
  RnnAttrs attrs;
  STROP_ASSIGN(const std::string direction, ctx.attr_string("direction", "forward"));
  const auto& names = kEnumNames<RnnDirection>;
  const auto found = std::find(names.begin(), names.end(), direction);
  if (found == names.end()) return ctx.invalid("direction '{}'", direction);
  attrs.direction = static_cast<RnnDirection>(found - names.begin());
  STROP_ASSIGN(const int64_t layout, ctx.attr_int("layout", 0));
  attrs.batch_first = layout != 0;
  STROP_ASSIGN(attrs.clip, ctx.attr_float("clip", 0.0));
  STROP_TRY(import_activations(ctx, cell, attrs));
  // The hidden size follows from the recurrence weights; where the model says it, it must be the same.
  STROP_ASSIGN(const TensorType r, ctx.tensor(2));
  STROP_ASSIGN(const int64_t hidden, ctx.attr_int("hidden_size", -1));
  const bool known = hidden >= 0 && r.has_rank() && r.rank() == 3 && r.dim(2).is_constant();
  if (known && r.dim(2).constant() != hidden) {
    return ctx.invalid("hidden_size is {}, the recurrence weights are {}", hidden, to_string(r));
  }
  return attrs;
}

Result<void> emit_layer(NodeContext& ctx, const Operator& op, Attrs attrs, size_t operands) {
  std::vector<ir::ValueId> inputs;
  for (size_t i = 0; i < operands; ++i) inputs.push_back(ctx.input(i));
  while (inputs.size() > 3 && inputs.back() == ir::kNone) inputs.pop_back();
  STROP_ASSIGN(const auto results, ctx.emit_many(op, std::move(attrs), std::move(inputs), ctx.output_count()));
  for (size_t i = 0; i < results.size(); ++i) {
    if (ctx.wants_output(i)) STROP_TRY(ctx.set_output(i, results[i]));
  }
  return {};
}

Result<void> import_rnn(NodeContext& ctx) {
  STROP_ASSIGN(RnnAttrs attrs, import_common(ctx, RnnCell::Rnn));
  return emit_layer(ctx, kRnn, std::move(attrs), kRnnHidden + 1);
}

Result<void> import_gru(NodeContext& ctx) {
  STROP_ASSIGN(RnnAttrs common, import_common(ctx, RnnCell::Gru));
  STROP_ASSIGN(const int64_t linear, ctx.attr_int("linear_before_reset", 0));
  return emit_layer(ctx, kGru, GruAttrs{std::move(common), linear != 0}, kRnnHidden + 1);
}

Result<void> import_lstm(NodeContext& ctx) {
  STROP_ASSIGN(RnnAttrs common, import_common(ctx, RnnCell::Lstm));
  STROP_ASSIGN(const int64_t coupled, ctx.attr_int("input_forget", 0));
  return emit_layer(ctx, kLstm, LstmAttrs{std::move(common), coupled != 0}, kLstmPeepholes + 1);
}

}  // namespace

std::span<const onnx::Importer> rnn_importers() {
  static constexpr std::array<onnx::Importer, 3> kImporters = {{
      {"RNN", import_rnn},
      {"GRU", import_gru},
      {"LSTM", import_lstm},
  }};
  return kImporters;
}

}  // namespace strop::ops
