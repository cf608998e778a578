#include "onnx/external_data.h"

#include <charconv>

#include "base/files.h"
#include "onnx/names.h"

namespace strop::onnx {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<uint64_t> parse_number(std::string_view key, std::string_view text) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  return error(ErrorCode::InvalidModel, "has external data with {} {}, which is not a number", key, quote(text));
}

Result<Entry> parse_entries(const KeyValues& entries) {
  Entry result;
  for (const auto& [key, value] : entries) {
    if (key == "location") result.location = value;
    if (key == "offset") {
      STROP_ASSIGN(result.offset, parse_number(key, value));
    } else if (key == "length") {
      STROP_ASSIGN(result.length, parse_number(key, value));
    }
  }
  if (result.location.empty()) return error(ErrorCode::InvalidModel, "has external data without a location");
  return result;
}

/// A path that lexically stays below where it starts.
bool stays_inside(const fs::path& path) {
  if (path.is_absolute() || path.has_root_name()) return false;
  for (const fs::path& part : path) {
    if (part == "..") return false;
  }
  return true;
}

bool is_prefix(const fs::path& folder, const fs::path& path) {
  auto at = path.begin();
  for (const fs::path& part : folder) {
    if (at == path.end() || *at != part) return false;
    ++at;
  }
  return true;
}

}  // namespace

Result<ExternalFiles::File> ExternalFiles::open(std::string_view location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  if (!folder_) {
    return error(ErrorCode::InvalidArgument, "is external data in {}, but the model came without a folder",
                 quote(location));
  }
  const fs::path relative{std::string(location)};
  if (location.find('\0') != std::string_view::npos || !stays_inside(relative)) {
    return error(ErrorCode::InvalidModel, "is external data in {}; only relative paths without '..' are allowed",
                 quote(location));
  }
  std::error_code failure;
  const fs::path folder = fs::canonical(folder_->empty() ? fs::path(".") : *folder_, failure);
  if (failure)
    return error(ErrorCode::NotFound, "is external data, but folder {} is missing", quote(folder_->string()));
  const fs::path path = fs::canonical(folder / relative, failure);
  if (failure) return error(ErrorCode::NotFound, "is external data in {}: {}", quote(location), failure.message());
  if (!is_prefix(folder, path)) {
    return error(ErrorCode::InvalidModel, "is external data in {}, a link that leaves the model's folder",
                 quote(location));
  }
  STROP_ASSIGN(const auto mapped, MappedFile::open(path.string()));
  File file{mapped->text().data(), static_cast<uint64_t>(mapped->size()), mapped};
  return files_.emplace(location, std::move(file)).first->second;
}

Result<ExternalBytes> ExternalFiles::find(const KeyValues& entries, int64_t bytes) {
  STROP_ASSIGN(const Entry entry, parse_entries(entries));
  const auto needed = static_cast<uint64_t>(bytes);
  if (entry.length && *entry.length != needed) {
    return error(ErrorCode::InvalidModel, "has {} bytes of external data where its type and shape need {}",
                 *entry.length, needed);
  }
  STROP_ASSIGN(const File file, open(entry.location));
  if (entry.offset > file.size || file.size - entry.offset < needed) {
    return error(ErrorCode::InvalidModel, "is external data at bytes [{}, +{}) of {}, which has {} bytes", entry.offset,
                 needed, quote(entry.location), file.size);
  }
  return ExternalBytes{file.data + entry.offset, file.owner};
}

}  // namespace strop::onnx
