#include <algorithm>
#include <numeric>
#include <regex>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/strings/strings.h"

namespace strop::ops {
namespace {

Result<TensorType> texts(const InferContext& ctx, size_t index) {
  STROP_ASSIGN(const TensorType type, ctx.tensor(index));
  if (type.dtype != DType::String) return violates("(C1) operand {} is {}, not text", index, to_string(type));
  return type;
}

// -- StringConcat --

Result<void> infer_concat(InferContext& ctx) {
  STROP_ASSIGN(const TensorType a, texts(ctx, 0));
  STROP_ASSIGN(const TensorType b, texts(ctx, 1));
  ctx.outputs[0] = Type::unranked(DType::String);
  if (!a.has_rank() || !b.has_rank()) return {};
  STROP_ASSIGN(Dims dims, broadcast(a.dims(), b.dims()));
  ctx.outputs[0] = Type(DType::String, std::move(dims));
  return {};
}

// Strides over an operand for coordinates of the broadcast result.
std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& operand, size_t rank) {
  const auto own = strides_of(operand);
  std::vector<int64_t> strides(rank, 0);
  for (size_t i = 0; i < operand.size(); ++i) {
    if (operand[i] != 1) strides[rank - operand.size() + i] = own[i];
  }
  return strides;
}

Result<void> evaluate_concat(EvalContext& ctx) {
  const Tensor& a = ctx.in(0);
  const Tensor& b = ctx.in(1);
  STROP_ASSIGN(const Dims symbolic, broadcast(to_dims(a.dims()), to_dims(b.dims())));
  const auto dims = *as_constants(symbolic);
  const auto steps_a = broadcast_strides(a.dims(), dims.size());
  const auto steps_b = broadcast_strides(b.dims(), dims.size());
  const auto pick = [](const Tensor& from, const std::vector<int64_t>& at,
                       const std::vector<int64_t>& steps) -> const std::string& {
    return from.strings()[static_cast<size_t>(std::inner_product(at.begin(), at.end(), steps.begin(), int64_t{0}))];
  };
  int64_t bytes = 0;
  for_each_element(dims, [&](const std::vector<int64_t>& at, int64_t) {
    bytes += static_cast<int64_t>(pick(a, at, steps_a).size() + pick(b, at, steps_b).size());
  });
  STROP_TRY(ctx.check_memory(bytes));
  Tensor result(DType::String, dims);
  for_each_element(dims, [&](const std::vector<int64_t>& at, int64_t linear) {
    result.mutable_strings()[static_cast<size_t>(linear)] = pick(a, at, steps_a) + pick(b, at, steps_b);
  });
  ctx.outputs[0] = std::move(result);
  return {};
}

// -- StringNormalizer --

std::string with_case(std::string text, CaseChange change) {
  for (char& c : text) {
    if (change == CaseChange::Lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (change == CaseChange::Upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

Result<void> infer_normalizer(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, texts(ctx, 0));
  ctx.outputs[0] = Type::unranked(DType::String);
  if (!x.has_rank()) return {};
  const bool fits = x.rank() == 1 || (x.rank() == 2 && (!x.dim(0).is_constant() || x.dim(0) == Dim(1)));
  if (!fits) return violates("(C2) {} is neither [C] nor [1, C]", to_string(x));
  const Dim kept = ctx.unbacked();
  ctx.outputs[0] = Type(DType::String, x.rank() == 1 ? Dims{kept} : Dims{Dim(1), kept});
  return {};
}

Result<void> evaluate_normalizer(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<StringNormalizerAttrs>();
  const Tensor& x = ctx.in(0);
  if (x.rank() == 2 && x.dim(0) != 1) return bad_data("StringNormalizer: {} rows, not 1", x.dim(0));
  const CaseChange compared = attrs.case_sensitive ? CaseChange::None : CaseChange::Lower;
  std::vector<std::string> kept;
  for (const std::string& text : x.strings()) {
    const bool stopped = std::any_of(attrs.stop_words.begin(), attrs.stop_words.end(), [&](const std::string& word) {
      return with_case(word, compared) == with_case(text, compared);
    });
    if (!stopped) kept.push_back(with_case(text, attrs.change));
  }
  if (kept.empty()) kept.emplace_back();
  const auto count = static_cast<int64_t>(kept.size());
  ctx.outputs[0] = Tensor::of_strings(x.rank() == 1 ? std::vector{count} : std::vector<int64_t>{1, count}, kept);
  return {};
}

// -- StringSplit --

Result<void> infer_split(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, texts(ctx, 0));
  ctx.outputs[0] = Type::unranked(DType::String);
  if (ctx.wants_output(1)) ctx.outputs[1] = TensorType{DType::I64, x.shape, {}};
  if (!x.has_rank()) return {};
  Dims dims = x.dims();
  dims.push_back(ctx.unbacked());
  ctx.outputs[0] = Type(DType::String, std::move(dims));
  return {};
}

using Parts = std::vector<std::string>;

Parts split_at(const std::string& text, const StringSplitAttrs& attrs) {
  Parts parts;
  size_t first = 0;
  while (attrs.max_splits < 0 || static_cast<int64_t>(parts.size()) < attrs.max_splits) {
    const size_t found = text.find(attrs.delimiter, first);
    if (found == std::string::npos) break;
    parts.push_back(text.substr(first, found - first));
    first = found + attrs.delimiter.size();
  }
  parts.push_back(text.substr(first));
  return parts;
}

Parts split_at_space(const std::string& text, int64_t max_splits) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  Parts parts;
  size_t first = text.find_first_not_of(kSpace);
  while (first != std::string::npos) {
    const bool last = max_splits >= 0 && static_cast<int64_t>(parts.size()) == max_splits;
    const size_t end = last ? std::string::npos : text.find_first_of(kSpace, first);
    parts.push_back(text.substr(first, end == std::string::npos ? end : end - first));
    first = end == std::string::npos ? end : text.find_first_not_of(kSpace, end);
  }
  return parts;
}

Result<void> evaluate_split(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<StringSplitAttrs>();
  const Tensor& x = ctx.in(0);
  std::vector<Parts> all;
  std::vector<int64_t> counts;
  int64_t most = 0;
  for (const std::string& text : x.strings()) {
    // An empty text has no parts, whatever the delimiter is.
    Parts parts;
    if (!text.empty()) parts = attrs.delimiter.empty() ? split_at_space(text, attrs.max_splits) : split_at(text, attrs);
    counts.push_back(static_cast<int64_t>(parts.size()));
    most = std::max(most, counts.back());
    all.push_back(std::move(parts));
  }
  auto dims = x.dims();
  dims.push_back(most);
  Tensor result(DType::String, dims);
  for (size_t i = 0; i < all.size(); ++i) {
    std::copy(all[i].begin(), all[i].end(), result.mutable_strings().begin() + static_cast<int64_t>(i) * most);
  }
  ctx.outputs[0] = std::move(result);
  if (ctx.wants(1)) ctx.outputs[1] = store_i64(DType::I64, x.dims(), counts);
  return {};
}

// -- RegexFullMatch --

Result<void> infer_match(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, texts(ctx, 0));
  STROP_TRY(check_pattern(ctx.attrs.as<RegexFullMatchAttrs>().pattern));
  ctx.outputs[0] = TensorType{DType::Bool, x.shape, {}};
  return {};
}

Result<void> evaluate_match(EvalContext& ctx) {
  // The standard library's matcher calls itself once per character.
  constexpr size_t kMaxLength = 4096;
  std::vector<int64_t> results;
  try {
    const std::regex pattern(ctx.attrs.as<RegexFullMatchAttrs>().pattern);
    for (const std::string& text : ctx.in(0).strings()) {
      if (text.size() > kMaxLength)
        return bad_data("RegexFullMatch: a text of {} bytes; {} are possible", text.size(), kMaxLength);
      results.push_back(std::regex_match(text, pattern) ? 1 : 0);
    }
  } catch (const std::regex_error& problem) {
    return bad_data("RegexFullMatch: {}", problem.what());
  }
  ctx.outputs[0] = store_i64(DType::Bool, ctx.in(0).dims(), results);
  return {};
}

}  // namespace

Result<void> check_pattern(const std::string& pattern) {
  try {
    const std::regex compiled(pattern);
  } catch (const std::regex_error& problem) {
    return error(ErrorCode::Unsupported, "(C2) the pattern '{}': {}", pattern, problem.what());
  }
  return {};
}

const Operator kStringConcat = {.name = "StringConcat", .infer = infer_concat, .evaluate = evaluate_concat};
const Operator kStringNormalizer = {
    .name = "StringNormalizer",
    .make_attrs = [] { return Attrs(StringNormalizerAttrs{}); },
    .infer = infer_normalizer,
    .evaluate = evaluate_normalizer,
};
const Operator kStringSplit = {
    .name = "StringSplit",
    .make_attrs = [] { return Attrs(StringSplitAttrs{}); },
    .infer = infer_split,
    .evaluate = evaluate_split,
};
const Operator kRegexFullMatch = {
    .name = "RegexFullMatch",
    .make_attrs = [] { return Attrs(RegexFullMatchAttrs{}); },
    .infer = infer_match,
    .evaluate = evaluate_match,
};

std::span<const Operator* const> strings_operators() {
  static constexpr std::array kOperators = {&kStringConcat,   &kStringNormalizer, &kStringSplit,
                                            &kRegexFullMatch, &kLabelEncoder,     &kTfIdf};
  return kOperators;
}

}  // namespace strop::ops
