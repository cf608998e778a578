#include "base/result.h"

#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "strop/export.h"

namespace strop {

STROP_API const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return "invalid_argument";
    case ErrorCode::InvalidModel: return "invalid_model";
    case ErrorCode::Unsupported: return "unsupported";
    case ErrorCode::InvalidEngine: return "invalid_engine";
    case ErrorCode::NotFound: return "not_found";
    case ErrorCode::Io: return "io";
    case ErrorCode::OutOfMemory: return "out_of_memory";
    case ErrorCode::Device: return "device";
    case ErrorCode::Cancelled: return "cancelled";
    case ErrorCode::Internal: return "internal";
  }
  return "internal";
}

STROP_API int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::InvalidModel:
    case ErrorCode::Unsupported:
    case ErrorCode::InvalidEngine:
    case ErrorCode::NotFound: return 2;
    case ErrorCode::Io:
    case ErrorCode::OutOfMemory:
    case ErrorCode::Device:
    case ErrorCode::Cancelled: return 3;
    case ErrorCode::Internal: return 4;
  }
  return 4;
}

namespace detail {

STROP_API void bad_result_access(const Error& error) {
  std::fprintf(stderr, "strop: %s: %s\n", to_string(error.code), error.message.c_str());
  std::exit(exit_code(error.code));
}

void raise_bug(const char* file, int line, const char* condition, const std::string& message) {
  throw Bug(fmt::format("{}:{}: check failed: {}{}{}", file, line, condition, message.empty() ? "" : ": ", message));
}

}  // namespace detail
}  // namespace strop
