/// Where the large pieces of a context's memory come from: arenas and the outputs that the caller gave no buffer for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace strop::runtime {

/// Memory that somebody else hands out. Used from several threads at once.
class Memory {
 public:
  virtual ~Memory() = default;
  /// `bytes` > 0, `alignment` a power of two. Null: there is none left.
  virtual void* allocate(size_t bytes, size_t alignment) = 0;
  virtual void deallocate(void* memory, size_t bytes, size_t alignment) noexcept = 0;
};

/// At least one byte, aligned for every kernel, from `memory`, or from the system if that is null. Null: there is none
/// left. Given back when the last copy of the pointer goes, which keeps `memory` alive.
std::shared_ptr<std::byte> allocate(const std::shared_ptr<Memory>& memory, int64_t bytes);

}  // namespace strop::runtime
