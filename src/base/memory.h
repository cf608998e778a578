/// Memory that this process holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace strop {

/// Resident memory in bytes that is no file's (mapped models and engines are not counted). 0 where the operating system
/// does not tell.
int64_t resident_bytes();

/// The machine's memory, or what this process' control group may use where that is less. 0: not known.
int64_t usable_memory_bytes();

/// Error (OutOfMemory): `bytes` more for `what` (0: what there is already) bring the process's resident memory beyond
/// the limit (0: none). What the C library holds for later is given back to the system before that is said.
Result<void> check_memory(int64_t limit_bytes, std::string_view what, int64_t bytes);

/// What this process' resident memory may grow to: asked before something large is allocated. Used from several threads
/// at once.
class MemoryLimit {
 public:
  explicit MemoryLimit(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  /// Error (OutOfMemory): `what` and what is in use exceed the limit together. Small requests add up until they are
  /// worth a look.
  Result<void> check(std::string_view what, int64_t bytes) const;
  int64_t limit_bytes() const { return limit_bytes_; }

 private:
  int64_t limit_bytes_;
  mutable std::atomic<int64_t> unseen_bytes_{0};
};

}  // namespace strop
