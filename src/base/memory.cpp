#include "base/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/files.h"

namespace strop {

int64_t resident_bytes() {
  const auto text = read_file("/proc/self/statm", 4096);
  long long size = 0, resident = 0, shared = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%lld %lld %lld", &size, &resident, &shared) != 3) return 0;
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

int64_t resident_bytes_needed() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return resident_bytes();
}

int64_t usable_memory_bytes() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const auto text = read_file("/sys/fs/cgroup/memory.max", 4096);  // "max" or a number
  long long group = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%lld", &group) != 1 || group <= 0) return machine;
  return machine > 0 ? std::min<int64_t>(machine, group) : group;
}

Result<void> MemoryLimit::check(std::string_view what, int64_t bytes) const {
  constexpr int64_t kWorthALook = int64_t{1} << 20;
  if (bytes < kWorthALook) {
    if (unseen_bytes_.fetch_add(bytes) + bytes < kWorthALook) return {};
    unseen_bytes_ = 0;
  }
  if (bytes <= limit_bytes_ - resident_bytes()) return {};
  const int64_t resident = resident_bytes_needed();
  if (bytes <= limit_bytes_ - resident) return {};
  return error(ErrorCode::OutOfMemory,
               "{} needs {} bytes beside the {} that are in use, over the memory limit of {}: raise it", what, bytes,
               resident, limit_bytes_);
}

}  // namespace strop
