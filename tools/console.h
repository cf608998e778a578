/// What the command says: results on stdout, everything else on stderr. Failures travel as exceptions to main, within
/// the command only.
#pragma once

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strop/strop.h"

namespace strop::tool {

using Json = nlohmann::ordered_json;

/// A request that cannot be met; main prints it and ends with `status`, by default exit_code(error.code).
struct Failure {
  Error error;
  std::optional<int> status = {};
};

/// Wrong usage: exit code 2.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{{ErrorCode::InvalidArgument, fmt::format(format, std::forward<Args>(args)...)}};
}

template <class T>
T or_fail(Result<T> result) {
  if (!result.ok()) throw Failure{result.error()};
  return std::move(result).value();
}
inline void or_fail(const Result<void>& result) {
  if (!result.ok()) throw Failure{result.error()};
}

/// One line on stderr: "strop: MESSAGE".
void say(std::string_view message);

template <class... Args>
void say_formatted(fmt::format_string<Args...> format, Args&&... args) {
  say(fmt::format(format, std::forward<Args>(args)...));
}

/// The one document of a --json call, on stdout.
void print_json(const Json& document);

/// A table on stdout: columns as wide as needed, numbers (cells that begin with a digit or '-') to the right.
void print_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);

/// "1.5 MB"
std::string human_bytes(int64_t bytes);

/// "[1, 3, 224, 224]"
std::string shape_text(const std::vector<int64_t>& shape);

/// One line on stderr that is overwritten, on a terminal only. Cleared at the end.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::string_view text);

 private:
  bool terminal_ = false;
  bool shown_ = false;
};

/// "; did you mean 'X'?" with the candidate nearest to `name`, or nothing if none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace strop::tool
