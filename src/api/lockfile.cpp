#include "api/lockfile.h"

#include "api/json.h"
#include "base/files.h"
#include "base/text.h"
#include "tactics/fingerprint.h"

namespace strop::api {
namespace {

constexpr int kLockfileVersion = 1;
constexpr const char* kVersionKey = "strop_lockfile";
constexpr int64_t kLimitBytes = int64_t{1} << 28;

Json profile_json(const ShapeProfile& profile) {
  return {{"min", profile.min}, {"opt", profile.opt}, {"max", profile.max}};
}

/// An object of the file; `place` is how messages call it: "" for the whole, "options".
struct Section {
  const Json& json;
  std::string place;
  std::string name_of(const char* key) const { return place.empty() ? key : place + "." + key; }
};

Error damaged(const std::string& what) {
  return error(ErrorCode::InvalidArgument, "{}: write it again with --write-lockfile", what);
}

/// One field of a section. Error: it is missing, or not what `kind` says.
template <class T>
Result<T> field(const Section& section, const char* key, std::string_view kind) {
  const auto found = section.json.find(key);
  if (found == section.json.end()) return damaged(fmt::format("'{}' is missing", section.name_of(key)));
  try {
    if constexpr (std::is_integral_v<T>) {
      if (!found->is_number_integer()) return damaged(fmt::format("'{}' is not {}", section.name_of(key), kind));
    }
    return found->template get<T>();
  } catch (const Json::exception&) {
    return damaged(fmt::format("'{}' is not {}", section.name_of(key), kind));
  }
}

Result<std::string> text_field(const Section& section, const char* key) {
  return field<std::string>(section, key, "a text");
}

Result<Json> object(const Section& section, const char* key) {
  STROP_ASSIGN(Json json, field<Json>(section, key, "an object"));
  if (!json.is_object()) return damaged(fmt::format("'{}' is not an object", section.name_of(key)));
  return json;
}

Result<ShapeProfile> profile_of(const Section& section) {
  if (!section.json.is_object()) return damaged(fmt::format("'{}' is not an object", section.place));
  using Dims = std::vector<int64_t>;
  ShapeProfile profile;
  STROP_ASSIGN(profile.min, field<Dims>(section, "min", "a list of sizes"));
  STROP_ASSIGN(profile.opt, field<Dims>(section, "opt", "a list of sizes"));
  STROP_ASSIGN(profile.max, field<Dims>(section, "max", "a list of sizes"));
  return profile;
}

Result<PortFormat> format_of(const Section& section) {
  if (!section.json.is_object()) return damaged(fmt::format("'{}' is not an object", section.place));
  PortFormat port;
  STROP_ASSIGN(port.layout, text_field(section, "layout"));
  STROP_ASSIGN(const std::string dtype, text_field(section, "dtype"));
  if (dtype.empty()) return port;
  const auto parsed = parse_dtype(dtype);
  if (!parsed) return damaged(fmt::format("'{}' is not an element type", section.name_of("dtype")));
  port.dtype = *parsed;
  return port;
}

Result<BuildOptions> options_of(const Section& section) {
  BuildOptions options;
  STROP_ASSIGN(options.route, text_field(section, "route"));
  STROP_ASSIGN(options.outputs, field<std::vector<std::string>>(section, "outputs", "a list of names"));
  STROP_ASSIGN(const Json shapes, object(section, "shapes"));
  for (const auto& [name, profile] : shapes.items()) {
    STROP_ASSIGN(options.shapes[name], profile_of({profile, fmt::format("options.shapes.{}", name)}));
  }
  STROP_ASSIGN(const Json io, object(section, "io"));
  for (const auto& [name, format] : io.items()) {
    STROP_ASSIGN(options.io[name], format_of({format, fmt::format("options.io.{}", name)}));
  }
  return options;
}

Result<select::TimingCache> times_of(const Section& section) {
  STROP_ASSIGN(const Json list, field<Json>(section, "times", "a list"));
  if (!list.is_array()) return damaged("'times' is not a list");
  std::string lines = select::TimingCache().text();
  for (const Json& line : list) lines += to_text(line) + "\n";
  STROP_ASSIGN(select::TimingCache times, select::TimingCache::parse(lines, "times"));
  if (times.unusable_lines() > 0) return damaged(fmt::format("{} of its times cannot be read", times.unusable_lines()));
  return times;
}

Result<Lockfile> lockfile_of(const Json& json) {
  constexpr int kMostThreads = 1024;
  const Section whole{json, ""};
  Lockfile lock;
  STROP_ASSIGN(lock.software, text_field(whole, "software"));
  STROP_ASSIGN(lock.device, text_field(whole, "device"));
  STROP_ASSIGN(const auto threads, field<int64_t>(whole, "threads", "a whole number"));
  if (threads < 1 || threads > kMostThreads)
    return damaged(fmt::format("'threads' is {}, not from 1 to {}", threads, kMostThreads));
  lock.threads = static_cast<int>(threads);
  STROP_ASSIGN(lock.model_digest, text_field(whole, "model_digest"));
  STROP_ASSIGN(lock.plan_digest, text_field(whole, "plan_digest"));
  STROP_ASSIGN(lock.file_digest, text_field(whole, "file_digest"));
  STROP_ASSIGN(const Json options, object(whole, "options"));
  STROP_ASSIGN(lock.options, options_of({options, "options"}));
  STROP_ASSIGN(lock.times, times_of(whole));
  return lock;
}

}  // namespace

Lockfile lockfile_of(const BuildOptions& options, const compiler::Compiled& compiled, const Engine& engine) {
  Lockfile lock;
  lock.software = tactics::fingerprint();
  lock.device = compiled.device;
  lock.threads = compiled.threads;
  lock.model_digest = compiled.image.record.at("model_digest");
  lock.plan_digest = engine.plan_digest();
  lock.file_digest = engine.file_digest();
  lock.options.shapes = options.shapes;
  lock.options.io = options.io;
  lock.options.outputs = options.outputs;
  lock.options.route = compiled.image.record.at("route_full");
  lock.times = compiled.used;
  return lock;
}

Result<void> write_lockfile(const Lockfile& lock, const std::string& path) {
  Json shapes = Json::object(), io = Json::object(), times = Json::array();
  for (const auto& [name, profile] : lock.options.shapes) shapes[name] = profile_json(profile);
  for (const auto& [name, format] : lock.options.io)
    io[name] = {{"dtype", format.dtype == DType::Undefined ? "" : to_string(format.dtype)}, {"layout", format.layout}};
  for (const auto& [key, candidates] : lock.times.entries())
    times.push_back(Json::parse(select::timing_line(key, candidates)));
  const Json json{
      {kVersionKey, kLockfileVersion},
      {"software", lock.software},
      {"device", lock.device},
      {"threads", lock.threads},
      {"model_digest", lock.model_digest},
      {"plan_digest", lock.plan_digest},
      {"file_digest", lock.file_digest},
      {"options", {{"shapes", shapes}, {"io", io}, {"outputs", lock.options.outputs}, {"route", lock.options.route}}},
      {"times", times}};
  return write_file_atomically(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<Lockfile> read_lockfile(const std::string& path) {
  STROP_ASSIGN(const std::string text, read_file(path, kLimitBytes));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains(kVersionKey) || !json[kVersionKey].is_number_integer())
    return error(ErrorCode::InvalidArgument, "'{}' is not a lockfile: --write-lockfile makes them", path);
  if (json[kVersionKey].get<int64_t>() > kLockfileVersion)
    return error(ErrorCode::InvalidArgument, "'{}' is the lockfile of a newer Strop: rebuild with that", path);
  auto lock = lockfile_of(json);
  if (!lock.ok()) return error(lock.error().code, "lockfile '{}' is damaged: {}", path, lock.error().message);
  return lock;
}

Result<BuildOptions> locked_options(const Lockfile& lock, const std::string& path, const BuildOptions& options) {
  std::vector<std::string> given;
  if (!options.shapes.empty()) given.emplace_back("shapes");
  if (!options.io.empty()) given.emplace_back("io");
  if (!options.outputs.empty()) given.emplace_back("outputs");
  if (!options.route.empty()) given.emplace_back("route");
  if (!options.timing_cache.empty()) given.emplace_back("timing cache");
  if (options.effort != BuildOptions().effort) given.emplace_back("effort");
  if (!given.empty())
    return error(ErrorCode::InvalidArgument, "lockfile '{}' decides {}: leave that out", path, join(given, ", "));
  if (lock.software != tactics::fingerprint()) {
    return error(ErrorCode::InvalidArgument, "lockfile '{}' is of '{}', this is '{}', which gives another engine", path,
                 lock.software, tactics::fingerprint());
  }
  BuildOptions locked = options;
  locked.shapes = lock.options.shapes;
  locked.io = lock.options.io;
  locked.outputs = lock.options.outputs;
  locked.route = lock.options.route;
  locked.effort = 0;  // times of the lockfile where there are any; where it has none, ranks decided then as now
  return locked;
}

}  // namespace strop::api
