/// Model + options → engine: import, passes, lowering, record. One straight function with a name per stage.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/result.h"
#include "base/threads.h"
#include "compiler/io_format.h"
#include "compiler/lower.h"
#include "engine/engine_file.h"
#include "ir/graph.h"
#include "onnx/import.h"
#include "passes/pass.h"

namespace strop::compiler {

/// A model's file, or its bytes.
struct ModelSource {
  std::string path;                          ///< "" with bytes
  std::shared_ptr<const std::string> bytes;  ///< null: the file
  std::string folder;                        ///< of external data, with bytes; "": none
  std::string name() const { return bytes ? "the model in memory" : "'" + path + "'"; }
};

struct CompileOptions {
  onnx::ImportOptions import;                    ///< fixed shapes, other outputs
  std::string route;                             ///< "knob=value …"
  std::map<std::string, tactics::Range> ranges;  ///< of symbols, from min/max shapes
  std::string precision = "fp32";
  IoFormats io;                                ///< ports that differ from the model's
  select::SelectOptions select;                ///< effort, optimum, memory limit; cancelling and progress are filled in
  std::string timing_cache;                    ///< a file that measured times are read from and added to; "": none
  const select::TimingCache* times = nullptr;  ///< instead of a file: these times, and nothing is saved
  std::string model_digest;                    ///< the only model to accept; "": any
  /// stage, item (pass or node), done, total (0: not known); may be empty.
  std::function<void(std::string_view stage, std::string_view item, int64_t done, int64_t total)> progress;
};

struct Compiled {
  engine::EngineImage image;
  Digest model_digest;
  LowerStats stats;
  select::SelectStats selected;
  select::TimingCache used;  ///< the times that choices were made from
  std::string device;        ///< fingerprint of the device that they are of
  int threads = 1;           ///< that steps were chosen for
  std::vector<passes::PassReport> passes;
  int64_t imported_nodes = 0;
};

/// What compiling needs from its caller.
struct CompileEnvironment {
  Threads& threads;
  Log& log;
  CancelToken cancel;
};

/// Every knob that the compiler reads: the catalogue of the command line, the tuner and the record.
const KnobList& compiler_knobs();

Result<Compiled> compile(const ModelSource& source, const CompileOptions& options,
                         const CompileEnvironment& environment);

/// Import alone, for inspection and verification.
Result<onnx::ImportedModel> import_for(const ModelSource& source, const CompileOptions& options);

}  // namespace strop::compiler
