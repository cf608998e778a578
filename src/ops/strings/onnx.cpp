#include <algorithm>
#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/gather/gather.h"
#include "ops/pointwise/onnx_build.h"
#include "ops/strings/strings.h"
#include "ops/view/view.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

constexpr std::string_view kMl = "ai.onnx.ml";

Result<void> emit_one(NodeContext& ctx, const Operator& op, Attrs attrs, std::vector<ValueId> operands) {
  STROP_ASSIGN(const ValueId result, ctx.emit(op, std::move(attrs), std::move(operands)));
  return ctx.set_output(0, result);
}

Result<void> import_concat(NodeContext& ctx) {
  return emit_one(ctx, kStringConcat, NoAttrs{}, {ctx.input(0), ctx.input(1)});
}

Result<void> import_normalizer(NodeContext& ctx) {
  StringNormalizerAttrs attrs;
  STROP_ASSIGN(const std::string action, ctx.attr_string("case_change_action", "NONE"));
  if (action != "NONE" && action != "LOWER" && action != "UPPER") return ctx.invalid("case_change_action '{}'", action);
  attrs.change = action == "LOWER" ? CaseChange::Lower : action == "UPPER" ? CaseChange::Upper : CaseChange::None;
  STROP_ASSIGN(const int64_t sensitive, ctx.attr_int("is_case_sensitive", 0));
  attrs.case_sensitive = sensitive != 0;
  STROP_ASSIGN(attrs.stop_words, ctx.attr_strings("stopwords", std::vector<std::string>{}));
  return emit_one(ctx, kStringNormalizer, std::move(attrs), {ctx.input(0)});
}

Result<void> import_split(NodeContext& ctx) {
  StringSplitAttrs attrs;
  STROP_ASSIGN(attrs.delimiter, ctx.attr_string("delimiter", ""));
  STROP_ASSIGN(attrs.max_splits, ctx.attr_int("maxsplit", -1));
  STROP_ASSIGN(const auto results, ctx.emit_many(kStringSplit, std::move(attrs), {ctx.input(0)}, 2));
  for (size_t i = 0; i < 2; ++i) {
    if (ctx.wants_output(i)) STROP_TRY(ctx.set_output(i, results[i]));
  }
  return {};
}

Result<void> import_match(NodeContext& ctx) {
  RegexFullMatchAttrs attrs;
  STROP_ASSIGN(attrs.pattern, ctx.attr_string("pattern"));
  return emit_one(ctx, kRegexFullMatch, std::move(attrs), {ctx.input(0)});
}

// -- ai.onnx.ml --

/// One side of a LabelEncoder's table: `prefix` is "keys" or "values".
Result<Tensor> table(NodeContext& ctx, const std::string& prefix) {
  if (ctx.has_attr(prefix + "_tensor")) return ctx.attr_tensor(prefix + "_tensor");
  if (ctx.has_attr(prefix + "_strings")) {
    STROP_ASSIGN(auto texts, ctx.attr_strings(prefix + "_strings"));
    const auto count = static_cast<int64_t>(texts.size());
    return Tensor::of_strings({count}, std::move(texts));
  }
  if (ctx.has_attr(prefix + "_int64s")) {
    STROP_ASSIGN(auto values, ctx.attr_ints(prefix + "_int64s"));
    return Tensor::of_i64(std::move(values));
  }
  STROP_ASSIGN(const auto values, ctx.attr_floats(prefix + "_floats"));
  return store_f64(DType::F32, {static_cast<int64_t>(values.size())}, values);
}

Result<Tensor> default_label(NodeContext& ctx, DType dtype) {
  if (ctx.has_attr("default_tensor")) return ctx.attr_tensor("default_tensor");
  if (dtype == DType::String) {
    STROP_ASSIGN(const std::string text, ctx.attr_string("default_string", "_Unused"));
    return Tensor::of_strings({}, {text});
  }
  if (is_integer(dtype)) {
    STROP_ASSIGN(const int64_t value, ctx.attr_int("default_int64", -1));
    return store_i64(dtype, {}, std::vector<int64_t>{value});
  }
  STROP_ASSIGN(const double value, ctx.attr_float("default_float", -0.0));
  return Tensor::scalar(dtype, value);
}

Result<void> import_encoder(NodeContext& ctx) {
  LabelEncoderAttrs attrs;
  STROP_ASSIGN(attrs.keys, table(ctx, "keys"));
  STROP_ASSIGN(attrs.values, table(ctx, "values"));
  STROP_ASSIGN(attrs.fallback, default_label(ctx, attrs.values.dtype()));
  return emit_one(ctx, kLabelEncoder, std::move(attrs), {ctx.input(0)});
}

// Version 1: classes_strings numbers texts, or names numbers.
Result<void> import_encoder_1(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(auto names, ctx.attr_strings("classes_strings"));
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < names.size(); ++i) numbers.push_back(static_cast<int64_t>(i));
  const auto count = static_cast<int64_t>(names.size());
  LabelEncoderAttrs attrs;
  attrs.keys = Tensor::of_strings({count}, std::move(names));
  attrs.values = Tensor::of_i64(std::move(numbers));
  if (x.dtype != DType::String) std::swap(attrs.keys, attrs.values);
  STROP_ASSIGN(attrs.fallback, default_label(ctx, attrs.values.dtype()));
  return emit_one(ctx, kLabelEncoder, std::move(attrs), {ctx.input(0)});
}

// Columns of x: [.., n] and indices to [.., m]; a vector counts as one row.
Result<void> import_extractor(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const TensorType indices, ctx.tensor(1));
  if (!x.has_rank() || !indices.has_rank()) return ctx.unsupported("an operand of unknown rank");
  ValueId data = ctx.input(0);
  if (x.rank() == 0) return ctx.invalid("operand 0 is a scalar");
  if (x.rank() == 1) {
    STROP_ASSIGN(data, ctx.emit(kReshape, ReshapeAttrs{{Dim(1), x.dim(0)}}, {data}));
  }
  STROP_ASSIGN(const ValueId flat, ctx.emit(kReshape, ReshapeAttrs{{indices.count()}}, {ctx.input(1)}));
  return emit_one(ctx, kGather, GatherAttrs{-1}, {data, flat});
}

Result<void> import_binarizer(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType x, operand_for(ctx, Fn::Greater, 0));
  STROP_ASSIGN(const double threshold, ctx.attr_float("threshold", 0.0));
  ScalarProgram program;
  const auto constant = [&](double value) {
    return is_float(x.dtype) ? program.add_number(x.dtype, value)
                             : program.add_integer(x.dtype, static_cast<int64_t>(value));
  };
  const int32_t above = program.add(Fn::Greater, {program.add_input(0, x.dtype), constant(threshold)});
  program.outputs = {program.add(Fn::Where, {above, constant(1), constant(0)})};
  return emit_program(ctx, std::move(program), {ctx.input(0)});
}

Result<void> import_tf_idf(NodeContext& ctx) {
  TfIdfAttrs attrs;
  STROP_ASSIGN(const std::string mode, ctx.attr_string("mode"));
  const auto& names = kEnumNames<TermWeighting>;
  const auto found = std::find(names.begin(), names.end(), mode);
  if (found == names.end()) return ctx.invalid("mode '{}'", mode);
  attrs.weighting = static_cast<TermWeighting>(found - names.begin());
  STROP_ASSIGN(attrs.min_length, ctx.attr_int("min_gram_length"));
  STROP_ASSIGN(attrs.max_length, ctx.attr_int("max_gram_length"));
  STROP_ASSIGN(attrs.max_skip, ctx.attr_int("max_skip_count"));
  STROP_ASSIGN(attrs.starts, ctx.attr_ints("ngram_counts"));
  STROP_ASSIGN(attrs.columns, ctx.attr_ints("ngram_indexes"));
  STROP_ASSIGN(attrs.weights, ctx.attr_floats("weights", std::vector<double>{}));
  STROP_ASSIGN(attrs.pool, table(ctx, "pool"));
  return emit_one(ctx, kTfIdf, std::move(attrs), {ctx.input(0)});
}

}  // namespace

std::span<const onnx::Importer> strings_importers() {
  static constexpr std::array<onnx::Importer, 9> kImporters = {{
      {"StringConcat", import_concat, 20},
      {"StringNormalizer", import_normalizer, 10},
      {"StringSplit", import_split, 20},
      {"RegexFullMatch", import_match, 20},
      {"TfIdfVectorizer", import_tf_idf, 9},
      {"LabelEncoder", import_encoder_1, 1, 1, kMl},
      {"LabelEncoder", import_encoder, 2, 1 << 20, kMl},
      {"ArrayFeatureExtractor", import_extractor, 1, 1 << 20, kMl},
      {"Binarizer", import_binarizer, 1, 1 << 20, kMl},
  }};
  return kImporters;
}

}  // namespace strop::ops
