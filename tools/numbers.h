/// Numbers as options: each is read as a whole and held to its range, and the message names the option.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <type_traits>

namespace strop::tool {

/// Inclusive.
template <class T>
struct Limits {
  T least;
  T most;
};

/// Failure (console.h): something else than one number (also nan, inf, or characters after it), or one outside the
/// limits. `option` names it in the message.
template <class T>
T parse_number(const std::string& option, const std::string& text, const Limits<T>& limits);
extern template int parse_number(const std::string&, const std::string&, const Limits<int>&);
extern template uint64_t parse_number(const std::string&, const std::string&, const Limits<uint64_t>&);
extern template double parse_number(const std::string&, const std::string&, const Limits<double>&);

/// "4GiB", "500MB", "4096": bytes. GiB and G are 2^30, GB is 10^9.
int64_t parse_bytes(const std::string& option, const std::string& text);

/// An option with one number.
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& name, T& value,
                        const Limits<std::type_identity_t<T>>& limits, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name, [&value, name, limits](const std::string& text) { value = parse_number(name, text, limits); }, help)
      ->type_name("NUMBER")
      ->default_str(CLI::detail::to_string(value));
}

}  // namespace strop::tool
