/// Result<T> for the inside: the public type plus the macro that passes errors on.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "strop/result.h"

namespace strop {

/// An Error with a formatted message (fmt syntax).
template <class... Args>
Error error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

/// The same error, said to have happened while doing `where`: "where: message".
inline Error in_context(const Error& cause, std::string_view where) {
  return Error{cause.code, fmt::format("{}: {}", where, cause.message)};
}

}  // namespace strop

#define STROP_CONCAT_INNER(a, b) a##b
#define STROP_CONCAT(a, b) STROP_CONCAT_INNER(a, b)

/// STROP_TRY(expr): returns expr's error from the current function, if it has one.
#define STROP_TRY(...)                                                                                  \
  do {                                                                                                  \
    if (auto strop_try_result = (__VA_ARGS__); !strop_try_result.ok()) return strop_try_result.error(); \
  } while (false)

/// STROP_ASSIGN(auto x, expr): declares or assigns x from expr's value, or returns expr's error.
#define STROP_ASSIGN(target, ...) STROP_ASSIGN_IMPL(STROP_CONCAT(strop_result_, __COUNTER__), target, __VA_ARGS__)
#define STROP_ASSIGN_IMPL(name, target, ...) \
  auto name = (__VA_ARGS__);                 \
  if (!name.ok()) return name.error();       \
  target = std::move(name).value()
