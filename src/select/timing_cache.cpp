#include "select/timing_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace strop::select {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLimitBytes = int64_t{1} << 30;
constexpr const char* kHeaderKey = "strop_timing_cache";

auto identity(const CandidateTime& time) { return std::tie(time.tactic, time.version, time.config); }

int64_t samples(const CandidateTimes& times) {
  int64_t sum = 0;
  for (const CandidateTime& time : times) sum += time.samples;
  return sum;
}

/// Throws Json::exception where something is missing or of another type.
std::pair<TimingKey, CandidateTimes> entry_of(const Json& line) {
  TimingKey key{line.at("problem"), line.at("threads"), line.at("device"), line.at("software"), ""};
  CandidateTimes times;
  for (const Json& item : line.at("candidates")) {
    CandidateTime time;
    time.tactic = item.at("tactic");
    time.version = item.at("version");
    time.config = item.value("config", "");
    time.failure = item.value("failure", "");
    time.us = item.value("us", 0.0);
    time.spread_us = item.value("spread_us", 0.0);
    time.samples = item.value("samples", 0);
    if (!std::isfinite(time.us) || time.us < 0 || time.spread_us < 0 || time.samples < 0)
      throw Json::other_error::create(501, "a time that cannot be", nullptr);
    times.push_back(std::move(time));
  }
  return {std::move(key), std::move(times)};
}

/// The version in the header line, or an error if the text is no timing cache.
Result<int64_t> header_version(std::string_view line, const std::string& name) {
  const Json header = Json::parse(line, nullptr, false);
  if (header.is_object() && header.contains(kHeaderKey) && header[kHeaderKey].is_number_integer())
    return header[kHeaderKey].get<int64_t>();
  return error(ErrorCode::InvalidArgument,
               "'{}' is not a timing cache: it does not begin with {{\"{}\": …}}. Name another file", name, kHeaderKey);
}

/// A file locked against other processes that save to the same path. The lock is on the file itself, which saving
/// replaces: whoever waited for it looks again whether the path still names the file that it locked.
class FileLock {
 public:
  static Result<FileLock> take(const std::string& path) {
    for (;;) {
      const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (descriptor < 0) return error(ErrorCode::Io, "cannot open '{}': {}", path, std::strerror(errno));
      FileLock lock(descriptor);
      if (flock(descriptor, LOCK_EX) != 0)
        return error(ErrorCode::Io, "cannot lock '{}': {}", path, std::strerror(errno));
      struct stat locked {
      }, named{};
      if (fstat(descriptor, &locked) == 0 && stat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
          locked.st_dev == named.st_dev) {
        return lock;
      }
    }
  }
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace

std::string candidates_text(const CandidateTimes& times) {
  std::vector<std::string> texts;
  for (const CandidateTime& time : times)
    texts.push_back(fmt::format("{}@{}{}{}", time.tactic, time.version, time.config.empty() ? "" : " ", time.config));
  std::ranges::sort(texts);
  return join(texts, "; ");
}

double rounded_time(double us) {
  if (us == 0 || !std::isfinite(us)) return 0;
  return std::stod(fmt::format("{:.3e}", us));
}

std::string timing_line(const TimingKey& key, const CandidateTimes& times) {
  Json line;
  line["problem"] = key.problem;
  line["threads"] = key.threads;
  line["candidates"] = Json::array();
  for (const CandidateTime& time : times) {
    Json item;
    item["tactic"] = time.tactic;
    item["version"] = time.version;
    if (!time.config.empty()) item["config"] = time.config;
    if (time.failure.empty()) {
      item["us"] = time.us;
      item["spread_us"] = time.spread_us;
      item["samples"] = time.samples;
    } else {
      item["failure"] = time.failure;
    }
    line["candidates"].push_back(std::move(item));
  }
  line["device"] = key.device;
  line["software"] = key.software;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<TimingCache> TimingCache::load(const std::string& path) {
  if (!std::filesystem::exists(path)) return TimingCache();
  STROP_ASSIGN(const std::string text, read_file(path, kLimitBytes));
  return parse(text, path);
}

Result<TimingCache> TimingCache::parse(std::string_view text, const std::string& name) {
  TimingCache cache;
  bool first = true;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty()) continue;
    if (first) {
      STROP_ASSIGN(const int64_t version, header_version(line, name));
      cache.newer_ = version > kTimingCacheVersion;
      first = false;
      continue;
    }
    if (cache.newer_) {
      ++cache.unusable_lines_;
      continue;
    }
    try {
      auto [key, times] = entry_of(Json::parse(line));
      cache.insert(key, std::move(times));
    } catch (const Json::exception&) {
      ++cache.unusable_lines_;
    }
  }
  return cache;
}

const CandidateTimes* TimingCache::find(const TimingKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

void TimingCache::insert(TimingKey key, CandidateTimes times) {
  std::ranges::sort(times, {}, identity);
  key.candidates = candidates_text(times);
  const auto [found, inserted] = entries_.try_emplace(std::move(key), times);
  if (inserted) return;
  const int64_t there = samples(found->second), here = samples(times);
  if (here > there || (here == there && times < found->second)) found->second = std::move(times);
}

void TimingCache::merge(const TimingCache& other) {
  for (const auto& [key, times] : other.entries_) insert(key, times);
}

std::string TimingCache::text() const {
  std::string text = Json{{kHeaderKey, kTimingCacheVersion}}.dump() + "\n";
  for (const auto& [key, times] : entries_) text += timing_line(key, times) + "\n";
  return text;
}

Result<void> TimingCache::save(const std::string& path) {
  const bool existed = std::filesystem::exists(path);
  STROP_ASSIGN(const FileLock lock, FileLock::take(path));
  STROP_ASSIGN(const std::string old, read_file(path, kLimitBytes));
  STROP_ASSIGN(const TimingCache there, parse(old, path));
  if (there.is_newer()) {
    return error(ErrorCode::InvalidArgument,
                 "timing cache '{}' is a newer Strop's and would be lost: name another file", path);
  }
  merge(there);
  const std::string now = text();
  if (existed && now == old) return {};
  return write_file_atomically(path, now);
}

}  // namespace strop::select
