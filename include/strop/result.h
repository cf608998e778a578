/// Part of the C++ API (included by strop.h): how every fallible call reports failure.
/// Nothing in Strop throws across its interface; wrong input or environment arrives as an Error.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace strop {

/// Whose fault it is. The command's exit codes follow from it (see exit_code).
enum class ErrorCode {
  InvalidArgument,  ///< the request is wrong: unknown option, knob, name, illegal shape
  InvalidModel,     ///< the model is damaged, inconsistent or outside the ONNX specification
  Unsupported,      ///< a legal model that needs something Strop does not do
  InvalidEngine,    ///< the engine file is damaged, newer, or for another instruction set
  NotFound,         ///< a file, tensor or record that was named does not exist
  Io,               ///< reading or writing failed
  OutOfMemory,      ///< an allocation or a given memory limit was exceeded
  Device,           ///< the device or its driver failed or is missing
  Cancelled,        ///< the caller asked to stop
  Internal,         ///< a bug of ours
};

/// The code's name as printed in messages and JSON, for example "invalid_model".
const char* to_string(ErrorCode code);

/// The process exit status that a command should end with: 2 wrong input, 3 environment, 4 our bug.
int exit_code(ErrorCode code);

/// A failure. `message` is one line: what, where, what to do.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
};

namespace detail {
[[noreturn]] void bad_result_access(const Error& error);
}

/// A value or the error that prevented it. `value()` on an error ends the process with the message on stderr:
/// use it only where failure is impossible or fatal (examples, tests).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return std::get<1>(state_); }
  T& value() & { return checked(), std::get<0>(state_); }
  const T& value() const& { return checked(), std::get<0>(state_); }
  T&& value() && { return checked(), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void checked() const {
    if (!ok()) detail::bad_result_access(error());
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }
  void value() const {
    if (error_) detail::bad_result_access(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace strop
