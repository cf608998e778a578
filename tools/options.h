/// Options that several subcommands share.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "console.h"
#include "files.h"
#include "strop/strop.h"

namespace strop::tool {

/// Of every subcommand.
struct CommonOptions {
  bool json = false;
  bool verbose = false;
  int threads = 0;
  int64_t memory_limit = 0;  ///< bytes; 0: the runtime's default
};
void add_common(CLI::App& command, CommonOptions& options);

/// Of all that compile. Those that nothing honours yet are known, and refused.
struct CompileFlags {
  std::string device = "auto";
  std::string precision = "fp32";
  std::vector<std::string> shapes, min_shapes, opt_shapes, max_shapes;
  std::vector<std::string> route;
  std::vector<std::string> outputs;
  std::vector<std::string> io;
  std::string target;
  int effort = BuildOptions().effort;
  std::string timing_cache;
  bool timing_cache_only = false;
  std::string lockfile;
  std::string write_lockfile;
  std::vector<const CLI::Option*> only_models;  ///< those of the options that only compiling heeds
};
void add_compile(CLI::App& command, CompileFlags& flags);
/// Just --shapes.
void add_shapes(CLI::App& command, std::vector<std::string>& shapes);
/// Options of the contract that are refused with the reason.
void add_refused(CLI::App& command, const std::vector<std::string>& names);

BuildOptions build_options(const CompileFlags& flags);
/// The options that were given and that only compiling heeds: "--route, --effort"; "" if there are none.
std::string given_for_models(const CompileFlags& flags);
/// The files that compiling reads and writes besides the model.
void add_files(CallFiles& files, const CompileFlags& flags);

using Shapes = std::map<std::string, std::vector<int64_t>>;
/// "NAME:1x3x224x224,NAME:…"; the last colon of each separates; "NAME:" is a scalar. `option` names it in errors.
Shapes parse_shapes(const std::string& option, const std::vector<std::string>& texts);

/// Threads and log as the options say; warnings and what is worth knowing go to stderr.
Runtime make_runtime(const CommonOptions& options);

}  // namespace strop::tool
