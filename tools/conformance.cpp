// strop conformance DIR
#include <map>
#include <memory>

#include "commands.h"
#include "interrupt.h"
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

void print(const Options& options, const std::vector<ConformanceCase>& cases, std::map<std::string, int64_t> counts) {
  if (options.common.json) {
    Json document;
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
}

int run(const Options& options) {
  const Runtime runtime = make_runtime(options.common);
  const Interrupt interrupt(runtime);
  CompileFlags flags;
  flags.device = options.device;
  ConformanceOptions conformance;
  conformance.build = build_options(flags);
  conformance.rtol = options.rtol;
  conformance.atol = options.atol;
  conformance.filter = options.filter;
  std::map<std::string, int64_t> counts;
  std::vector<ConformanceCase> cases;
  {
    ProgressLine line;
    conformance.on_case = [&](const ConformanceCase& item) {
      ++counts[name_of(item.result)];
      line.show(fmt::format("{} passed, {} failed: {}", counts["passed"], counts["failed"], item.name));
    };
    cases = or_fail(run_conformance(options.folder, conformance, runtime));
  }
  if (cases.empty()) refuse("no case of '{}' has '{}' in its name", options.folder, options.filter);
  print(options, cases, counts);
  return counts["failed"] == 0 ? 0 : 1;
}

}  // namespace

void add_conformance(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("conformance", "Run a folder of ONNX backend tests");
  command.add_option("DIR", options->folder, "Folder of NAME/model.onnx with test data, or of flat models")->required();
  command.add_option("--filter", options->filter, "Only cases with this in their name");
  command.add_option("--rtol", options->rtol, "Relative tolerance")->capture_default_str();
  command.add_option("--atol", options->atol, "Absolute tolerance")->capture_default_str();
  command.add_option("--device", options->device, "cpu, cuda or cuda:N")->capture_default_str();
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
