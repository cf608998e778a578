/// What stands behind the handles of strop_c.h, and the border between C and C++: structs are read only as far as their
/// size says, and nothing that C++ throws gets across.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "api/impl.h"
#include "strop/strop.h"
#include "strop/strop_c.h"

struct strop_runtime {
  strop::Runtime runtime;
  std::shared_ptr<void> released;  // its end calls the caller's `release`
};

struct strop_engine {
  explicit strop_engine(strop::Engine from);
  strop_engine(const strop_engine&) = delete;
  strop_engine& operator=(const strop_engine&) = delete;

  struct Port {
    strop::PortInfo info;
    std::vector<int64_t> dims;
    std::vector<const char*> dim_texts;
  };
  strop::Engine engine;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
};

struct strop_context {
  strop::Context context;
  strop::Engine engine;
  /// What strop_context_output points to, by output.
  struct Shown {
    strop::TensorView view;
    std::vector<strop_text> texts;
  };
  std::map<std::string, Shown, std::less<>> shown;
  std::map<std::string, std::vector<std::string>, std::less<>> bound_strings;  // by input
};

namespace strop::c {

/// The result of a call: its code, and its description where one is wanted.
strop_code report(strop_error* error, const Result<void>& result) noexcept;
strop_code report_exception(strop_error* error, strop_code code, const char* message) noexcept;

/// Runs `work`, which returns Result<void>.
template <class F>
strop_code guarded(strop_error* error, F&& work) noexcept {
  try {
    return report(error, api::guarded(work));
  } catch (const std::bad_alloc&) {
    return report_exception(error, STROP_OUT_OF_MEMORY, "not enough memory");
  } catch (...) {
    return report_exception(error, STROP_INTERNAL, "a callback threw what is no std::exception");
  }
}

/// Error: the pointer is null.
Result<void> require(const void* pointer, const char* what);

/// Sizes that a struct of the interface can have: `oldest` in the first release, `newest` in this one.
Result<void> check_size(size_t given, size_t oldest, size_t newest, const char* type);

/// Options as this library knows them; what the caller's header did not have yet is as in `defaults`.
template <class T>
Result<T> read_struct(const T* given, const T& defaults, const char* type, size_t oldest = sizeof(T)) {
  T result = defaults;
  if (given == nullptr) return result;
  STROP_TRY(check_size(given->size, oldest, sizeof(T), type));
  std::memcpy(&result, given, given->size);
  return result;
}

/// Fills a struct of the caller's as far as its header knows it.
template <class T>
Result<void> write_struct(T* to, T from, const char* type, size_t oldest = sizeof(T)) {
  STROP_TRY(require(to, type));
  STROP_TRY(check_size(to->size, oldest, sizeof(T), type));
  from.size = to->size;
  std::memcpy(to, &from, from.size);
  return {};
}

/// A copy for the caller, freed with strop_string_free. Throws bad_alloc.
char* to_c_string(const std::string& text);

inline std::string text_or(const char* text, const char* otherwise) { return text != nullptr ? text : otherwise; }

/// A tensor of the caller's. Strings go to `strings`, which the view then points to and which has to stay.
Result<TensorView> read_tensor(const strop_tensor* tensor, std::vector<std::string>& strings);

/// A null handle: a runtime of its own.
inline Runtime runtime_of(const strop_runtime* runtime) { return runtime != nullptr ? runtime->runtime : Runtime(); }

}  // namespace strop::c
