#include "base/memory.h"

#include <unistd.h>

#include <cstdio>

#include "base/files.h"

namespace strop {

int64_t resident_bytes() {
  const auto text = read_file("/proc/self/statm", 4096);
  long long size = 0, resident = 0, shared = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%lld %lld %lld", &size, &resident, &shared) != 3) return 0;
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

}  // namespace strop
