/// Runs what hostile input does in a process of its own that may use 10 s of CPU and 2 GiB of address space.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/function_ref.h"

namespace strop::tests {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kLimitMemory = false;  // the sanitizer reserves terabytes
#else
inline constexpr bool kLimitMemory = true;
#endif

inline void limit_this_process() {
  const rlimit cpu{10, 10};
  ::setrlimit(RLIMIT_CPU, &cpu);
  const rlimit core{0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
  if (!kLimitMemory) return;
  const rlimit memory{rlim_t{2} << 30, rlim_t{2} << 30};
  ::setrlimit(RLIMIT_AS, &memory);
}

/// What `work` returns there, or how the process ended.
inline std::string outcome_in_child(FunctionRef<std::string()> work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child < 0) return "no process";
  if (child == 0) {
    ::close(ends[0]);
    limit_this_process();
    const std::string outcome = work();
    const ssize_t written = ::write(ends[1], outcome.data(), outcome.size());
    ::_exit(written == static_cast<ssize_t>(outcome.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string outcome;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    outcome.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? outcome : "the process ended with status " + std::to_string(status);
}

}  // namespace strop::tests
