/// Small pieces of the text form that attributes and scalar programs share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strop::ops {

std::string_view trim(std::string_view text);

/// The parts between `separator`s that are outside brackets () [] {} and quotes, trimmed; none for blank text.
std::vector<std::string_view> split_top_level(std::string_view text, char separator);

/// "\"a\\n\"": in double quotes; backslash, quote and control bytes escaped. And back.
std::string quote(std::string_view text);
Result<std::string> unquote(std::string_view text);

/// Shortest text that reads back as the same double: "0.5", "inf", "-inf", "nan". And back.
std::string number_text(double value);
std::optional<double> parse_number(std::string_view text);
std::optional<int64_t> parse_integer(std::string_view text);

}  // namespace strop::ops
