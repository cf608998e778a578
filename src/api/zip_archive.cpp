#include "api/zip_archive.h"

#include <zip.h>

#include <memory>

namespace strop::api {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 36;

Error zip_failure(const std::string& path, std::string_view cause) {
  return error(ErrorCode::InvalidArgument, "'{}' cannot be read as a zip archive: {}", path, cause);
}

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

Result<std::unique_ptr<zip_t, CloseArchive>> open_archive(const std::string& path) {
  int code = 0;
  std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive) return archive;
  zip_error_t failure;
  zip_error_init_with_code(&failure, code);
  const std::string cause = zip_error_strerror(&failure);
  zip_error_fini(&failure);
  return zip_failure(path, cause);
}

Result<std::string> read_entry(zip_t* archive, const std::string& path, const zip_stat_t& info) {
  const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen_index(archive, info.index, 0));
  if (!entry) return zip_failure(path, zip_strerror(archive));
  std::string bytes(info.size, '\0');
  uint64_t done = 0;
  while (done < info.size) {
    const zip_int64_t got = zip_fread(entry.get(), bytes.data() + done, info.size - done);
    if (got <= 0) return zip_failure(path, got < 0 ? zip_file_strerror(entry.get()) : "an entry ends early");
    done += static_cast<uint64_t>(got);
  }
  char beyond = 0;  // the checksum is compared at the end of the entry
  if (zip_fread(entry.get(), &beyond, 1) != 0) return zip_failure(path, zip_file_strerror(entry.get()));
  return bytes;
}

}  // namespace

Result<std::map<std::string, std::string>> read_zip(const std::string& path) {
  STROP_ASSIGN(const auto archive, open_archive(path));
  std::map<std::string, std::string> entries;
  uint64_t total = 0;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    zip_stat_t info;
    zip_stat_init(&info);
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &info) != 0)
      return zip_failure(path, zip_strerror(archive.get()));
    const std::string name = info.name;
    if (name.ends_with('/')) continue;  // a folder
    if (info.size > kMaxBytes || (total += info.size) > kMaxBytes)
      return zip_failure(path, "it holds more than 64 GiB");
    STROP_ASSIGN(std::string bytes, read_entry(archive.get(), path, info));
    if (!entries.emplace(name, std::move(bytes)).second) return zip_failure(path, "an entry is there twice");
  }
  return entries;
}

}  // namespace strop::api
