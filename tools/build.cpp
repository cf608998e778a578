// strop build MODEL -o ENGINE
#include <chrono>
#include <filesystem>
#include <memory>

#include "commands.h"
#include "engine_source.h"
#include "interrupt.h"

namespace strop::tool {
namespace {

struct Options {
  CommonOptions common;
  CompileFlags compile;
  std::string model;
  std::string engine;
};

// Found out before the work rather than after it.
void check_files(const Options& options) {
  if (options.engine.empty()) refuse("--output: name a file");
  CallFiles files;
  files.reads("MODEL", options.model);
  files.writes("--output", options.engine, kEngineFile);
  add_files(files, options.compile);
  files.check();
  if (is_engine_file(options.model)) refuse("MODEL '{}' is an engine: there is nothing to build", options.model);
}

void print(const Options& options, const Json& document) {
  if (options.common.json) return print_json(document);
  fmt::print("{}: {} steps on {}, weights {}, built in {:.2f} s\n", options.engine, document["steps"].get<int64_t>(),
             document["device"].get<std::string>(), human_bytes(document["weight_bytes"].get<int64_t>()),
             document["seconds"].get<double>());
}

int run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  check_files(options);
  const Runtime runtime = make_runtime(options.common);
  const Interrupt interrupt(runtime);
  const Clock::time_point begin = Clock::now();
  const Engine engine = compile(options.model, options.compile, runtime);
  or_fail(engine.save(options.engine));
  const std::chrono::duration<double> taken = Clock::now() - begin;
  const Json plan = Json::parse(or_fail(engine.inspect_json()));
  Json document{{"model", options.model},
                {"engine", options.engine},
                {"device", engine.device()},
                {"plan_digest", engine.plan_digest()},
                {"file_digest", engine.file_digest()},
                {"bytes", static_cast<int64_t>(std::filesystem::file_size(options.engine))},
                {"steps", plan["step_count"]},
                {"seconds", taken.count()}};
  for (const char* key : {"route", "precision", "weight_bytes", "arena_bytes", "inputs", "outputs"})
    document[key] = plan[key];
  print(options, document);
  return 0;
}

}  // namespace

void add_build(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("build", "Compile a model into an engine");
  command.add_option("MODEL", options->model, "ONNX file")->required();
  command.add_option("-o,--output", options->engine, "Engine file to write")->required();
  add_compile(command, options->compile);
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
