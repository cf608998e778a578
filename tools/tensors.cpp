#include "tensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "numbers.h"

namespace strop::tool {
namespace {

namespace fs = std::filesystem;

const PortInfo& find_port(const std::vector<PortInfo>& ports, const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  std::string list;
  for (const PortInfo& port : ports) {
    if (port.name == name) return port;
    names.push_back(port.name);
    list += (list.empty() ? "" : ", ") + port.name;
  }
  refuse("{}: the engine has no '{}'{}; it has {}", where, name, did_you_mean(name, names), list);
}

/// Types that NumPy lacks travel as unsigned integers of their width.
HostTensor as_port_type(HostTensor tensor, const PortInfo& port) {
  const int bits = bit_width(port.dtype);
  const bool is_bits =
      (tensor.dtype() == DType::U16 && port.dtype == DType::BF16) ||
      (tensor.dtype() == DType::U8 && bits == 8 && port.dtype != DType::I8 && port.dtype != DType::Bool);
  if (!is_bits || tensor.dtype() == port.dtype) return tensor;
  HostTensor result(port.dtype, tensor.shape());
  std::memcpy(result.data<char>(), tensor.data<char>(), static_cast<size_t>(tensor.bytes()));
  return result;
}

void add(Tensors& set, const PortInfo& port, HostTensor tensor, const std::string& where) {
  if (!set.emplace(port.name, as_port_type(std::move(tensor), port)).second)
    refuse("{}: '{}' is given twice", where, port.name);
}

/// The K of "input_K", "output_K".
std::optional<size_t> position_of(const std::string& stem) {
  const size_t underscore = stem.rfind('_');
  const std::string word = underscore == std::string::npos ? "" : stem.substr(0, underscore);
  if (word != "input" && word != "output") return std::nullopt;
  const std::string digits = stem.substr(underscore + 1);
  if (digits.empty() || digits.size() > 6 || !std::all_of(digits.begin(), digits.end(), ::isdigit)) return std::nullopt;
  return std::stoul(digits);
}

/// The FILE of NAME=FILE; the last '=' separates.
std::pair<std::string, std::string> split_spec(const std::string& spec) {
  const size_t equals = spec.rfind('=');
  if (equals == std::string::npos || equals == 0) refuse("--input {}: write NAME=FILE", spec);
  return {spec.substr(0, equals), spec.substr(equals + 1)};
}

/// One file of a set: many arrays, or one whose name is the file's.
void read_into(Tensors& set, const fs::path& file, const std::vector<PortInfo>& ports, bool is_whole_set) {
  const std::string where = file.string();
  for (auto& [key, tensor] : or_fail(load_tensors(where))) {
    if (!key.empty() || file.extension() == ".npz") {
      add(set, find_port(ports, key, where), std::move(tensor), where);
    } else if (is_whole_set) {
      if (ports.size() != 1)
        refuse("{}: the engine has {} inputs or outputs; give an .npz file with their names, or a folder", where,
               ports.size());
      add(set, ports[0], std::move(tensor), where);
    } else if (const auto position = position_of(file.stem().string()); position && *position < ports.size()) {
      add(set, ports[*position], std::move(tensor), where);
    } else {
      add(set, find_port(ports, file.stem().string(), where), std::move(tensor), where);
    }
  }
}

bool is_tensor_file(const fs::path& path) {
  return path.extension() == ".npy" || path.extension() == ".npz" || path.extension() == ".pb";
}

std::vector<fs::path> sorted_entries(const std::string& folder) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, failed)) entries.push_back(entry.path());
  if (failed) refuse("'{}' cannot be read as a folder: {}", folder, failed.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::optional<uint64_t> number_of(const fs::path& path) {
  std::string stem = fs::is_directory(path) ? path.filename().string() : path.stem().string();
  constexpr std::string_view kPrefix = "test_data_set_";
  if (stem.starts_with(kPrefix)) stem = stem.substr(kPrefix.size());
  if (stem.empty() || stem.size() > 9 || !std::all_of(stem.begin(), stem.end(), ::isdigit)) return std::nullopt;
  return std::stoul(stem);
}

bool is_ranged(const PortInfo& port) { return !port.profile.min.empty(); }

bool is_open(const PortInfo& port) {
  const auto is_open_dim = [](const std::string& dim) { return !std::all_of(dim.begin(), dim.end(), ::isdigit); };
  return !port.known_rank || std::any_of(port.shape.begin(), port.shape.end(), is_open_dim);
}

HostTensor random_input(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed, bool was_asked_for) {
  const char* hint = !is_open(port) || was_asked_for ? ""
                     : is_ranged(port)               ? " (the optimum it was built for; --shapes sets others)"
                                                     : " (--shapes sets its open dimensions)";
  say_formatted("input '{}': random values, {} {}, seed {}{}", port.name, to_string(port.dtype), shape_text(shape),
                seed, hint);
  return random_tensor(port.dtype, shape, seed);
}

}  // namespace

bool needs_guess(const PortInfo& port) { return is_open(port) && !is_ranged(port); }

void add_inputs(CLI::App& command, InputOptions& options, bool files) {
  if (files)
    command.add_option("--input", options.files, "NAME=FILE (.npy, .npz or .pb); repeat for each input")
        ->allow_extra_args(false);
  command.add_option("--inputs", options.folder,
                     "Folder with numbered sets: 0.npz, or folders 0/ with one file per input");
  add_number(command, "--seed", options.seed, {0, UINT64_MAX}, "Seed of random inputs");
}

std::vector<Tensors> read_folder(const std::string& folder, const std::vector<PortInfo>& ports, std::string_view role) {
  std::map<uint64_t, Tensors> sets;
  for (const fs::path& entry : sorted_entries(folder)) {
    const auto number = number_of(entry);
    if (!number) continue;
    Tensors& set = sets[*number];
    if (fs::is_directory(entry)) {
      for (const fs::path& file : sorted_entries(entry.string())) {
        // A set of the standard's tests holds inputs and outputs side by side.
        const std::string stem = file.stem().string();
        if (is_tensor_file(file) && !(position_of(stem) && !stem.starts_with(role))) read_into(set, file, ports, false);
      }
    } else if (is_tensor_file(entry)) {
      read_into(set, entry, ports, true);
    }
  }
  std::vector<Tensors> list;
  for (auto& [number, set] : sets) {
    if (!set.empty()) list.push_back(std::move(set));
  }
  if (list.empty())
    refuse("'{}' holds no numbered sets: 0.npz, 1.npz, …, or folders 0, 1, … with one file per input", folder);
  return list;
}

Tensors read_files(const std::vector<std::string>& specs, const std::vector<PortInfo>& ports) {
  Tensors set;
  for (const std::string& spec : specs) {
    const auto [name, file] = split_spec(spec);
    const PortInfo& port = find_port(ports, name, "--input " + spec);
    add(set, port, or_fail(load_tensor(file)), "--input " + spec);
  }
  return set;
}

Inputs complete_inputs(const Engine& engine, Tensors given, const Shapes& shapes, uint64_t seed) {
  const std::vector<PortInfo> ports = engine.inputs();
  const bool complete =
      std::all_of(ports.begin(), ports.end(), [&](const PortInfo& port) { return given.contains(port.name); });
  if (complete && shapes.empty()) return {std::move(given), false};
  Shapes known = shapes;
  for (const auto& [name, tensor] : given) {
    if (shapes.contains(name) && shapes.at(name) != tensor.shape()) {
      refuse("--shapes gives '{}' the shape {}, its tensor has {}", name, shape_text(shapes.at(name)),
             shape_text(tensor.shape()));
    }
    known[name] = tensor.shape();
  }
  const Shapes all = or_fail(engine.input_shapes(known));
  bool guessed = false;
  for (size_t i = 0; i < ports.size(); ++i) {
    const PortInfo& port = ports[i];
    if (given.contains(port.name)) continue;
    const bool was_asked_for = shapes.contains(port.name);
    given[port.name] = random_input(port, all.at(port.name), seed + i, was_asked_for);
    guessed |= needs_guess(port) && !was_asked_for;
  }
  return {std::move(given), guessed};
}

void add_files(CallFiles& files, const InputOptions& options) {
  for (const std::string& spec : options.files) files.reads("--input", split_spec(spec).second);
  if (options.folder.empty()) return;
  for (const fs::path& entry : sorted_entries(options.folder)) {
    if (!number_of(entry)) continue;
    const bool is_folder = fs::is_directory(entry);
    for (const fs::path& file : is_folder ? sorted_entries(entry.string()) : std::vector<fs::path>{entry}) {
      if (is_tensor_file(file)) files.reads("--inputs", file.string());
    }
  }
}

Tensors read_one_set(const InputOptions& options, const std::vector<PortInfo>& ports) {
  if (!options.files.empty() && !options.folder.empty()) refuse("--input and --inputs cannot be given together");
  if (options.folder.empty()) return read_files(options.files, ports);
  std::vector<Tensors> sets = read_folder(options.folder, ports, "input");
  if (sets.size() > 1) refuse("'{}' holds {} sets; this command takes one", options.folder, sets.size());
  return std::move(sets[0]);
}

}  // namespace strop::tool
