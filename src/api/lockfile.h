/// The lockfile: everything besides the model that rebuilding an engine byte for byte needs. A JSON document that
/// people can read.
#pragma once

#include <string>

#include "base/result.h"
#include "compiler/compile.h"
#include "select/timing_cache.h"
#include "strop/strop.h"

namespace strop::api {

struct Lockfile {
  std::string software;      ///< fingerprint of the Strop that made it
  std::string device;        ///< fingerprint of the device that times were measured on
  int threads = 1;           ///< that steps were chosen for
  std::string model_digest;  ///< SHA-256 of the model's file, hexadecimal
  std::string plan_digest;
  std::string file_digest;
  BuildOptions options;       ///< shapes, io, outputs, and the route with every knob
  select::TimingCache times;  ///< exactly those that the build used
};

/// The lockfile of an engine that was built with `options` as `compiled` says.
Lockfile lockfile_of(const BuildOptions& options, const compiler::Compiled& compiled, const Engine& engine);

/// Errors: the file cannot be read, or is no lockfile, or a newer one; a field is missing or of another type.
Result<Lockfile> read_lockfile(const std::string& path);
/// Atomically.
Result<void> write_lockfile(const Lockfile& lock, const std::string& path);

/// The options that rebuild: those of the lockfile, with what does not change the engine (progress, device) of the
/// caller's. Errors: the caller's options decide something that the lockfile decides; another Strop made it.
Result<BuildOptions> locked_options(const Lockfile& lock, const std::string& path, const BuildOptions& options);

}  // namespace strop::api
