#include "options.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "numbers.h"

namespace strop::tool {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<int64_t> parse_dims(const std::string& option, const std::string& part, const std::string& text) {
  std::vector<int64_t> dims;
  if (text.empty()) return dims;
  for (const std::string& word : split(text, 'x')) {
    int64_t dim = -1;
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), dim);
    if (status != std::errc() || end != word.data() + word.size() || dim < 0) {
      refuse("{} {}: '{}' is not a dimension; write NAME:1x3x224x224", option, part, word);
    }
    dims.push_back(dim);
  }
  return dims;
}

Device parse_device(const std::string& text) {
  if (text == "auto") return {};
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda();
  if (text.starts_with("cuda:")) {
    int index = -1;
    const auto [end, status] = std::from_chars(text.data() + 5, text.data() + text.size(), index);
    if (status == std::errc() && end == text.data() + text.size() && index >= 0) return Device::cuda(index);
  }
  refuse("--device {}: write cpu, cuda or cuda:N", text);
}

Precision parse_precision(const std::string& text) {
  static constexpr std::pair<const char*, Precision> kNames[] = {
      {"fp32", Precision::Fp32}, {"tf32", Precision::Tf32}, {"fp16", Precision::Fp16},  {"bf16", Precision::Bf16},
      {"int8", Precision::Int8}, {"fp8", Precision::Fp8},   {"mixed", Precision::Mixed}};
  for (const auto& [name, value] : kNames) {
    if (text == name) return value;
  }
  refuse("--precision {}: write fp32, tf32, fp16, bf16, int8, fp8 or mixed", text);
}

constexpr std::string_view kLayouts[] = {"nchw", "nhwc", "ncdhw", "ndhwc"};

/// "fp16" is what TensorRT's users call f16; everything else is a name of the library's.
std::optional<DType> io_dtype(const std::string& word) {
  return parse_dtype(word == "fp16" || word == "fp32" || word == "fp64" ? "f" + word.substr(2) : word);
}

/// "NAME:fp16", "NAME:nhwc", "NAME:fp16:nhwc"; names may contain colons, so words are taken from the end.
std::map<std::string, PortFormat> parse_io(const std::vector<std::string>& texts) {
  std::map<std::string, PortFormat> ports;
  for (const std::string& text : texts) {
    for (const std::string& part : split(text, ',')) {
      std::vector<std::string> words = split(part, ':');
      PortFormat format;
      if (words.size() > 1 && std::find(std::begin(kLayouts), std::end(kLayouts), words.back()) != std::end(kLayouts)) {
        format.layout = words.back();
        words.pop_back();
      }
      if (const auto dtype = words.size() > 1 ? io_dtype(words.back()) : std::nullopt) {
        format.dtype = *dtype;
        words.pop_back();
      }
      std::string name = words.front();
      for (size_t i = 1; i < words.size(); ++i) name += ":" + words[i];
      if (name.empty() || (format.layout.empty() && format.dtype == DType::Undefined))
        refuse("--io {}: write NAME:fp16, NAME:nhwc or NAME:fp16:nhwc; the layouts are nchw, nhwc, ncdhw, ndhwc", part);
      if (!ports.emplace(name, std::move(format)).second) refuse("--io gives '{}' twice", name);
    }
  }
  return ports;
}

/// --shapes fixes an input, --min-shapes with --max-shapes gives it a range.
std::map<std::string, ShapeProfile> parse_profiles(const CompileFlags& flags) {
  std::map<std::string, ShapeProfile> profiles;
  for (const auto& [name, dims] : parse_shapes("--shapes", flags.shapes)) profiles[name] = {dims, dims, dims};
  const Shapes min = parse_shapes("--min-shapes", flags.min_shapes);
  const Shapes opt = parse_shapes("--opt-shapes", flags.opt_shapes);
  const Shapes max = parse_shapes("--max-shapes", flags.max_shapes);
  for (const Shapes* given : {&min, &opt, &max}) {
    for (const auto& [name, dims] : *given) {
      if (profiles.contains(name) && !flags.shapes.empty() && profiles[name].min == profiles[name].max &&
          !min.contains(name)) {
        refuse("input '{}' is in --shapes and in a range of shapes: choose one", name);
      }
      if (!min.contains(name) || !max.contains(name)) {
        refuse("input '{}' needs both --min-shapes and --max-shapes; --shapes fixes a shape", name);
      }
      profiles[name] = {min.at(name), opt.contains(name) ? opt.at(name) : max.at(name), max.at(name)};
    }
  }
  return profiles;
}

}  // namespace

void add_common(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json, "Print one JSON document on stdout");
  command.add_flag("--verbose", options.verbose, "Say more on stderr");
  add_number(command, "--threads", options.threads, {0, 1024}, "Threads; 0: one per CPU this process may use");
  command.add_option_function<std::string>(
      "--memory-limit",
      [&options](const std::string& text) { options.memory_limit = parse_bytes("--memory-limit", text); },
      "What building and running may use, for example 4GiB; by default three quarters of the memory there is for "
      "running, and any for building");
}

void add_shapes(CLI::App& command, std::vector<std::string>& shapes) {
  command.add_option("--shapes", shapes, "NAME:1x3x224x224[,NAME:…]; the last colon separates")
      ->allow_extra_args(false);
}

void add_refused(CLI::App& command, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    command
        .add_option_function<std::vector<std::string>>(
            name, [name](const std::vector<std::string>&) { refuse("{} is not available yet", name); },
            "Not available yet")
        ->expected(0, 1)
        ->group("");
  }
}

void add_compile(CLI::App& command, CompileFlags& flags) {
  const auto only = [&flags](CLI::Option* option) {
    flags.only_models.push_back(option);
    return option;
  };
  only(command.add_option("--device", flags.device, "cpu, cuda or cuda:N; by default cuda if usable, else cpu"));
  only(command.add_option("--precision", flags.precision, "fp32, tf32, fp16, bf16, int8, fp8 or mixed"))
      ->capture_default_str();
  add_shapes(command, flags.shapes);
  only(command.add_option("--min-shapes", flags.min_shapes, "Smallest shapes, as --shapes"))->allow_extra_args(false);
  only(command.add_option("--opt-shapes", flags.opt_shapes,
                          "Shapes to be fast at, and to run at where none are given, as --shapes; by default the "
                          "largest"))
      ->allow_extra_args(false);
  only(command.add_option("--max-shapes", flags.max_shapes, "Largest shapes, as --shapes"))->allow_extra_args(false);
  only(command.add_option("--route", flags.route, "\"knob=value …\" (strop knobs lists them)"))
      ->allow_extra_args(false);
  only(command.add_option("--outputs", flags.outputs, "Tensors to return instead of the model's outputs: NAME,…"))
      ->delimiter(',')
      ->allow_extra_args(false);
  only(command.add_option("--io", flags.io,
                          "NAME:TYPE[:LAYOUT] or NAME:LAYOUT[,NAME:…]: an input or output of another type "
                          "(fp16, bf16, int32, …) or layout (nhwc, ndhwc) than the model's"))
      ->allow_extra_args(false);
  only(add_number(command, "--effort", flags.effort, {0, 5},
                  "0 to 5: how long tactics are timed against each other; 0: not at all, by estimate"));
  only(command.add_option("--target", flags.target, "Instruction set; by default this machine's best"));
  only(command.add_option("--timing-cache", flags.timing_cache, "File that measured times are read from and added to"));
  only(command.add_flag("--timing-cache-only", flags.timing_cache_only, "Measure nothing; say what the cache lacks"));
  only(command.add_option("--lockfile", flags.lockfile, "Rebuild from this file, byte for byte"));
  only(command.add_option("--write-lockfile", flags.write_lockfile, "Write what rebuilding byte for byte needs"));
  add_refused(command, {"--calibration"});
}

std::string given_for_models(const CompileFlags& flags) {
  std::string names;
  for (const CLI::Option* option : flags.only_models) {
    if (option->count() > 0) names += (names.empty() ? "--" : ", --") + option->get_lnames().front();
  }
  return names;
}

void add_files(CallFiles& files, const CompileFlags& flags) {
  files.reads("--lockfile", flags.lockfile);
  files.writes("--timing-cache", flags.timing_cache, kTimingCache);
  files.writes("--write-lockfile", flags.write_lockfile, kLockfile);
}

BuildOptions build_options(const CompileFlags& flags) {
  BuildOptions options;
  options.device = parse_device(flags.device);
  options.precision = parse_precision(flags.precision);
  options.shapes = parse_profiles(flags);
  for (const std::string& part : flags.route) options.route += (options.route.empty() ? "" : " ") + part;
  options.outputs = flags.outputs;
  options.io = parse_io(flags.io);
  options.effort = flags.effort;
  options.target = flags.target;
  options.timing_cache = flags.timing_cache;
  options.timing_cache_only = flags.timing_cache_only;
  options.lockfile = flags.lockfile;
  options.write_lockfile = flags.write_lockfile;
  return options;
}

Shapes parse_shapes(const std::string& option, const std::vector<std::string>& texts) {
  Shapes shapes;
  for (const std::string& text : texts) {
    for (const std::string& part : split(text, ',')) {
      const size_t colon = part.rfind(':');
      if (colon == std::string::npos || colon == 0) refuse("{} {}: write NAME:1x3x224x224", option, part);
      const std::string name = part.substr(0, colon);
      if (!shapes.emplace(name, parse_dims(option, part, part.substr(colon + 1))).second)
        refuse("{} gives '{}' twice", option, name);
    }
  }
  return shapes;
}

Runtime make_runtime(const CommonOptions& options) {
  RuntimeOptions runtime;
  runtime.threads = options.threads;
  runtime.memory_limit_bytes = options.memory_limit;
  runtime.log = [verbose = options.verbose](LogLevel level, std::string_view message) {
    if (level == LogLevel::Warning) say(fmt::format("warning: {}", message));
    if (level == LogLevel::Info || (level == LogLevel::Debug && verbose)) say(message);
  };
  return Runtime(std::move(runtime));
}

}  // namespace strop::tool
