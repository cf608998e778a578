/// The files that a call reads and writes, looked at before any work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strop::tool {

/// What a file that is written may replace: a file that begins so, within its first bytes, or an empty one. Anything
/// else that is there stays. `name` is how messages call it, `mark` what it has; "" for both: any file.
struct FileKind {
  std::string_view name;
  std::string_view mark;
};
inline constexpr FileKind kAnyFile = {"", ""};
inline constexpr FileKind kEngineFile = {"an engine", "STROPENG"};
inline constexpr FileKind kLockfile = {"a lockfile", "\"strop_lockfile\""};
inline constexpr FileKind kTimingCache = {"a timing cache", "\"strop_timing_cache\""};

/// Every file of one call with the argument that named it ("MODEL", "--output"). All paths are added, then check() says
/// whether the call may go on; empty paths (options not given) are left out.
class CallFiles {
 public:
  void reads(std::string_view role, const std::string& path);
  /// A file that is replaced, or read and replaced.
  void writes(std::string_view role, const std::string& path, const FileKind& kind = kAnyFile);
  /// A folder that is made where it is missing.
  void makes_folder(std::string_view role, const std::string& path);

  /// Failure: one file, under whatever spelling, link or hard link, is written and also read, or written twice; a
  /// folder stands where a file is wanted or the other way round; the folder of a written file is not there; what is
  /// there is of another kind.
  void check() const;

 private:
  struct Entry {
    std::string role;
    std::string path;
    bool is_written = false;
    FileKind kind = kAnyFile;
  };
  static void check_read(const Entry& entry);
  static void check_written(const Entry& entry);
  static void check_pair(const Entry& a, const Entry& b);

  std::vector<Entry> files_;
  std::vector<Entry> folders_;
};

}  // namespace strop::tool
