// The C API: engines.
#include <charconv>

#include "api/c_api.h"

namespace {

using strop::Engine;
using strop::Result;
using strop::c::guarded;
using strop::c::require;

int64_t number_or_open(const std::string& text) {
  int64_t value = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && end == text.data() + text.size() ? value : -1;
}

void fill(std::vector<strop_engine::Port>& ports, std::vector<strop::PortInfo> infos) {
  ports.resize(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    strop_engine::Port& port = ports[i];
    port.info = std::move(infos[i]);
    for (const std::string& dim : port.info.shape) {
      port.dims.push_back(number_or_open(dim));
      port.dim_texts.push_back(dim.c_str());
    }
  }
}

Result<void> describe(const std::vector<strop_engine::Port>& ports, size_t index, strop_port* to) {
  if (index >= ports.size())
    return strop::error(strop::ErrorCode::InvalidArgument, "there is no port {}: the engine has {}", index,
                        ports.size());
  const strop_engine::Port& port = ports[index];
  strop_port port_out = STROP_PORT_INIT;
  port_out.name = port.info.name.c_str();
  port_out.kind = port.info.kind == "sequence"   ? STROP_PORT_SEQUENCE
                  : port.info.kind == "optional" ? STROP_PORT_OPTIONAL
                                                 : STROP_PORT_TENSOR;
  port_out.dtype = static_cast<strop_dtype>(port.info.dtype);
  port_out.rank = port.info.known_rank ? static_cast<int32_t>(port.dims.size()) : -1;
  port_out.dims = port.dims.data();
  port_out.dim_texts = port.dim_texts.data();
  return strop::c::write_struct(to, port_out, "strop_port");
}

std::string key_of(const uint8_t* key) {
  constexpr size_t kKeyBytes = 32;
  return key != nullptr ? std::string(reinterpret_cast<const char*>(key), kKeyBytes) : std::string();
}

Result<strop::LoadOptions> load_options(const strop_load_options* options) {
  STROP_ASSIGN(const strop_load_options given,
               strop::c::read_struct<strop_load_options>(options, STROP_LOAD_OPTIONS_INIT, "strop_load_options"));
  return strop::LoadOptions{key_of(given.required_key)};
}

strop_code give_text(const strop_engine* engine, char** text, strop_error* error,
                     std::string (Engine::*question)() const) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(engine, "'engine'"));
    STROP_TRY(require(text, "'text'"));
    *text = strop::c::to_c_string((engine->engine.*question)());
    return {};
  });
}

}  // namespace

strop_engine::strop_engine(strop::Engine from) : engine(std::move(from)) {
  fill(inputs, engine.inputs());
  fill(outputs, engine.outputs());
}

strop_code strop_engine_load(const char* path, const strop_runtime* runtime, const strop_load_options* options,
                             strop_engine** engine, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(path, "'path'"));
    STROP_TRY(require(engine, "'engine'"));
    STROP_ASSIGN(const strop::LoadOptions read, load_options(options));
    STROP_ASSIGN(Engine loaded, Engine::load(path, strop::c::runtime_of(runtime), read));
    *engine = new strop_engine(std::move(loaded));
    return {};
  });
}

strop_code strop_engine_load_from_memory(const void* bytes, size_t byte_count, const strop_runtime* runtime,
                                         const strop_load_options* options, strop_engine** engine, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(bytes, "'bytes'"));
    STROP_TRY(require(engine, "'engine'"));
    STROP_ASSIGN(const strop::LoadOptions read, load_options(options));
    STROP_ASSIGN(Engine loaded, Engine::load_from_memory({static_cast<const std::byte*>(bytes), byte_count},
                                                         strop::c::runtime_of(runtime), read));
    *engine = new strop_engine(std::move(loaded));
    return {};
  });
}

strop_code strop_engine_save(const strop_engine* engine, const char* path, const strop_save_options* options,
                             strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(engine, "'engine'"));
    STROP_TRY(require(path, "'path'"));
    STROP_ASSIGN(const strop_save_options given,
                 strop::c::read_struct<strop_save_options>(options, STROP_SAVE_OPTIONS_INIT, "strop_save_options"));
    return engine->engine.save(path, {key_of(given.signing_key)});
  });
}

void strop_engine_free(strop_engine* engine) { delete engine; }

size_t strop_engine_input_count(const strop_engine* engine) { return engine != nullptr ? engine->inputs.size() : 0; }
size_t strop_engine_output_count(const strop_engine* engine) { return engine != nullptr ? engine->outputs.size() : 0; }

strop_code strop_engine_input(const strop_engine* engine, size_t index, strop_port* port, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(engine, "'engine'"));
    return describe(engine->inputs, index, port);
  });
}

strop_code strop_engine_output(const strop_engine* engine, size_t index, strop_port* port, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(engine, "'engine'"));
    return describe(engine->outputs, index, port);
  });
}

strop_code strop_engine_device(const strop_engine* engine, char** text, strop_error* error) {
  return give_text(engine, text, error, &Engine::device);
}
strop_code strop_engine_plan_digest(const strop_engine* engine, char** text, strop_error* error) {
  return give_text(engine, text, error, &Engine::plan_digest);
}
strop_code strop_engine_file_digest(const strop_engine* engine, char** text, strop_error* error) {
  return give_text(engine, text, error, &Engine::file_digest);
}
