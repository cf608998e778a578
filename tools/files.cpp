#include "files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "console.h"

namespace strop::tool {
namespace {

namespace fs = std::filesystem;

/// Where writing to `path` ends: links are followed even if nothing is at their end yet.
fs::path followed(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::error_code failed;
  fs::path at = path;
  for (int links = 0; links < kMostLinks && fs::is_symlink(at, failed); ++links) {
    const fs::path to = fs::read_symlink(at, failed);
    if (failed) break;
    at = at.parent_path() / to;  // an absolute one stands for itself
  }
  const fs::path whole = fs::weakly_canonical(at, failed);
  return failed ? at : whole;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  if (fs::equivalent(a, b, failed)) return true;  // both exist: also hard links
  return followed(a) == followed(b);
}

std::string text_of(std::string_view role, const std::string& path) { return fmt::format("{} '{}'", role, path); }

/// Whether the file is empty or has the mark of its kind.
bool is_of_kind(const std::string& path, const FileKind& kind) {
  constexpr size_t kLookedAt = 256;
  std::ifstream file(path, std::ios::binary);
  std::string head(kLookedAt, '\0');
  file.read(head.data(), kLookedAt);
  head.resize(static_cast<size_t>(file.gcount()));
  return head.empty() || head.find(kind.mark) != std::string::npos;
}

}  // namespace

void CallFiles::reads(std::string_view role, const std::string& path) {
  if (!path.empty()) files_.push_back({std::string(role), path});
}

void CallFiles::writes(std::string_view role, const std::string& path, const FileKind& kind) {
  if (!path.empty()) files_.push_back({std::string(role), path, true, kind});
}

void CallFiles::makes_folder(std::string_view role, const std::string& path) {
  if (!path.empty()) folders_.push_back({std::string(role), path});
}

void CallFiles::check() const {
  for (const Entry& entry : files_) entry.is_written ? check_written(entry) : check_read(entry);
  for (size_t i = 0; i < files_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) check_pair(files_[j], files_[i]);
  }
  for (const Entry& entry : folders_) {
    // The nearest that is there: what is missing below it is made.
    std::error_code failed;
    fs::path there = fs::absolute(entry.path, failed);
    while (!fs::exists(there, failed) && there.has_relative_path()) there = there.parent_path();
    if (fs::is_directory(there, failed)) continue;
    refuse("{} cannot be made: '{}' is not a folder", text_of(entry.role, entry.path), there.string());
  }
}

void CallFiles::check_read(const Entry& entry) {
  std::error_code failed;
  if (fs::is_directory(entry.path, failed)) refuse("{} is a folder: name a file", text_of(entry.role, entry.path));
}

void CallFiles::check_written(const Entry& entry) {
  const std::string what = text_of(entry.role, entry.path);
  const fs::path target = followed(entry.path);
  std::error_code failed;
  if (fs::is_directory(target, failed) || entry.path.back() == '/') refuse("{} is a folder: name a file in it", what);
  if (fs::exists(target, failed)) {
    if (!fs::is_regular_file(target, failed)) refuse("{} is not a regular file: it cannot be replaced", what);
    if (!is_of_kind(target.string(), entry.kind))
      refuse("{} is there and is not {}: it is left alone. Name another file, or remove it", what, entry.kind.name);
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, failed)) {
    throw Failure{
        {ErrorCode::NotFound, fmt::format("cannot write {}: there is no folder '{}'", what, folder.string())}};
  }
  if (access(folder.c_str(), W_OK) != 0)
    throw Failure{{ErrorCode::Io, fmt::format("cannot write {}: {}", what, std::strerror(errno))}};
}

void CallFiles::check_pair(const Entry& a, const Entry& b) {
  if (!(a.is_written || b.is_written) || !is_same_file(a.path, b.path)) return;
  const Entry& written = b.is_written ? b : a;
  refuse("{} and {} are one file: name another for {}", text_of(a.role, a.path), text_of(b.role, b.path), written.role);
}

}  // namespace strop::tool
