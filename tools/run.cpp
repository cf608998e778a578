// strop run ENGINE|MODEL
#include <cctype>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>

#include "commands.h"
#include "engine_source.h"
#include "interrupt.h"
#include "tensors.h"

namespace strop::tool {
namespace {

struct Options {
  CommonOptions common;
  CompileFlags compile;
  InputOptions inputs;
  std::string engine;
  std::string folder;
};

/// A file name for a tensor's name: what a shell or a file system minds becomes '_', and each name is given once.
std::string file_name(const std::string& tensor, std::set<std::string>& taken) {
  std::string name;
  for (const char c : tensor) name += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ? c : '_';
  if (name.empty() || name[0] == '.' || name[0] == '-') name = "_" + name;
  constexpr size_t kLongest = 200;
  name = name.substr(0, kLongest);
  std::string unique = name;
  for (int i = 1; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique + ".npy";
}

/// Where each output is written, in the engine's order; "" for those that no file holds, and without a folder.
std::vector<std::string> output_files(const Options& options, const Engine& engine) {
  std::vector<std::string> files;
  std::set<std::string> taken;
  for (const PortInfo& port : engine.outputs()) {
    const bool is_written = port.kind == "tensor" && !options.folder.empty();
    files.push_back(is_written ? (std::filesystem::path(options.folder) / file_name(port.name, taken)).string() : "");
  }
  return files;
}

/// Writes one output if there is a file for it, and describes it.
Json describe_output(const Context& context, const PortInfo& port, const std::string& file) {
  if (port.kind != "tensor") {
    say_formatted("warning: output '{}' is a {}, which no file format here holds", port.name, port.kind);
    return {{"name", port.name}, {"kind", port.kind}};
  }
  const TensorView tensor = or_fail(context.output(port.name));
  Json json{{"name", port.name}, {"dtype", std::string(to_string(tensor.dtype))}, {"shape", tensor.shape}};
  if (file.empty()) return json;
  or_fail(save_npy(file, tensor));
  json["file"] = file;
  return json;
}

void make_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw Failure{{ErrorCode::Io, fmt::format("cannot make the folder '{}': {}", folder, failed.message())}};
}

void print(const Options& options, const Json& document) {
  if (options.common.json) return print_json(document);
  for (const Json& output : document["outputs"]) {
    if (!output.contains("shape")) continue;
    fmt::print("{}: {} {}{}\n", output["name"].get<std::string>(), output["dtype"].get<std::string>(),
               shape_text(output["shape"].get<std::vector<int64_t>>()),
               output.contains("file") ? " -> " + output["file"].get<std::string>() : "");
  }
  fmt::print("{:.3f} ms on {}\n", document["time_ms"].get<double>(), document["device"].get<std::string>());
}

/// All that the call reads, and what it writes besides the outputs.
CallFiles files_of(const Options& options) {
  CallFiles files;
  files.reads("ENGINE", options.engine);
  add_files(files, options.inputs);
  add_files(files, options.compile);
  files.makes_folder("--output-dir", options.folder);
  return files;
}

int run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  CallFiles files = files_of(options);
  files.check();
  const Runtime runtime = make_runtime(options.common);
  const Interrupt interrupt(runtime);
  const Engine engine = open_engine(options.engine, options.compile, runtime);
  const std::vector<std::string> outputs = output_files(options, engine);
  if (std::filesystem::is_directory(options.folder)) {
    for (const std::string& output : outputs) files.writes("output", output);
    files.check();
  }
  Tensors given = read_one_set(options.inputs, engine.inputs());
  const Inputs inputs =
      complete_inputs(engine, std::move(given), parse_shapes("--shapes", options.compile.shapes), options.inputs.seed);
  Context context = or_fail(engine.context());
  for (const auto& [name, tensor] : inputs.tensors) or_fail(context.bind(name, tensor));
  const Clock::time_point begin = Clock::now();
  or_fail_with(inputs, context.run());
  const std::chrono::duration<double, std::milli> taken = Clock::now() - begin;
  if (!options.folder.empty()) make_folder(options.folder);
  Json document{{"device", engine.device()}, {"plan_digest", engine.plan_digest()}, {"time_ms", taken.count()}};
  document["outputs"] = Json::array();
  const std::vector<PortInfo> ports = engine.outputs();
  for (size_t i = 0; i < ports.size(); ++i)
    document["outputs"].push_back(describe_output(context, ports[i], outputs[i]));
  print(options, document);
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("run", "Run an engine or a model once");
  command.add_option("ENGINE", options->engine, "Engine or ONNX file")->required();
  add_inputs(command, options->inputs, true);
  command.add_option("--output-dir", options->folder, "Folder to write the outputs to, as .npy");
  add_compile(command, options->compile);
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
