// strop conformance DIR
#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include "commands.h"
#include "interrupt.h"
#include "numbers.h"
#include "options.h"

namespace strop::tool {
namespace {

struct Options {
  CommonOptions common;
  std::string folder;
  std::string filter;
  std::string device = "cpu";
  double rtol = ConformanceOptions().rtol;
  double atol = ConformanceOptions().atol;
};

const char* name_of(CaseResult result) {
  switch (result) {
    case CaseResult::Passed: return "passed";
    case CaseResult::Failed: return "failed";
    case CaseResult::Unsupported: return "unsupported";
    case CaseResult::Skipped: break;
  }
  return "skipped";
}

void print(const Options& options, const std::vector<ConformanceCase>& cases, bool interrupted) {
  std::map<std::string, int64_t> counts;
  for (const ConformanceCase& item : cases) ++counts[name_of(item.result)];
  if (options.common.json) {
    Json document;
    if (interrupted) document["interrupted"] = true;
    for (const char* result : {"passed", "failed", "unsupported", "skipped"}) document[result] = counts[result];
    document["cases"] = Json::array();
    for (const ConformanceCase& item : cases)
      document["cases"].push_back({{"name", item.name}, {"result", name_of(item.result)}, {"reason", item.reason}});
    return print_json(document);
  }
  for (const ConformanceCase& item : cases) {
    if (item.result != CaseResult::Passed) fmt::print("{}: {}: {}\n", name_of(item.result), item.name, item.reason);
  }
  fmt::print("{} passed, {} failed, {} unsupported, {} skipped\n", counts["passed"], counts["failed"],
             counts["unsupported"], counts["skipped"]);
  if (interrupted) fmt::print("interrupted: these are the cases that were done\n");
}

int run(const Options& options) {
  const Runtime runtime = make_runtime(options.common);
  Interrupt interrupt(runtime);
  interrupt.finish_current();
  CompileFlags flags;
  flags.device = options.device;
  ConformanceOptions conformance;
  conformance.build = build_options(flags);
  conformance.rtol = options.rtol;
  conformance.atol = options.atol;
  conformance.filter = options.filter;
  std::vector<ConformanceCase> cases;  // kept here: an interrupted run returns none
  bool interrupted = false;
  {
    ProgressLine line;
    int64_t failed = 0;
    conformance.on_case = [&, stop = runtime](const ConformanceCase& item) mutable {
      cases.push_back(item);
      failed += item.result == CaseResult::Failed;
      line.show(fmt::format("{} done, {} failed: {}", cases.size(), failed, item.name));
      if (interrupt.happened()) stop.cancel();
    };
    const auto all = run_conformance(options.folder, conformance, runtime);
    interrupted = !all.ok() && all.error().code == ErrorCode::Cancelled;
    if (!all.ok() && (!interrupted || cases.empty())) throw Failure{all.error()};
  }
  if (cases.empty()) refuse("no case of '{}' has '{}' in its name", options.folder, options.filter);
  print(options, cases, interrupted);
  if (interrupted) return exit_code(ErrorCode::Cancelled);
  const auto failed = [](const ConformanceCase& item) { return item.result == CaseResult::Failed; };
  return std::none_of(cases.begin(), cases.end(), failed) ? 0 : 1;
}

}  // namespace

void add_conformance(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("conformance", "Run a folder of ONNX backend tests");
  command.add_option("DIR", options->folder, "Folder of NAME/model.onnx with test data, or of flat models")->required();
  command.add_option("--filter", options->filter, "Only cases with this in their name");
  constexpr Limits<double> kTolerance = {0, std::numeric_limits<double>::max()};
  add_number(command, "--rtol", options->rtol, kTolerance, "Relative tolerance");
  add_number(command, "--atol", options->atol, kTolerance, "Absolute tolerance");
  command.add_option("--device", options->device, "cpu, cuda or cuda:N")->capture_default_str();
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
