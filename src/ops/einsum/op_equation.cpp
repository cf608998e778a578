#include <algorithm>
#include <cctype>
#include <map>

#include "ops/einsum/einsum.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

// One side of a comma: letters, and where the ellipsis stands among them (-1: nowhere).
struct Term {
  std::vector<int> letters;
  int64_t ellipsis = -1;
};

Result<Term> parse_term(std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      term.letters.push_back(static_cast<unsigned char>(c));
    } else if (text.substr(i, 3) == "..." && term.ellipsis < 0) {
      term.ellipsis = std::ssize(term.letters);
      i += 2;
    } else {
      return violates("(C1) '{}' is not a term of an einsum equation", text);
    }
  }
  return term;
}

// The term's indices with `count` ellipsis axes.
std::vector<int> spell_out(const Term& term, int64_t count) {
  std::vector<int> indices = term.letters;
  if (term.ellipsis < 0) return indices;
  std::vector<int> axes;
  for (int64_t i = count; i-- > 0;) axes.push_back(kFirstEllipsisIndex + static_cast<int>(i));
  indices.insert(indices.begin() + term.ellipsis, axes.begin(), axes.end());
  return indices;
}

// What numpy.einsum gives without "->".
Term implied_result(const EinsumIndices& indices) {
  std::map<int, int> occurrences;
  for (const auto& operand : indices.operands) {
    for (const int index : operand) ++occurrences[index];
  }
  Term result;
  result.ellipsis = 0;
  for (const auto& [index, count] : occurrences) {
    if (count == 1 && index < kFirstEllipsisIndex) result.letters.push_back(index);
  }
  return result;
}

Result<void> check_result(const EinsumIndices& indices) {
  for (size_t i = 0; i < indices.result.size(); ++i) {
    const int index = indices.result[i];
    const bool twice = std::find(indices.result.begin(), indices.result.begin() + static_cast<int64_t>(i), index) !=
                       indices.result.begin() + static_cast<int64_t>(i);
    const bool known = std::any_of(indices.operands.begin(), indices.operands.end(), [&](const auto& operand) {
      return std::find(operand.begin(), operand.end(), index) != operand.end();
    });
    if (twice || !known) return violates("(C1) an index of the einsum's result occurs twice there, or in no operand");
  }
  return {};
}

}  // namespace

Result<EinsumIndices> parse_einsum(std::string_view equation, const std::vector<int64_t>& ranks) {
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  EinsumIndices indices;
  int64_t ellipsis_axes = 0;
  for (size_t i = 0;; ++i) {
    const size_t comma = left.find(',');
    STROP_ASSIGN(const Term term, parse_term(left.substr(0, comma)));
    // (C2) one operand per term, with an axis per letter.
    if (i >= ranks.size()) return violates("(C2) '{}' has more terms than the {} operands", equation, ranks.size());
    const int64_t unnamed = ranks[i] - std::ssize(term.letters);
    if (unnamed < 0 || (unnamed > 0 && term.ellipsis < 0)) {
      return violates("(C2) operand {} has rank {}, term '{}' of the equation does not", i, ranks[i],
                      left.substr(0, comma));
    }
    ellipsis_axes = std::max(ellipsis_axes, unnamed);
    indices.operands.push_back(spell_out(term, unnamed));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (indices.operands.size() != ranks.size()) {
    return violates("(C2) '{}' has {} terms for {} operands", equation, indices.operands.size(), ranks.size());
  }
  if (arrow == std::string_view::npos) {
    indices.result = spell_out(implied_result(indices), ellipsis_axes);
  } else {
    STROP_ASSIGN(const Term term, parse_term(equation.substr(arrow + 2)));
    indices.result = spell_out(term, ellipsis_axes);
  }
  STROP_TRY(check_result(indices));
  return indices;
}

}  // namespace strop::ops
