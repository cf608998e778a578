/// Tensors from files, by input name, and what stands in for those that are not given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "options.h"

namespace strop::tool {

using Tensors = std::map<std::string, HostTensor>;

struct InputOptions {
  std::vector<std::string> files;  ///< NAME=FILE
  std::string folder;
  uint64_t seed = 0;
};
/// --inputs and --seed, and with `files` --input.
void add_inputs(CLI::App& command, InputOptions& options, bool files);

/// The numbered sets of a folder, in order: files 0.npz (keys are names), 0.npy or 0.pb (the only port); or folders 0,
/// test_data_set_0, … with NAME.npy, NAME.pb, input_K.pb or output_K.pb by position, or .npz files. `ports` are the
/// inputs or outputs that the names mean, and `role`, "input" or "output", which of them: files of the other role are
/// left alone. Bits are taken as the port's type where NumPy has none for it.
std::vector<Tensors> read_folder(const std::string& folder, const std::vector<PortInfo>& ports, std::string_view role);
/// NAME=FILE each; the last '=' separates.
Tensors read_files(const std::vector<std::string>& specs, const std::vector<PortInfo>& ports);

/// A tensor for every input.
struct Inputs {
  Tensors tensors;
  bool guessed = false;  ///< a dimension was open and nobody said its size
};
/// Given tensors, and seeded random ones, which is said aloud. `shapes` are for the latter.
Inputs complete_inputs(const Engine& engine, Tensors given, const Shapes& shapes, uint64_t seed);

/// A dimension of the input is open, and the engine was built for no range of it that says what is usual.
bool needs_guess(const PortInfo& port);

/// Of a run's result: where sizes were guessed and did not do, the failure says how to give them.
template <class T>
decltype(auto) or_fail_with(const Inputs& inputs, Result<T> result) {
  if (!result.ok() && inputs.guessed && result.error().code == ErrorCode::InvalidArgument) {
    throw Failure{{result.error().code, result.error().message + "; open dimensions were guessed, --shapes sets them"}};
  }
  return or_fail(std::move(result));
}

/// The files that --input and --inputs name.
void add_files(CallFiles& files, const InputOptions& options);

/// The set that --input or --inputs name; at most one. Empty if neither was given.
Tensors read_one_set(const InputOptions& options, const std::vector<PortInfo>& ports);

}  // namespace strop::tool
