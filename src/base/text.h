/// Small helpers for text that people write and read: options, names, messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strop {

/// Without the spaces, tabs and line ends around it.
std::string_view trim(std::string_view text);

/// The parts between separators, empty ones included: split("a,,b", ',') is {"a", "", "b"}; split("", ',') is {""}.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The words between runs of white space; none for a blank text.
std::vector<std::string_view> split_words(std::string_view text);

/// "a, b, c"
std::string join(std::span<const std::string_view> parts, std::string_view separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// Number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate that `name` is most likely a misspelling of (the first among equals); nullopt if none is near.
std::optional<std::string_view> nearest(std::string_view name, std::span<const std::string_view> candidates);

/// "; did you mean 'X'?" with the nearest candidate, or nothing: to be appended to a message.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace strop
