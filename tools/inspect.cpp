// strop inspect ENGINE|MODEL
#include <memory>

#include "commands.h"
#include "engine_source.h"

namespace strop::tool {
namespace {

struct Options {
  CommonOptions common;
  CompileFlags compile;
  std::string file;
};

std::string text_of(const Json& value) {
  return value.is_null() ? "?" : value.is_string() ? value.get<std::string>() : value.dump();
}

std::string bytes_text(const Json& value) { return value.is_null() ? "?" : human_bytes(value.get<int64_t>()); }

void print_ports(const char* title, const Json& ports) {
  for (const Json& port : ports) {
    std::string shape;
    for (const Json& dim : port["shape"]) shape += (shape.empty() ? "" : ", ") + dim.get<std::string>();
    fmt::print("{} {}: {} {}[{}]\n", title, text_of(port["name"]), text_of(port["kind"]), text_of(port["dtype"]),
               port["shape"].is_null() ? "*" : shape);
  }
}

void print_engine(const Json& plan) {
  print_ports("input", plan["inputs"]);
  print_ports("output", plan["outputs"]);
  std::vector<std::vector<std::string>> rows;
  for (const Json& step : plan["steps"]) {
    std::string nodes;
    for (const Json& node : step["onnx_nodes"]) nodes += (nodes.empty() ? "" : " ") + node.get<std::string>();
    constexpr size_t kWidest = 60;
    if (nodes.size() > kWidest) nodes = nodes.substr(0, kWidest) + "…";
    rows.push_back(
        {step["index"].dump(), text_of(step["op"]), text_of(step["tactic"]), text_of(step["config"]), nodes});
  }
  print_table({"step", "operator", "tactic", "config", "ONNX nodes"}, rows);
  fmt::print("{} steps, {} views, {} in place on {}\n", text_of(plan["step_count"]), text_of(plan["views"]),
             text_of(plan["in_place"]), text_of(plan["device"]));
  fmt::print("arena {}, lower bound {}, all intermediates {}; weights {}\n", bytes_text(plan["arena_bytes"]),
             bytes_text(plan["arena_lower_bound_bytes"]), bytes_text(plan["intermediate_bytes"]),
             bytes_text(plan["weight_bytes"]));
  if (plan.contains("memory_note")) fmt::print("memory is not known: {}\n", text_of(plan["memory_note"]));
}

void print_model(const Json& model) {
  if (model.contains("inputs")) {
    print_ports("input", model["inputs"]);
    print_ports("output", model["outputs"]);
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [op, count] : model["operators"].items()) rows.push_back({op, count.dump()});
  print_table({"operator", "nodes"}, rows);
  fmt::print("{} nodes, {} unsupported operators\n", text_of(model["nodes"]), model["unsupported"].size());
  if (model.contains("import_error")) fmt::print("it cannot be built: {}\n", text_of(model["import_error"]));
}

int run(const Options& options) {
  const Runtime runtime = make_runtime(options.common);
  Json document;
  if (is_engine_file(options.file)) {
    const Engine engine = open_engine(options.file, options.compile, runtime);
    document = Json::parse(or_fail(engine.inspect_json(parse_shapes("--shapes", options.compile.shapes))));
  } else {
    document = Json::parse(or_fail(inspect_model_json(options.file, build_options(options.compile), runtime)));
  }
  if (options.common.json) {
    print_json(document);
  } else if (document["kind"] == "engine") {
    print_engine(document);
  } else {
    print_model(document);
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("inspect", "Show an engine's steps and memory, or a model's operators");
  command.add_option("FILE", options->file, "Engine or ONNX file")->required();
  add_shapes(command, options->compile.shapes);
  add_refused(command, {"--html"});
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
