#include "base/log.h"

#include <cstdio>
#include <string>

namespace strop {

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::Warning: return "warning";
    case LogLevel::Info: return "info";
    case LogLevel::Debug: return "debug";
  }
  return "debug";
}

void StderrLog::write(LogLevel level, std::string_view message) {
  if (!enabled(level)) return;
  const std::string line = fmt::format("strop: {}{}\n", level == LogLevel::Warning ? "warning: " : "", message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace strop
