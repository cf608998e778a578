/// The subcommands. Each registers its options and, if it is the one that was asked for, puts its work into `job`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace strop::tool {

/// Returns the exit code; failures are thrown (console.h).
using Job = std::function<int()>;

void add_build(CLI::App& app, Job& job);
void add_run(CLI::App& app, Job& job);
void add_bench(CLI::App& app, Job& job);
void add_verify(CLI::App& app, Job& job);
void add_inspect(CLI::App& app, Job& job);
void add_knobs(CLI::App& app, Job& job);
void add_conformance(CLI::App& app, Job& job);
void add_cache(CLI::App& app, Job& job);
void add_doctor(CLI::App& app, Job& job);

}  // namespace strop::tool
