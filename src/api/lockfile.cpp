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

ShapeProfile profile_of(const Json& json) { return {json.at("min"), json.at("opt"), json.at("max")}; }

/// Throws Json::exception where something is missing or of another type.
Lockfile lockfile_of(const Json& json) {
  Lockfile lock;
  lock.software = json.at("software");
  lock.device = json.at("device");
  lock.threads = json.at("threads");
  lock.model_digest = json.at("model_digest");
  lock.plan_digest = json.at("plan_digest");
  lock.file_digest = json.at("file_digest");
  const Json& options = json.at("options");
  lock.options.route = options.at("route");
  lock.options.outputs = options.at("outputs");
  for (const auto& [name, profile] : options.at("shapes").items()) lock.options.shapes[name] = profile_of(profile);
  for (const auto& [name, format] : options.at("io").items()) {
    PortFormat& port = lock.options.io[name];
    port.layout = format.at("layout");
    port.dtype = parse_dtype(format.at("dtype").get<std::string>()).value_or(DType::Undefined);
  }
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
  if (json[kVersionKey].get<int>() > kLockfileVersion)
    return error(ErrorCode::InvalidArgument, "'{}' is the lockfile of a newer Strop: rebuild with that", path);
  try {
    Lockfile lock = lockfile_of(json);
    std::string lines = select::TimingCache().text();
    for (const Json& line : json.at("times")) lines += to_text(line) + "\n";
    STROP_ASSIGN(lock.times, select::TimingCache::parse(lines, path));
    if (lock.times.unusable_lines() > 0)
      return error(ErrorCode::InvalidArgument, "'{}' is damaged: {} of its times cannot be read", path,
                   lock.times.unusable_lines());
    return lock;
  } catch (const Json::exception& exception) {
    return error(ErrorCode::InvalidArgument, "'{}' is damaged: {}", path, exception.what());
  }
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
