// strop verify ENGINE --model MODEL
#include <algorithm>
#include <limits>
#include <memory>

#include "commands.h"
#include "engine_source.h"
#include "interrupt.h"
#include "numbers.h"
#include "tensors.h"

namespace strop::tool {
namespace {

struct Options {
  CommonOptions common;
  InputOptions inputs;
  std::string engine;
  std::string model;
  std::string references;
  std::vector<std::string> shapes;
  std::string metric = "rel_l2";
  std::string limit;  // "": the metric's own
};

constexpr std::pair<const char*, Metric> kMetrics[] = {{"l0", Metric::L0},        {"l1", Metric::L1},
                                                       {"l2", Metric::L2},        {"linf", Metric::Linf},
                                                       {"rel_l2", Metric::RelL2}, {"cos", Metric::Cos}};

Metric parse_metric(const std::string& text) {
  for (const auto& [name, metric] : kMetrics) {
    if (text == name) return metric;
  }
  refuse("--metric {}: write l0, l1, l2, linf, rel_l2 or cos", text);
}

Json output_json(const OutputError& output) {
  return {{"name", output.name},   {"dtype", std::string(to_string(output.dtype))},
          {"shape", output.shape}, {"l0", output.l0},
          {"l1", output.l1},       {"l2", output.l2},
          {"linf", output.linf},   {"rel_l2", output.rel_l2},
          {"cos", output.cos},     {"nan", output.nan},
          {"inf", output.inf},     {"same_shape", output.same_shape}};
}

void print(const Options& options, const VerifyReport& report, double limit) {
  if (options.common.json) {
    Json document{{"pass", report.pass},
                  {"pairs", report.pairs},
                  {"metric", options.metric},
                  {"limit", limit},
                  {"outputs", Json::array()}};
    for (const OutputError& output : report.outputs) document["outputs"].push_back(output_json(output));
    return print_json(document);
  }
  std::vector<std::vector<std::string>> rows;
  for (const OutputError& output : report.outputs) {
    const std::string special = output.same_shape ? fmt::format("{}", output.nan + output.inf) : "other shape";
    rows.push_back({output.name, std::string(to_string(output.dtype)), shape_text(output.shape),
                    fmt::format("{}", output.l0), fmt::format("{:.3g}", output.l1), fmt::format("{:.3g}", output.l2),
                    fmt::format("{:.3g}", output.linf), fmt::format("{:.3g}", output.rel_l2),
                    fmt::format("{:.10f}", output.cos), special});
  }
  print_table({"output", "type", "shape", "l0", "l1", "l2", "linf", "rel_l2", "cos", "nan/inf"}, rows);
  fmt::print("{}: {} {} {} on {} {}\n", report.pass ? "pass" : "FAIL", options.metric,
             options.metric == "cos" ? ">=" : "<=", limit, report.pairs, report.pairs == 1 ? "pair" : "pairs");
}

/// Where sizes were guessed and did not do, the failure says how to give them.
VerifyReport checked(const Engine& engine, const Options& options, const VerifyOptions& verify_options) {
  auto report = verify(engine, options.model, verify_options);
  const std::vector<PortInfo> ports = engine.inputs();
  const bool guessed = verify_options.inputs.empty() && std::any_of(ports.begin(), ports.end(), [&](const auto& port) {
                         return needs_guess(port) && !verify_options.shapes.contains(port.name);
                       });
  return or_fail_with({{}, guessed}, std::move(report));
}

int run(const Options& options) {
  VerifyOptions verify_options;
  verify_options.metric = parse_metric(options.metric);
  const bool is_cosine = verify_options.metric == Metric::Cos;
  constexpr double kMost = std::numeric_limits<double>::max();
  if (!options.limit.empty()) {
    const Limits<double> limits = is_cosine ? Limits<double>{-1, 1} : Limits<double>{0, kMost};
    verify_options.limit = parse_number("--limit", options.limit, limits);
  }
  verify_options.seed = options.inputs.seed;
  verify_options.shapes = parse_shapes("--shapes", options.shapes);
  if (options.model.empty() && options.references.empty()) refuse("verify needs --model MODEL or --references DIR");
  if (!options.references.empty() && options.inputs.folder.empty())
    refuse("--references needs --inputs DIR, the inputs they belong to");
  const Runtime runtime = make_runtime(options.common);
  const Interrupt interrupt(runtime);
  if (!is_engine_file(options.engine)) refuse("'{}' is not an engine: strop build makes them", options.engine);
  const Engine engine = or_fail(Engine::load(options.engine, runtime));
  if (!options.inputs.folder.empty())
    verify_options.inputs = read_folder(options.inputs.folder, engine.inputs(), "input");
  if (!options.references.empty())
    verify_options.references = read_folder(options.references, engine.outputs(), "output");
  const VerifyReport report = checked(engine, options, verify_options);
  print(options, report, verify_options.limit.value_or(default_limit(verify_options.metric)));
  return report.pass ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("verify", "Compare an engine with the reference interpreter");
  command.add_option("ENGINE", options->engine, "Engine file")->required();
  command.add_option("--model", options->model, "The ONNX file that the engine was built from");
  add_inputs(command, options->inputs, false);
  command.add_option("--references", options->references, "Folder of expected outputs, numbered as --inputs");
  command.add_option("--metric", options->metric, "l0, l1, l2, linf, rel_l2 or cos")->capture_default_str();
  command
      .add_option("--limit", options->limit,
                  "The most that is allowed; for cos the least. By default rel_l2 1e-4, cos 0.999999995, l0 0, and for "
                  "outputs of magnitude 1 l1 1e-4, linf 1e-3, l2 1e-2")
      ->type_name("NUMBER");
  add_shapes(command, options->shapes);
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
