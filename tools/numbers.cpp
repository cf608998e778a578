#include "numbers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "console.h"

namespace strop::tool {
namespace {

/// The number that is the whole text; false where it is not one, or does not fit.
template <class T>
bool read_whole(const std::string& text, T& value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && end == text.data() + text.size();
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

struct Unit {
  const char* name;
  int64_t bytes;
};
constexpr std::array<Unit, 14> kUnits = {{{"", 1},
                                          {"b", 1},
                                          {"kb", 1'000},
                                          {"mb", 1'000'000},
                                          {"gb", 1'000'000'000},
                                          {"tb", 1'000'000'000'000},
                                          {"k", int64_t{1} << 10},
                                          {"kib", int64_t{1} << 10},
                                          {"m", int64_t{1} << 20},
                                          {"mib", int64_t{1} << 20},
                                          {"g", int64_t{1} << 30},
                                          {"gib", int64_t{1} << 30},
                                          {"t", int64_t{1} << 40},
                                          {"tib", int64_t{1} << 40}}};

}  // namespace

template <class T>
T parse_number(const std::string& option, const std::string& text, const Limits<T>& limits) {
  constexpr bool kWhole = std::is_integral_v<T>;
  T value{};
  bool fits = read_whole(text, value) && value >= limits.least && value <= limits.most;
  if constexpr (!kWhole) fits = fits && std::isfinite(value);
  if (fits) return value;
  const std::string what = kWhole ? "whole number" : "number";
  if (limits.most == std::numeric_limits<T>::max()) {
    if (limits.least == std::numeric_limits<T>::lowest() && !kWhole) refuse("{} {}: write a {}", option, text, what);
    refuse("{} {}: write a {} from {}", option, text, what, limits.least);
  }
  refuse("{} {}: write a {} from {} to {}", option, text, what, limits.least, limits.most);
}
template int parse_number(const std::string&, const std::string&, const Limits<int>&);
template uint64_t parse_number(const std::string&, const std::string&, const Limits<uint64_t>&);
template double parse_number(const std::string&, const std::string&, const Limits<double>&);

int64_t parse_bytes(const std::string& option, const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = lower_case(text.substr(digits));
  int64_t count = 0;
  for (const Unit& known : kUnits) {
    if (unit != known.name || !read_whole(text.substr(0, digits), count)) continue;
    if (count <= std::numeric_limits<int64_t>::max() / known.bytes) return count * known.bytes;
  }
  refuse("{} {}: write a number of bytes, for example 4GiB or 500MB", option, text);
}

}  // namespace strop::tool
