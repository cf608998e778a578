// strop doctor [ENGINE]
#include <memory>

#include "commands.h"
#include "engine_source.h"
#include "options.h"

namespace strop::tool {
namespace {

struct Options {
  CommonOptions common;
  std::string engine;
};

void print(const Json& document) {
  fmt::print("{}\n", document["fingerprint"].get<std::string>());
  for (const Json& device : document["devices"]) {
    const std::string kind = device["kind"].get<std::string>();
    if (!device["usable"].get<bool>()) {
      fmt::print("{}: not usable: {}\n", kind, device["reason"].get<std::string>());
      continue;
    }
    fmt::print("{}: {}, {} CPUs, {}, memory {}\n", kind, device["model"].get<std::string>(), device["cpus"].get<int>(),
               device["target"].get<std::string>(), human_bytes(device["memory_bytes"].get<int64_t>()));
  }
  if (!document.contains("engine")) return;
  const Json& engine = document["engine"];
  if (!engine["fits"].get<bool>()) return fmt::print("engine does not fit: {}\n", engine["reason"].get<std::string>());
  fmt::print("{} fits\n", engine["file"].get<std::string>());
  for (const Json& change : engine["changes"]) fmt::print("changed since: {}\n", change.get<std::string>());
}

int run(const Options& options) {
  if (!options.engine.empty() && !is_engine_file(options.engine))
    refuse("'{}' is not an engine: strop build makes them", options.engine);
  const Json document = Json::parse(or_fail(doctor_json(options.engine)));
  if (options.common.json) {
    print_json(document);
  } else {
    print(document);
  }
  return document.contains("engine") && !document["engine"]["fits"].get<bool>() ? 1 : 0;
}

}  // namespace

void add_doctor(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("doctor", "Show what this machine offers, and whether an engine fits it");
  command.add_option("ENGINE", options->engine, "Engine file");
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
