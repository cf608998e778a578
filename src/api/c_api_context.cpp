// The C API: contexts.
#include "api/c_api.h"

namespace {

using strop::Result;
using strop::TensorView;
using strop::c::guarded;
using strop::c::require;

Result<strop::ContextOptions> context_options(const strop_context_options* options) {
  STROP_ASSIGN(const strop_context_options given, strop::c::read_struct<strop_context_options>(
                                                      options, STROP_CONTEXT_OPTIONS_INIT, "strop_context_options"));
  if (given.max_cached_shapes < 0) {
    return strop::error(strop::ErrorCode::InvalidArgument, "{} shapes cannot be kept", given.max_cached_shapes);
  }
  strop::ContextOptions result;
  if (given.max_cached_shapes > 0) result.max_cached_shapes = given.max_cached_shapes;
  if (given.allocate_output != nullptr) {
    result.allocate_output = [ask = given.allocate_output, user = given.allocate_output_user](
                                 std::string_view name, strop::DType dtype, const std::vector<int64_t>& shape) {
      return ask(user, std::string(name).c_str(), static_cast<strop_dtype>(dtype), shape.data(),
                 static_cast<int32_t>(shape.size()));
    };
  }
  return result;
}

/// Binds by `bind`, and keeps the strings of an input.
template <class Bind>
strop_code bind_tensor(strop_context* context, const strop_tensor* tensor, strop_error* error, Bind&& bind) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(context, "'context'"));
    std::vector<std::string> strings;
    STROP_ASSIGN(const TensorView view, strop::c::read_tensor(tensor, strings));
    STROP_ASSIGN(const std::string name, bind(view));
    if (view.dtype == strop::DType::String) context->bound_strings[name] = std::move(strings);
    context->shown.clear();
    return {};
  });
}

bool has(const std::vector<strop::PortInfo>& ports, std::string_view name) {
  return std::any_of(ports.begin(), ports.end(), [&](const strop::PortInfo& port) { return port.name == name; });
}

// What would be written to are strings of C++.
Result<void> refuse_strings(const TensorView& view) {
  if (view.dtype != strop::DType::String) return {};
  return strop::error(strop::ErrorCode::InvalidArgument,
                      "outputs of strings cannot be bound: read them with strop_context_output");
}

}  // namespace

strop_code strop_context_create(const strop_engine* engine, const strop_context_options* options,
                                strop_context** context, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(engine, "'engine'"));
    STROP_TRY(require(context, "'context'"));
    STROP_ASSIGN(const strop::ContextOptions read, context_options(options));
    STROP_ASSIGN(strop::Context made, engine->engine.context(read));
    *context = new strop_context{std::move(made), engine->engine, {}, {}};
    return {};
  });
}

void strop_context_free(strop_context* context) { delete context; }

strop_code strop_context_bind(strop_context* context, const char* name, const strop_tensor* tensor,
                              strop_error* error) {
  return bind_tensor(context, tensor, error, [&](const TensorView& view) -> Result<std::string> {
    STROP_TRY(require(name, "'name'"));
    if (!has(context->engine.inputs(), name) && has(context->engine.outputs(), name)) STROP_TRY(refuse_strings(view));
    STROP_TRY(context->context.bind(name, view));
    return std::string(name);
  });
}

strop_code strop_context_bind_input(strop_context* context, size_t index, const strop_tensor* tensor,
                                    strop_error* error) {
  return bind_tensor(context, tensor, error, [&](const TensorView& view) -> Result<std::string> {
    STROP_TRY(context->context.bind_input(index, view));
    return context->engine.inputs()[index].name;
  });
}

strop_code strop_context_bind_output(strop_context* context, size_t index, const strop_tensor* tensor,
                                     strop_error* error) {
  return bind_tensor(context, tensor, error, [&](const TensorView& view) -> Result<std::string> {
    STROP_TRY(refuse_strings(view));
    STROP_TRY(context->context.bind_output(index, view));
    return std::string();
  });
}

strop_code strop_context_reset(strop_context* context, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(context, "'context'"));
    context->context.reset();
    context->bound_strings.clear();
    context->shown.clear();
    return {};
  });
}

strop_code strop_context_run(strop_context* context, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(context, "'context'"));
    return context->context.run();
  });
}

strop_code strop_context_output(strop_context* context, const char* name, strop_tensor* tensor, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(context, "'context'"));
    STROP_TRY(require(name, "'name'"));
    STROP_ASSIGN(TensorView view, context->context.output(name));
    strop_context::Shown& shown = context->shown[name];
    shown.view = std::move(view);
    strop_tensor result = STROP_TENSOR_INIT;
    result.dtype = static_cast<strop_dtype>(shown.view.dtype);
    result.rank = static_cast<int32_t>(shown.view.shape.size());
    result.dims = shown.view.shape.data();
    result.strides = shown.view.strides.empty() ? nullptr : shown.view.strides.data();
    result.data = shown.view.data;
    if (shown.view.dtype == strop::DType::String) {
      const auto* first = static_cast<const std::string*>(shown.view.data);
      shown.texts.clear();
      for (int64_t i = 0; i < shown.view.count(); ++i) shown.texts.push_back({first[i].data(), first[i].size()});
      result.data = shown.texts.data();
    }
    return strop::c::write_struct(tensor, result, "strop_tensor");
  });
}

strop_code strop_context_profile(strop_context* context, double* times_us, size_t capacity, size_t* count,
                                 strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(context, "'context'"));
    if (capacity > 0) STROP_TRY(require(times_us, "'times_us'"));
    STROP_TRY(require(count, "'count'"));
    STROP_ASSIGN(const std::vector<strop::StepTime> times, context->context.profile());
    for (size_t i = 0; i < std::min(times.size(), capacity); ++i) times_us[i] = times[i].time_us;
    *count = times.size();
    return {};
  });
}

strop_code strop_context_memory(const strop_context* context, strop_memory_info* info, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(context, "'context'"));
    const strop::MemoryInfo memory = context->context.memory();
    return strop::c::write_struct(
        info,
        strop_memory_info{sizeof(strop_memory_info), memory.arena_bytes, memory.arena_lower_bound_bytes,
                          memory.intermediate_bytes, memory.workspace_bytes, memory.weight_bytes},
        "strop_memory_info");
  });
}
