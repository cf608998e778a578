#include "base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <system_error>

#include "base/check.h"

namespace strop {
namespace {

constexpr size_t kGatherBytes = size_t{1} << 18;

/// "cannot VERB 'PATH': CAUSE", with the code that fits errno.
Error file_error(std::string_view verb, std::string_view path, int number) {
  const bool missing = number == ENOENT || number == ENOTDIR;
  const ErrorCode code = missing            ? ErrorCode::NotFound
                         : number == EISDIR ? ErrorCode::InvalidArgument  // the wrong name, not a fault of the disk
                                            : ErrorCode::Io;
  return error(code, "cannot {} '{}': {}", verb, path, std::generic_category().message(number));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

// 0, or errno.
int write_all(int descriptor, const char* data, size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(descriptor, data, count);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    data += written;
    count -= static_cast<size_t>(written);
  }
  return 0;
}

int write_all_at(int descriptor, const char* data, size_t count, off_t offset) {
  while (count > 0) {
    const ssize_t written = ::pwrite(descriptor, data, count, offset);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    data += written;
    offset += written;
    count -= static_cast<size_t>(written);
  }
  return 0;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string resolve_links(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;  // does not exist yet
  std::string target(resolved);
  std::free(resolved);
  return target;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe nobody writes to would wait for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return file_error("read", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return file_error("read", path, errno);
  if (S_ISDIR(status.st_mode)) return file_error("read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) return error(ErrorCode::InvalidArgument, "cannot read '{}': not a regular file", path);
  std::span<const std::byte> bytes;
  if (const auto size = static_cast<size_t>(status.st_size); size > 0) {
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) return file_error("map", path, errno);
    bytes = {static_cast<const std::byte*>(data), size};
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::string> read_file(const std::string& path, int64_t limit_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return file_error("read", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return file_error("read", path, errno);
  std::string contents;
  size_t used = 0;
  // One byte more than the size, so that the end is seen without growing.
  size_t room = static_cast<size_t>(std::min(std::max<int64_t>(status.st_size, 4095), limit_bytes)) + 1;
  while (true) {
    contents.resize(room);
    const ssize_t got = ::read(file.get(), contents.data() + used, room - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read", path, errno);
    if (got == 0) break;
    used += static_cast<size_t>(got);
    if (static_cast<int64_t>(used) > limit_bytes) {
      return error(ErrorCode::Io, "cannot read '{}': more than {} bytes", path, limit_bytes);
    }
    if (used == room) room = std::min(room * 2, static_cast<size_t>(limit_bytes) + 1);
  }
  contents.resize(used);
  return contents;
}

Result<AtomicFileWriter> AtomicFileWriter::create(const std::string& path) {
  if (path.empty()) return error(ErrorCode::InvalidArgument, "cannot write a file without a name");
  const std::string target = resolve_links(path);
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return file_error("write", path, EISDIR);
    // Renaming over a device would replace it.
    if (!S_ISREG(status.st_mode))
      return error(ErrorCode::InvalidArgument, "cannot write '{}': not a regular file", path);
  } else if (path.back() == '/') {
    return file_error("write", path, EISDIR);
  }
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temporary = fmt::format("{}/.strop-{:08x}{:08x}.tmp", folder_of(target), random(), random());
    const int descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return AtomicFileWriter(path, target, std::move(temporary), descriptor);
    if (errno != EEXIST) return file_error("write", path, errno);
  }
  return file_error("write", path, EEXIST);
}

AtomicFileWriter::AtomicFileWriter(std::string path, std::string target, std::string temporary, int descriptor)
    : path_(std::move(path)), target_(std::move(target)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFileWriter::AtomicFileWriter(AtomicFileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, std::string())),
      pending_(std::move(other.pending_)),
      size_(other.size_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFileWriter::~AtomicFileWriter() { discard(); }

void AtomicFileWriter::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

Result<void> AtomicFileWriter::append(std::span<const std::byte> bytes) {
  STROP_CHECK(descriptor_ >= 0, "appending to a committed file");
  const char* data = reinterpret_cast<const char*>(bytes.data());
  size_ += static_cast<int64_t>(bytes.size());
  if (pending_.size() + bytes.size() <= kGatherBytes) {
    pending_.append(data, bytes.size());
    return {};
  }
  STROP_TRY(flush());
  if (const int number = write_all(descriptor_, data, bytes.size()); number != 0) {
    return file_error("write", path_, number);
  }
  return {};
}

Result<void> AtomicFileWriter::append(std::string_view text) {
  return append(std::as_bytes(std::span(text.data(), text.size())));
}

Result<void> AtomicFileWriter::overwrite(int64_t offset, std::span<const std::byte> bytes) {
  STROP_CHECK(descriptor_ >= 0, "writing to a committed file");
  STROP_CHECK(offset >= 0 && offset <= size_ && static_cast<int64_t>(bytes.size()) <= size_ - offset);
  STROP_TRY(flush());
  const char* data = reinterpret_cast<const char*>(bytes.data());
  if (const int number = write_all_at(descriptor_, data, bytes.size(), offset); number != 0) {
    return file_error("write", path_, number);
  }
  return {};
}

Result<void> AtomicFileWriter::flush() {
  const int number = write_all(descriptor_, pending_.data(), pending_.size());
  pending_.clear();
  if (number != 0) return file_error("write", path_, number);
  return {};
}

Result<void> AtomicFileWriter::commit() {
  STROP_CHECK(descriptor_ >= 0, "committed twice");
  STROP_TRY(flush());
  if (::fsync(descriptor_) != 0) return file_error("write", path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) return file_error("write", path_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return file_error("write", path_, errno);
  temporary_.clear();
  // The new name is durable only once the folder is.
  const Descriptor folder(::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return {};  // a folder that may be written but not read: nothing more can be done
  if (::fsync(folder.get()) != 0 && errno != EINVAL) return file_error("write", path_, errno);
  return {};
}

Result<void> write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  STROP_ASSIGN(AtomicFileWriter writer, AtomicFileWriter::create(path));
  for (const auto piece : pieces) STROP_TRY(writer.append(piece));
  return writer.commit();
}

Result<void> write_file_atomically(const std::string& path, std::string_view text) {
  const std::span<const std::byte> piece = std::as_bytes(std::span(text.data(), text.size()));
  return write_file_atomically(path, std::span(&piece, 1));
}

}  // namespace strop
