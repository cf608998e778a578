/// Text, and the classical-learning operators around it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ops/operator.h"

namespace strop::ops {

/// Two texts joined, broadcast as NumPy does.
extern const Operator kStringConcat;

enum class CaseChange : uint8_t { None, Lower, Upper };
template <>
inline constexpr auto kEnumNames<CaseChange> = std::to_array<std::string_view>({"none", "lower", "upper"});

/// The operand's texts ([C] or [1, C]) that are no stop words, with another case if told; one empty text if none is
/// left. Case is that of ASCII letters.
struct StringNormalizerAttrs {
  CaseChange change = CaseChange::None;
  bool case_sensitive = false;
  std::vector<std::string> stop_words;
  static constexpr auto fields = std::make_tuple(field("change", &StringNormalizerAttrs::change),
                                                 field("case_sensitive", &StringNormalizerAttrs::case_sensitive),
                                                 field("stop_words", &StringNormalizerAttrs::stop_words));
};
extern const Operator kStringNormalizer;

/// Each text's parts between delimiters (empty: white space, of which several count as one), at most max_splits + 1
/// (negative: any number). Results: [.., most parts], filled up with empty texts; how many each has, i64.
struct StringSplitAttrs {
  std::string delimiter;
  int64_t max_splits = -1;
  static constexpr auto fields = std::make_tuple(field("delimiter", &StringSplitAttrs::delimiter),
                                                 field("max_splits", &StringSplitAttrs::max_splits));
};
extern const Operator kStringSplit;

/// Whether the whole text matches a regular expression, in the part of RE2's syntax that ECMAScript shares.
struct RegexFullMatchAttrs {
  std::string pattern;
  static constexpr auto fields = std::make_tuple(field("pattern", &RegexFullMatchAttrs::pattern));
};
extern const Operator kRegexFullMatch;
/// An error if the pattern cannot be compiled.
Result<void> check_pattern(const std::string& pattern);

/// values[i] where the operand's element is keys[i], else `fallback`'s only element. NaN equals NaN.
struct LabelEncoderAttrs {
  Tensor keys, values, fallback;
  static constexpr auto fields =
      std::make_tuple(field("keys", &LabelEncoderAttrs::keys), field("values", &LabelEncoderAttrs::values),
                      field("fallback", &LabelEncoderAttrs::fallback));
};
extern const Operator kLabelEncoder;

enum class TermWeighting : uint8_t { Tf, Idf, TfIdf };
template <>
inline constexpr auto kEnumNames<TermWeighting> = std::to_array<std::string_view>({"TF", "IDF", "TFIDF"});

/// How often each n-gram of a pool occurs in a row of x ([C] or [N, C], i32, i64 or texts), f32: as a count, as its
/// weight if it occurs, or as their product. `pool` holds all 1-grams, 2-grams, …; those of n elements start at
/// starts[n - 1]. The i-th n-gram is counted at columns[i]. Elements of an n-gram may lie 0 to `max_skip` others apart,
/// always equally many.
struct TfIdfAttrs {
  TermWeighting weighting = TermWeighting::Tf;
  int64_t min_length = 1, max_length = 1, max_skip = 0;
  std::vector<int64_t> starts, columns;
  Tensor pool;
  std::vector<double> weights;  ///< none: 1
  static constexpr auto fields =
      std::make_tuple(field("weighting", &TfIdfAttrs::weighting), field("min_length", &TfIdfAttrs::min_length),
                      field("max_length", &TfIdfAttrs::max_length), field("max_skip", &TfIdfAttrs::max_skip),
                      field("starts", &TfIdfAttrs::starts), field("columns", &TfIdfAttrs::columns),
                      field("pool", &TfIdfAttrs::pool), field("weights", &TfIdfAttrs::weights));
};
extern const Operator kTfIdf;

}  // namespace strop::ops
