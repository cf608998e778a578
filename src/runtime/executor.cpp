#include "runtime/executor.h"

#include "runtime/frame.h"

namespace strop::runtime {

Executor::Executor(std::shared_ptr<const Program> program, std::shared_ptr<Threads> threads, ExecutorOptions options)
    : program_(std::move(program)),
      threads_(std::move(threads)),
      main_(std::make_unique<Frame>(Shared{*program_, *threads_, options}, 0)) {}

Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

Result<void> Executor::run(std::span<const Value> inputs, std::span<Value> outputs, const StepObserver* observer) {
  return main_->run(inputs, outputs, observer);
}

Result<void> Executor::prepare(const std::vector<Type>& inputs) { return main_->select_plan(inputs, {}); }

Result<std::vector<Type>> Executor::output_types(const std::vector<Type>& inputs) {
  STROP_TRY(main_->select_plan(inputs, {}));
  const plan::Block& block = program_->plan->blocks[0];
  std::vector<Type> types;
  for (const plan::PortDesc& port : block.outputs) {
    const auto value = static_cast<size_t>(port.value);
    const DType dtype = block.values[value].type.dtype;
    const bool known = main_->current()->known[value];
    types.push_back(known ? Type(dtype, to_dims(main_->current()->dims[value])) : Type::unranked(dtype));
  }
  return types;
}

MemoryReport Executor::memory() const {
  MemoryReport report;
  report.shapes_cached = static_cast<int64_t>(main_->cached());
  if (const ShapePlan* current = main_->current()) {
    report.arena_bytes = current->arena.bytes;
    report.lower_bound_bytes = current->arena.lower_bound_bytes;
    report.intermediate_bytes = current->intermediate_bytes;
    report.workspace_bytes = current->workspace_bytes;
  }
  return report;
}

}  // namespace strop::runtime
