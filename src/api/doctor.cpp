#include <unistd.h>

#include "api/impl.h"
#include "api/json.h"
#include "base/files.h"
#include "base/text.h"
#include "kernels/cpu_target.h"
#include "tactics/fingerprint.h"

namespace strop {
namespace {

/// "" where the system does not say.
std::string cpu_model() {
  const auto info = read_file("/proc/cpuinfo");
  if (!info.ok()) return "";
  for (const std::string_view line : split(*info, '\n')) {
    if (line.starts_with("model name") && line.find(':') != std::string_view::npos)
      return std::string(trim(line.substr(line.find(':') + 1)));
  }
  return "";
}

int64_t system_figure(int name) { return std::max<int64_t>(sysconf(name), 0); }

api::Json cpu_json() {
  return {{"kind", "cpu"},
          {"usable", true},
          {"model", cpu_model()},
          {"target", kernels::to_string(kernels::best_cpu_target())},
          {"cpus", available_cpus()},
          {"memory_bytes", system_figure(_SC_PHYS_PAGES) * system_figure(_SC_PAGESIZE)},
          {"l1d_bytes", system_figure(_SC_LEVEL1_DCACHE_SIZE)},
          {"l2_bytes", system_figure(_SC_LEVEL2_CACHE_SIZE)},
          {"l3_bytes", system_figure(_SC_LEVEL3_CACHE_SIZE)}};
}

/// Loading says whether it runs here; what changed since it was built is listed. Error: there is nothing to load.
Result<api::Json> engine_json(const std::string& path) {
  STROP_ASSIGN(const auto file, MappedFile::open(path));
  if (file->size() == 0) return error(ErrorCode::InvalidArgument, "engine '{}' is an empty file", path);
  std::vector<std::string> warnings;
  RuntimeOptions quiet;
  quiet.threads = 1;
  quiet.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::Warning) warnings.emplace_back(message);
  };
  const auto engine = Engine::load(path, Runtime(quiet));
  api::Json json{{"file", path}, {"fits", engine.ok()}};
  if (!engine.ok()) {
    json["reason"] = engine.error().message;
    json["error"] = to_string(engine.error().code);
    return json;
  }
  json["device"] = engine->device();
  json["plan_digest"] = engine->plan_digest();
  const engine::EngineRecord& record = engine->impl().image.record;
  json["fingerprint"] = record.contains("fingerprint") ? record.at("fingerprint") : "";
  json["changes"] = warnings;
  return json;
}

}  // namespace

Result<std::string> doctor_json(const std::string& engine_path) {
  return api::guarded([&]() -> Result<std::string> {
    api::Json json{{"version", version()}, {"fingerprint", tactics::fingerprint()}};
    const api::Json cuda{{"kind", "cuda"}, {"usable", false}, {"reason", "this build of Strop has no CUDA backend"}};
    json["devices"] = api::Json::array({cpu_json(), cuda});
    if (!engine_path.empty()) {
      STROP_ASSIGN(json["engine"], engine_json(engine_path));
    }
    return api::to_text(json);
  });
}

}  // namespace strop
