/// Runs a program: one Executor per user of an engine, with its own memory. Belongs to one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "base/memory.h"
#include "runtime/memory.h"
#include "runtime/program.h"
#include "runtime/shape_plan.h"

namespace strop::runtime {

class Frame;

/// Memory figures at the shapes last run.
struct MemoryReport {
  int64_t arena_bytes = 0;
  int64_t lower_bound_bytes = 0;   ///< the largest live set
  int64_t intermediate_bytes = 0;  ///< all intermediates without sharing or views
  int64_t workspace_bytes = 0;
  int64_t shapes_cached = 0;
};

struct ExecutorOptions {
  int max_cached_shapes = 16;                       ///< per block; the least recently used plan is dropped
  CancelToken cancel;                               ///< checked between steps
  std::shared_ptr<Memory> memory;                   ///< of arenas; null: the system's
  std::shared_ptr<const MemoryLimit> memory_limit;  ///< asked before anything large is allocated; null: none
  /// Gives memory for an engine output that has no tensor yet (no string), aligned to its element, which stays valid
  /// until the next run. Null means that there is none left. Empty: such outputs are new tensors.
  std::function<void*(size_t output, DType dtype, const std::vector<int64_t>& dims)> make_output;
};

/// Called after each step with its time, where a caller asks for a profile.
using StepObserver = FunctionRef<void(size_t block, size_t step, double time_us)>;

class Executor {
 public:
  Executor(std::shared_ptr<const Program> program, std::shared_ptr<Threads> threads, ExecutorOptions options = {});
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  /// Runs once. `inputs` in the engine's order, None for absent optionals. `outputs` has one entry per engine output: a
  /// tensor of the right dtype and shape there is written to directly (it must not overlap an input or another output);
  /// otherwise the entry is replaced by a new value. At shapes seen before and with all outputs given nothing is
  /// allocated, unless the plan has Generic steps or reference tactics.
  Result<void> run(std::span<const Value> inputs, std::span<Value> outputs, const StepObserver* observer = nullptr);

  /// Plans memory and launches for these input types without running.
  Result<void> prepare(const std::vector<Type>& inputs);

  /// Output types at these input types, where they can be told before running.
  Result<std::vector<Type>> output_types(const std::vector<Type>& inputs);

  MemoryReport memory() const;
  const Program& program() const { return *program_; }

 private:
  std::shared_ptr<const Program> program_;
  std::shared_ptr<Threads> threads_;
  std::unique_ptr<Frame> main_;
};

}  // namespace strop::runtime
