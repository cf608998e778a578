#include "base/text.h"

#include <algorithm>

namespace strop {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

template <class Text>
std::string joined(std::span<const Text> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) text += separator;
    text += parts[i];
  }
  return text;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = text.find_first_not_of(kWhiteSpace);
  while (begin != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kWhiteSpace, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kWhiteSpace, end);
  }
  return words;
}

std::string join(std::span<const std::string_view> parts, std::string_view separator) {
  return joined(parts, separator);
}

std::string join(std::span<const std::string> parts, std::string_view separator) { return joined(parts, separator); }

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table of distances between prefixes: before[j], last[j] and row[j] for a's first i-2, i-1 and i
  // characters.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> nearest(std::string_view name, std::span<const std::string_view> candidates) {
  // Beyond this many edits the suggestion would puzzle more than help.
  int best = std::max(2, static_cast<int>(name.size()) / 3) + 1;
  std::optional<std::string_view> found;
  for (const std::string_view candidate : candidates) {
    const int distance = edit_distance(name, candidate);
    if (distance >= best || distance >= static_cast<int>(candidate.size())) continue;
    best = distance;
    found = candidate;
  }
  return found;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto suggestion = nearest(name, candidates);
  return suggestion ? "; did you mean '" + std::string(*suggestion) + "'?" : std::string();
}

}  // namespace strop
