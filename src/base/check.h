/// Assertions about ourselves. A failed check is a bug of ours, never the user's fault: it throws Bug, which only
/// api/ (reported as ErrorCode::Internal) and the tuner's evaluation catch.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace strop {

/// A violated assumption inside Strop.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void raise_bug(const char* file, int line, const char* condition, const std::string& message);
}

}  // namespace strop

/// STROP_CHECK(condition) or STROP_CHECK(condition, "format", args...).
#define STROP_CHECK(condition, ...)                                                                                  \
  do {                                                                                                               \
    if (!(condition)) [[unlikely]]                                                                                   \
      ::strop::detail::raise_bug(__FILE__, __LINE__, #condition, std::string(__VA_OPT__(fmt::format(__VA_ARGS__)))); \
  } while (false)

/// Marks code that cannot be reached.
#define STROP_UNREACHABLE(...) \
  ::strop::detail::raise_bug(__FILE__, __LINE__, "unreachable", std::string(__VA_OPT__(fmt::format(__VA_ARGS__))))
