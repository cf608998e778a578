// A process that runs one engine when told to, for bench/cpu_peers.py. Uses the public interface only.
//
// strop_worker ENGINE THREADS NAME=FILE.npy ...
//
// Loads, runs once, prints "ready". Then answers each line of stdin with one line of stdout: "run N" with the durations
// of N runs in nanoseconds, "peak" with the process's largest resident memory in KiB. Ends at end of input.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "strop/strop.h"

namespace {

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "strop_worker: %s\n", message.c_str());
  std::exit(3);
}

template <class T>
T value_or_stop(strop::Result<T> result) {
  if (!result) stop(result.error().message);
  return std::move(result).value();
}

void check(const strop::Result<void>& result) {
  if (!result) stop(result.error().message);
}

/// Largest resident set of this process so far, in KiB.
long peak_resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    if (key == "VmHWM:") {
      long kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

/// Binds the inputs given as NAME=FILE; the last '=' separates, so that names may contain it. Returns what must stay
/// alive.
std::vector<strop::HostTensor> bind_inputs(strop::Context& context, int count, char** specs) {
  std::vector<strop::HostTensor> inputs;
  inputs.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const std::string spec = specs[i];
    const size_t equals = spec.rfind('=');
    if (equals == std::string::npos) stop("'" + spec + "' is not NAME=FILE");
    inputs.push_back(value_or_stop(strop::load_tensor(spec.substr(equals + 1))));
    check(context.bind(spec.substr(0, equals), inputs.back()));
  }
  return inputs;
}

/// Binds every output to memory of the size that the last run gave it. Returns what must stay alive.
std::vector<strop::HostTensor> bind_outputs(const strop::Engine& engine, strop::Context& context) {
  std::vector<strop::HostTensor> outputs;
  const std::vector<strop::PortInfo> ports = engine.outputs();
  for (const strop::PortInfo& port : ports) {
    const strop::TensorView seen = value_or_stop(context.output(port.name));
    outputs.emplace_back(seen.dtype, seen.shape);
  }
  for (size_t i = 0; i < ports.size(); ++i) check(context.bind(ports[i].name, outputs[i]));
  return outputs;
}

void answer_run(strop::Context& context, int count) {
  std::string line;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    check(context.run());
    const auto elapsed = std::chrono::steady_clock::now() - start;
    line += std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
    line += ' ';
  }
  std::cout << line << std::endl;
}

void answer_steps(strop::Context& context) {
  std::string line;
  for (const strop::StepTime& time : value_or_stop(context.profile())) {
    line += std::to_string(time.step) + ':' + std::to_string(time.time_us) + ' ';
  }
  std::cout << line << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) stop("usage: strop_worker ENGINE THREADS NAME=FILE.npy ...");
  const strop::Runtime runtime(strop::RuntimeOptions{.threads = std::atoi(argv[2])});
  const strop::Engine engine = value_or_stop(strop::Engine::load(argv[1], runtime));
  strop::Context context = value_or_stop(engine.context());
  const std::vector<strop::HostTensor> inputs = bind_inputs(context, argc - 3, argv + 3);
  check(context.run());
  const std::vector<strop::HostTensor> outputs = bind_outputs(engine, context);
  check(context.run());
  std::cout << "ready" << std::endl;
  std::string command;
  while (std::cin >> command) {
    if (command == "run") {
      int count = 0;
      std::cin >> count;
      answer_run(context, count);
    } else if (command == "peak") {
      std::cout << peak_resident_kib() << std::endl;
    } else if (command == "steps") {
      answer_steps(context);
    } else {
      stop("unknown request '" + command + "'");
    }
  }
  return 0;
}
