// Timing caches as files: merging and showing.
#include <filesystem>

#include "api/impl.h"
#include "api/json.h"
#include "select/timing_cache.h"

namespace strop {
namespace {

Result<select::TimingCache> load_existing(const std::string& path) {
  if (!std::filesystem::exists(path)) return error(ErrorCode::NotFound, "there is no timing cache '{}'", path);
  return select::TimingCache::load(path);
}

}  // namespace

Result<void> merge_timing_caches(const std::vector<std::string>& inputs, const std::string& output) {
  return api::guarded([&]() -> Result<void> {
    select::TimingCache all;
    for (const std::string& path : inputs) {
      STROP_ASSIGN(const select::TimingCache cache, load_existing(path));
      all.merge(cache);
    }
    return all.save(output);
  });
}

Result<std::string> timing_cache_json(const std::string& path) {
  return api::guarded([&]() -> Result<std::string> {
    STROP_ASSIGN(const select::TimingCache cache, load_existing(path));
    api::Json problems = api::Json::array();
    for (const auto& [key, times] : cache.entries())
      problems.push_back(api::Json::parse(select::timing_line(key, times)));
    return api::to_text({{"file", path},
                         {"entries", cache.size()},
                         {"unusable_lines", cache.unusable_lines()},
                         {"problems", std::move(problems)}});
  });
}

}  // namespace strop
