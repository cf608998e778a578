// strop cache merge FILE… -o FILE · strop cache show FILE
#include <memory>

#include "commands.h"
#include "options.h"

namespace strop::tool {
namespace {

struct Options {
  CommonOptions common;
  std::vector<std::string> inputs;
  std::string output;
  std::string file;
};

int merge(const Options& options) {
  if (options.output.empty()) refuse("--output: name a file");
  CallFiles files;
  for (const std::string& input : options.inputs) files.reads("FILE", input);
  files.writes("--output", options.output, kTimingCache);
  files.check();
  or_fail(merge_timing_caches(options.inputs, options.output));
  const Json merged = Json::parse(or_fail(timing_cache_json(options.output)));
  if (options.common.json) {
    print_json({{"file", options.output}, {"entries", merged["entries"]}});
  } else {
    fmt::print("{}: {} problems\n", options.output, merged["entries"].get<int64_t>());
  }
  return 0;
}

std::string text_or(const Json& item, const char* key, const std::string& otherwise) {
  return item.contains(key) ? item[key].get<std::string>() : otherwise;
}

int show(const Options& options) {
  const Json document = Json::parse(or_fail(timing_cache_json(options.file)));
  if (options.common.json) {
    print_json(document);
    return 0;
  }
  for (const Json& problem : document["problems"]) {
    fmt::print("{}\n  {} threads, {}, {}\n", problem["problem"].get<std::string>(), problem["threads"].get<int>(),
               problem["device"].get<std::string>(), problem["software"].get<std::string>());
    std::vector<std::vector<std::string>> rows;
    for (const Json& item : problem["candidates"]) {
      const bool timed = item.contains("us");
      rows.push_back({"  " + item["tactic"].get<std::string>(), text_or(item, "config", ""),
                      timed ? fmt::format("{} ± {}", item["us"].get<double>(), item["spread_us"].get<double>()) : "",
                      timed ? std::to_string(item["samples"].get<int>()) : text_or(item, "failure", "")});
    }
    print_table({"  tactic", "config", "µs", "rounds"}, rows);
  }
  fmt::print("{}: {} problems, {} lines that cannot be used\n", options.file, document["entries"].get<int64_t>(),
             document["unusable_lines"].get<int64_t>());
  return 0;
}

}  // namespace

void add_cache(CLI::App& app, Job& job) {
  CLI::App& command = *app.add_subcommand("cache", "Merge or show timing caches");
  command.require_subcommand(1);
  const auto options = std::make_shared<Options>();
  CLI::App& merging = *command.add_subcommand("merge", "Merge files into one");
  merging.add_option("FILE", options->inputs, "Timing caches")->required();
  merging.add_option("-o,--output", options->output, "Where to; what it holds already stays")->required();
  add_common(merging, options->common);
  merging.callback([options, &job] { job = [options] { return merge(*options); }; });
  CLI::App& showing = *command.add_subcommand("show", "Problems with their candidates and times");
  showing.add_option("FILE", options->file, "A timing cache")->required();
  add_common(showing, options->common);
  showing.callback([options, &job] { job = [options] { return show(*options); }; });
}

}  // namespace strop::tool
