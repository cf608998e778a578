#include <algorithm>

#include "api/impl.h"

namespace strop {

struct Context::Impl {
  std::shared_ptr<const Engine::Impl> engine;
  runtime::Executor executor;
  std::vector<Value> inputs;   // parallel to the block's; None until bound
  std::vector<Value> outputs;  // what the last run gave, or the caller's buffers
  std::vector<bool> output_bound;
  std::vector<const void*> bound_pointers;  // per output

  const plan::Block& block() const { return engine->image.plan->blocks[0]; }

  static int find(const std::vector<plan::PortDesc>& ports, std::string_view name) {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  Error unknown_name(std::string_view name) const {
    std::string known;
    for (const auto* ports : {&block().inputs, &block().outputs}) {
      for (const plan::PortDesc& port : *ports) known += (known.empty() ? "" : ", ") + port.name;
    }
    return error(ErrorCode::InvalidArgument, "the engine has no input or output '{}'; it has {}", name, known);
  }

  Result<void> check(const plan::PortDesc& port, const TensorView& tensor) const {
    if (port.type.kind != TypeKind::Tensor)
      return error(ErrorCode::InvalidArgument, "'{}' is not a tensor and cannot be bound", port.name);
    if (tensor.dtype != port.type.dtype) {
      return error(ErrorCode::InvalidArgument, "'{}' has type {}, a tensor of {} was given", port.name,
                   to_string(port.type.dtype), to_string(tensor.dtype));
    }
    if (tensor.data == nullptr && tensor.count() > 0)
      return error(ErrorCode::InvalidArgument, "'{}' was given without data", port.name);
    for (const int64_t dim : tensor.shape) {
      if (dim < 0) return error(ErrorCode::InvalidArgument, "'{}' was given a negative dimension", port.name);
    }
    return {};
  }

  Result<void> run(const runtime::StepObserver* observer) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_none() && block().inputs[i].type.kind != TypeKind::Optional) {
        return error(ErrorCode::InvalidArgument, "input '{}' is not bound", block().inputs[i].name);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!output_bound[i]) outputs[i] = Value();  // never write into what an earlier run handed out
    }
    STROP_TRY(executor.run(inputs, outputs, observer));
    return check_bound_outputs();
  }

  // A bound buffer that did not fit was replaced by a new tensor: the caller asked for something else.
  Result<void> check_bound_outputs() const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!output_bound[i] || !outputs[i].is_tensor() || outputs[i].tensor().raw() == bound_pointers[i]) continue;
      return error(ErrorCode::InvalidArgument,
                   "output '{}' has shape {} at these inputs: the bound buffer does not fit", block().outputs[i].name,
                   to_string(to_dims(outputs[i].tensor().dims())));
    }
    return {};
  }
};

Context::Context(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> Engine::context(const ContextOptions& options) const {
  return api::guarded([&]() -> Result<Context> {
    runtime::ExecutorOptions executor_options;
    executor_options.max_cached_shapes = options.max_cached_shapes;
    executor_options.cancel = impl_->runtime.impl()->cancel;
    auto impl = std::make_unique<Context::Impl>(Context::Impl{
        impl_, runtime::Executor(impl_->program, impl_->runtime.impl()->threads, executor_options), {}, {}, {}, {}});
    impl->inputs.resize(impl->block().inputs.size());
    impl->outputs.resize(impl->block().outputs.size());
    impl->output_bound.assign(impl->outputs.size(), false);
    impl->bound_pointers.assign(impl->outputs.size(), nullptr);
    return Context(std::move(impl));
  });
}

Result<void> Context::bind(std::string_view name, const TensorView& tensor) {
  return api::guarded([&]() -> Result<void> {
    const int input = Impl::find(impl_->block().inputs, name);
    const int output = Impl::find(impl_->block().outputs, name);
    if (input < 0 && output < 0) return impl_->unknown_name(name);
    const plan::PortDesc& port = input >= 0 ? impl_->block().inputs[static_cast<size_t>(input)]
                                            : impl_->block().outputs[static_cast<size_t>(output)];
    STROP_TRY(impl_->check(port, tensor));
    if (input >= 0) {
      impl_->inputs[static_cast<size_t>(input)] = api::borrow(tensor);
    } else {
      impl_->outputs[static_cast<size_t>(output)] = api::borrow(tensor);
      impl_->output_bound[static_cast<size_t>(output)] = true;
      impl_->bound_pointers[static_cast<size_t>(output)] = tensor.data;
    }
    return {};
  });
}

Result<void> Context::run() {
  return api::guarded([&] { return impl_->run(nullptr); });
}

Result<TensorView> Context::output(std::string_view name) const {
  const int index = Impl::find(impl_->block().outputs, name);
  if (index < 0) return impl_->unknown_name(name);
  const Value& value = impl_->outputs[static_cast<size_t>(index)];
  if (!value.is_tensor())
    return error(ErrorCode::InvalidArgument,
                 "output '{}' is not there: run first (sequences and optionals have no view)", name);
  return api::view_of(value.tensor());
}

Result<std::vector<StepTime>> Context::profile() {
  return api::guarded([&]() -> Result<std::vector<StepTime>> {
    // Steps are numbered block after block, as inspect lists them.
    std::vector<int64_t> first_step;
    int64_t count = 0;
    for (const plan::Block& block : impl_->engine->image.plan->blocks) {
      first_step.push_back(count);
      count += static_cast<int64_t>(block.steps.size());
    }
    std::vector<StepTime> times(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) times[static_cast<size_t>(i)].step = i;
    const auto note = [&](size_t block, size_t step, double time_us) {
      times[static_cast<size_t>(first_step[block]) + step].time_us += time_us;
    };
    const runtime::StepObserver observer(note);
    STROP_TRY(impl_->run(&observer));
    return times;
  });
}

MemoryInfo Context::memory() const {
  const runtime::MemoryReport report = impl_->executor.memory();
  MemoryInfo info{report.arena_bytes, report.lower_bound_bytes, report.intermediate_bytes, report.workspace_bytes, 0};
  for (const Tensor& weight : impl_->engine->image.weights)
    info.weight_bytes += weight.dtype() == DType::String ? 0 : weight.bytes();
  return info;
}

}  // namespace strop
