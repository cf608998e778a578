/// Where progress and warnings go. A Runtime owns one Log and hands it to whoever has something to say; nothing is
/// global. Errors are not logged: they are returned.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "strop/types.h"

namespace strop {

/// "warning", "info", "debug"
std::string_view to_string(LogLevel level);

/// A sink of messages. Implementations must accept calls from several threads at once and must not throw.
class Log {
 public:
  virtual ~Log() = default;

  /// False if messages of the level would be dropped: they are then not even formatted.
  virtual bool enabled(LogLevel level) const = 0;
  /// One message, without a line end.
  virtual void write(LogLevel level, std::string_view message) = 0;

  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    write_formatted(LogLevel::Warning, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    write_formatted(LogLevel::Info, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) {
    write_formatted(LogLevel::Debug, format, fmt::make_format_args(args...));
  }

 private:
  void write_formatted(LogLevel level, fmt::string_view format, fmt::format_args args) {
    if (enabled(level)) write(level, fmt::vformat(format, args));
  }
};

/// Drops everything.
class NullLog final : public Log {
 public:
  bool enabled(LogLevel) const override { return false; }
  void write(LogLevel, std::string_view) override {}
};

/// Lines on stderr, each written at once: "strop: MESSAGE", warnings as "strop: warning: MESSAGE".
class StderrLog final : public Log {
 public:
  /// Keeps messages up to `most_verbose`.
  explicit StderrLog(LogLevel most_verbose = LogLevel::Info) : most_verbose_(most_verbose) {}
  bool enabled(LogLevel level) const override { return level <= most_verbose_; }
  void write(LogLevel level, std::string_view message) override;

 private:
  LogLevel most_verbose_;
};

}  // namespace strop
