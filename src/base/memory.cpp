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

int64_t usable_memory_bytes() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const auto text = read_file("/sys/fs/cgroup/memory.max", 4096);  // "max" or a number
  long long group = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%lld", &group) != 1 || group <= 0) return machine;
  return machine > 0 ? std::min<int64_t>(machine, group) : group;
}

Result<void> check_memory(int64_t limit_bytes, std::string_view what, int64_t bytes) {
  if (limit_bytes == 0 || bytes <= limit_bytes - resident_bytes()) return {};
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  const int64_t resident = resident_bytes();
  if (bytes <= limit_bytes - resident) return {};
  if (bytes == 0) {
    return error(ErrorCode::OutOfMemory, "{} takes {} bytes, over the memory limit of {}: raise it", what, resident,
                 limit_bytes);
  }
  return error(ErrorCode::OutOfMemory,
               "{} needs {} bytes beside the {} that are in use, over the memory limit of {}: raise it", what, bytes,
               resident, limit_bytes);
}

Result<void> MemoryLimit::check(std::string_view what, int64_t bytes) const {
  constexpr int64_t kWorthALook = int64_t{1} << 20;
  if (bytes < kWorthALook) {
    if (unseen_bytes_.fetch_add(bytes) + bytes < kWorthALook) return {};
    unseen_bytes_ = 0;
  }
  return check_memory(limit_bytes_, what, bytes);
}

}  // namespace strop
