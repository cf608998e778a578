#include <algorithm>

#include "api/impl.h"
#include "api/staging.h"

namespace strop {

struct Context::Impl {
  Impl(std::shared_ptr<const Engine::Impl> of, const ContextOptions& options)
      : engine(std::move(of)),
        allocate_output(options.allocate_output),
        staging(runtime_impl().memory),
        executor(engine->program, runtime_impl().threads, executor_options(options)),
        inputs(block().inputs.size()),
        outputs(block().outputs.size()),
        bound(outputs.size()),
        own_memory(outputs.size()) {}

  /// Memory for an output that is not bound, reused where it suffices.
  struct OwnMemory {
    std::shared_ptr<std::byte> memory;
    int64_t capacity_bytes = 0;
  };
  /// An output's buffer of the caller's.
  struct Bound {
    bool is = false;
    Value value;  ///< as the executor gets it; None for strings
    std::vector<int64_t> shape;
  };

  std::shared_ptr<const Engine::Impl> engine;
  std::function<void*(std::string_view, DType, const std::vector<int64_t>&)> allocate_output;
  api::Staging staging;
  bool staging_checked = true;  // false: something was bound since overlaps were looked for
  runtime::Executor executor;
  std::vector<Value> inputs;   // parallel to the block's; None until bound
  std::vector<Value> outputs;  // what the last run gave, or the caller's buffers
  std::vector<Bound> bound;    // parallel to outputs
  std::vector<OwnMemory> own_memory;

  const plan::Block& block() const { return engine->image.plan->blocks[0]; }
  Runtime::Impl& runtime_impl() const { return *engine->runtime.impl(); }

  runtime::ExecutorOptions executor_options(const ContextOptions& options) {
    runtime::ExecutorOptions result;
    result.max_cached_shapes = options.max_cached_shapes;
    result.cancel = runtime_impl().cancel;
    result.memory = runtime_impl().memory;
    result.memory_limit = runtime_impl().memory_limit;
    if (allocate_output || result.memory)
      result.make_output = [this](size_t i, DType dtype, const auto& dims) { return make_output(i, dtype, dims); };
    return result;
  }

  void* make_output(size_t index, DType dtype, const std::vector<int64_t>& dims) {
    if (allocate_output) return allocate_output(block().outputs[index].name, dtype, dims);
    const int64_t bytes = byte_size(dtype, element_count(dims));
    OwnMemory& own = own_memory[index];
    if (!own.memory || own.capacity_bytes < bytes) {
      own = {};
      own.memory = runtime::allocate(runtime_impl().memory, bytes);
      own.capacity_bytes = own.memory ? bytes : 0;
    }
    return own.memory.get();
  }

  static std::optional<size_t> find(const std::vector<plan::PortDesc>& ports, std::string_view name) {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].name == name) return i;
    }
    return std::nullopt;
  }

  Error unknown_name(std::string_view name) const {
    std::string known;
    for (const auto* ports : {&block().inputs, &block().outputs}) {
      for (const plan::PortDesc& port : *ports) known += (known.empty() ? "" : ", ") + port.name;
    }
    return error(ErrorCode::InvalidArgument, "the engine has no input or output '{}'; it has {}", name, known);
  }

  static Result<void> check(const plan::PortDesc& port, const TensorView& tensor, api::Access access) {
    if (port.type.kind != TypeKind::Tensor)
      return error(ErrorCode::InvalidArgument, "'{}' is not a tensor and cannot be bound", port.name);
    if (tensor.dtype != port.type.dtype) {
      return error(ErrorCode::InvalidArgument, "'{}' has type {}, a tensor of {} was given", port.name,
                   to_string(port.type.dtype), to_string(tensor.dtype));
    }
    if (auto shape = api::check_shape(tensor); !shape.ok())
      return in_context(shape.error(), fmt::format("'{}'", port.name));
    if (tensor.data == nullptr && tensor.count() > 0)
      return error(ErrorCode::InvalidArgument, "'{}' was given without data", port.name);
    if (const size_t alignment = alignment_of(tensor.dtype);
        reinterpret_cast<uintptr_t>(tensor.data) % alignment != 0) {
      return error(ErrorCode::InvalidArgument, "'{}' was given data at an address that is no multiple of {} bytes",
                   port.name, alignment);
    }
    return api::check_strides(port.name, tensor, access);
  }

  Result<Tensor> place(api::PortKind kind, size_t index, const TensorView& tensor) {
    staging.remove(kind, index);
    staging_checked = false;
    if (tensor.dtype == DType::String || !api::is_dense(tensor)) return staging.add(kind, index, tensor);
    return Tensor::borrow(tensor.dtype, tensor.shape, tensor.data);
  }

  Result<void> bind_input(size_t index, const TensorView& tensor) {
    STROP_TRY(check(block().inputs[index], tensor, api::Access::Read));
    STROP_ASSIGN(inputs[index], place(api::PortKind::Input, index, tensor));
    return {};
  }

  Result<void> bind_output(size_t index, const TensorView& tensor) {
    STROP_TRY(check(block().outputs[index], tensor, api::Access::Write));
    STROP_ASSIGN(const Tensor placed, place(api::PortKind::Output, index, tensor));
    bound[index] = {true, placed.defined() ? Value(placed) : Value(), tensor.shape};
    outputs[index] = bound[index].value;
    own_memory[index] = {};
    return {};
  }

  void reset() {
    staging.clear();
    std::fill(inputs.begin(), inputs.end(), Value());
    std::fill(outputs.begin(), outputs.end(), Value());
    std::fill(bound.begin(), bound.end(), Bound());
  }

  Result<void> run(const runtime::StepObserver* observer) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_none() && block().inputs[i].type.kind != TypeKind::Optional) {
        return error(ErrorCode::InvalidArgument, "input '{}' is not bound", block().inputs[i].name);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!bound[i].is) outputs[i] = Value();  // never write into what an earlier run handed out
    }
    if (!staging.empty()) {
      STROP_TRY(check_staging());
      staging.read_inputs(*runtime_impl().threads);
    }
    STROP_TRY(executor.run(inputs, outputs, observer));
    STROP_TRY(check_bound_outputs());
    if (!staging.empty()) staging.write_outputs(outputs, *runtime_impl().threads);
    return {};
  }

  // A bound buffer that did not fit was replaced by a new tensor: the caller asked for something else.
  Result<void> check_bound_outputs() {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!bound[i].is || !outputs[i].is_tensor()) continue;
      const Tensor& made = outputs[i].tensor();
      if (bound[i].value.is_tensor() ? made.raw() == bound[i].value.tensor().raw() : made.dims() == bound[i].shape)
        continue;
      const Error misfit =
          error(ErrorCode::InvalidArgument, "output '{}' has shape {} at these inputs: the bound buffer does not fit",
                block().outputs[i].name, to_string(to_dims(made.dims())));
      outputs[i] = bound[i].value;  // for the next run
      return misfit;
    }
    return {};
  }

  // What the executor sees of a staged port is not the caller's memory: overlaps with that are looked for here.
  Result<void> check_staging() {
    if (staging_checked) return {};
    std::vector<PortMemory> memory = port_memory();
    for (const PortMemory& output : memory) {
      if (output.kind != api::PortKind::Output) continue;
      for (const PortMemory& other : memory) {
        const bool itself = other.kind == output.kind && other.port == output.port;
        if (itself || !(output.staged || other.staged) || !api::overlap(output.view, other.view)) continue;
        const std::string& name = block().outputs[output.port].name;
        if (other.kind == api::PortKind::Input) {
          return error(ErrorCode::InvalidArgument, "the buffer of output '{}' overlaps an input", name);
        }
        return error(ErrorCode::InvalidArgument, "the buffers of outputs '{}' and '{}' overlap", name,
                     block().outputs[other.port].name);
      }
    }
    staging_checked = true;
    return {};
  }

  struct PortMemory {
    api::PortKind kind = api::PortKind::Input;
    size_t port = 0;
    TensorView view;
    bool staged = false;
  };

  std::vector<PortMemory> port_memory() const {
    std::vector<PortMemory> list;
    for (const api::Staged& staged : staging.all()) list.push_back({staged.kind, staged.port, staged.view, true});
    const auto add = [&](api::PortKind kind, size_t port, const Value& value) {
      if (value.is_tensor() && !staging.find(kind, port))
        list.push_back({kind, port, api::view_of(value.tensor()), false});
    };
    for (size_t i = 0; i < inputs.size(); ++i) add(api::PortKind::Input, i, inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i) add(api::PortKind::Output, i, bound[i].value);
    return list;
  }
};

Context::Context(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> Engine::context(const ContextOptions& options) const {
  return api::guarded([&]() -> Result<Context> { return Context(std::make_unique<Context::Impl>(impl_, options)); });
}

Result<void> Context::bind(std::string_view name, const TensorView& tensor) {
  return api::guarded([&]() -> Result<void> {
    if (const auto input = Impl::find(impl_->block().inputs, name)) return impl_->bind_input(*input, tensor);
    if (const auto output = Impl::find(impl_->block().outputs, name)) return impl_->bind_output(*output, tensor);
    return impl_->unknown_name(name);
  });
}

Result<void> Context::bind_input(size_t index, const TensorView& tensor) {
  return api::guarded([&]() -> Result<void> {
    if (index < impl_->inputs.size()) return impl_->bind_input(index, tensor);
    return error(ErrorCode::InvalidArgument, "there is no input {}: the engine has {}", index, impl_->inputs.size());
  });
}

Result<void> Context::bind_output(size_t index, const TensorView& tensor) {
  return api::guarded([&]() -> Result<void> {
    if (index < impl_->outputs.size()) return impl_->bind_output(index, tensor);
    return error(ErrorCode::InvalidArgument, "there is no output {}: the engine has {}", index, impl_->outputs.size());
  });
}

void Context::reset() { impl_->reset(); }

Result<void> Context::run() {
  return api::guarded([&] { return impl_->run(nullptr); });
}

Result<TensorView> Context::output(std::string_view name) const {
  return api::guarded([&]() -> Result<TensorView> {
    const auto index = Impl::find(impl_->block().outputs, name);
    if (!index) return impl_->unknown_name(name);
    if (const api::Staged* staged = impl_->staging.find(api::PortKind::Output, *index)) return staged->view;
    const Value& value = impl_->outputs[*index];
    if (value.is_tensor()) return api::view_of(value.tensor());
    return error(ErrorCode::InvalidArgument,
                 "output '{}' is not there: run first (sequences and optionals have no view)", name);
  });
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
