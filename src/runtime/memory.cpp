#include "runtime/memory.h"

#include <algorithm>
#include <cstdlib>

#include "plan/arena.h"

namespace strop::runtime {

std::shared_ptr<std::byte> allocate(const std::shared_ptr<Memory>& memory, int64_t bytes) {
  constexpr auto kAlignment = static_cast<size_t>(plan::kArenaAlignment);
  const size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  if (memory == nullptr) {
    const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;  // as aligned_alloc wants it
    return {static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)), [](std::byte* p) { std::free(p); }};
  }
  auto* taken = static_cast<std::byte*>(memory->allocate(size, kAlignment));
  if (taken == nullptr) return nullptr;
  return {taken, [memory, size](std::byte* p) { memory->deallocate(p, size, kAlignment); }};
}

}  // namespace strop::runtime
