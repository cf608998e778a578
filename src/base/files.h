/// Files: read as a whole, mapped, or replaced atomically. Errors name the file and the cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace strop {

/// A regular file mapped read-only. Whoever shares the object keeps the bytes alive.
/// A file that someone truncates while it is mapped ends the process when the lost pages are read (SIGBUS): Strop's own
/// files are never changed in place, only replaced.
class MappedFile {
 public:
  /// Errors: NotFound if missing; InvalidArgument for a folder or device; Io if it may not be read. An empty file has
  /// no bytes.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Page-aligned.
  std::span<const std::byte> bytes() const { return bytes_; }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes) : path_(std::move(path)), bytes_(bytes) {}
  std::string path_;
  std::span<const std::byte> bytes_;
};

/// The contents of a file, a pipe or a device. More than `limit_bytes` is an error, so that /dev/zero ends too.
Result<std::string> read_file(const std::string& path, int64_t limit_bytes = int64_t{1} << 32);

/// Writes a file that appears under its name complete or not at all: the bytes go to a temporary file in the same
/// folder, which commit() syncs and renames. A symbolic link keeps pointing to where it did. Without commit() the
/// destructor removes the temporary file and what was there before remains. Not for several threads at once.
class AtomicFileWriter {
 public:
  /// Errors: NotFound if the folder is missing; InvalidArgument where `path` is a folder or device; Io if it cannot be
  /// written.
  static Result<AtomicFileWriter> create(const std::string& path);
  AtomicFileWriter(AtomicFileWriter&& other) noexcept;
  AtomicFileWriter& operator=(AtomicFileWriter&&) = delete;
  ~AtomicFileWriter();

  /// Small pieces are gathered; an error may therefore come with a later call.
  Result<void> append(std::span<const std::byte> bytes);
  Result<void> append(std::string_view text);
  /// Replaces bytes that were appended before; the range must lie below size().
  Result<void> overwrite(int64_t offset, std::span<const std::byte> bytes);
  /// Bytes appended so far.
  int64_t size() const { return size_; }
  /// Makes the file durable under its name. Nothing may be appended afterwards.
  Result<void> commit();

 private:
  AtomicFileWriter(std::string path, std::string target, std::string temporary, int descriptor);
  Result<void> flush();
  void discard();

  std::string path_;       // as the caller named it
  std::string target_;     // with symbolic links resolved
  std::string temporary_;  // empty once committed or moved from
  std::string pending_;    // appended, not yet written
  int64_t size_ = 0;
  int descriptor_ = -1;
};

/// AtomicFileWriter for contents that are at hand: the pieces one after another.
Result<void> write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> pieces);
Result<void> write_file_atomically(const std::string& path, std::string_view text);

}  // namespace strop
