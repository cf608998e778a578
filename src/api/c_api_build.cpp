// The C API: compiling, judging and inspecting. Not part of the runtime library.
#include "api/c_api.h"
#include "api/json.h"

namespace {

using strop::ErrorCode;
using strop::Result;
using strop::c::guarded;
using strop::c::read_struct;
using strop::c::require;

Result<strop::Model> read_model(const strop_model* model) {
  STROP_TRY(require(model, "'model'"));
  STROP_ASSIGN(const strop_model given, read_struct<strop_model>(model, STROP_MODEL_INIT, "strop_model"));
  if (given.path != nullptr && given.bytes != nullptr)
    return strop::error(ErrorCode::InvalidArgument, "strop_model has a path and bytes: give one of them");
  if (given.path != nullptr) return strop::Model(given.path);
  STROP_TRY(require(given.bytes, "strop_model's 'path'"));
  return strop::Model::from_memory(std::string(static_cast<const char*>(given.bytes), given.byte_count),
                                   strop::c::text_or(given.folder, ""));
}

std::vector<int64_t> dims_of(const int64_t* dims, const strop_shape& shape) {
  const int64_t* from = dims != nullptr ? dims : shape.opt;
  return {from, from + shape.rank};
}

/// An array of structs of the caller's: elements are as large as the first says.
template <class T>
Result<std::vector<T>> read_array(const T* first, size_t count, const T& defaults, const char* type) {
  std::vector<T> result;
  if (count > 0) STROP_TRY(require(first, type));
  const auto* at = reinterpret_cast<const char*>(first);
  for (size_t i = 0; i < count; ++i, at += first->size) {
    STROP_ASSIGN(const T item, read_struct<T>(reinterpret_cast<const T*>(at), defaults, type));
    result.push_back(item);
  }
  return result;
}

using Profiles = std::map<std::string, strop::ShapeProfile>;

Result<Profiles> read_shapes(const strop_shape* shapes, size_t count) {
  STROP_ASSIGN(const std::vector<strop_shape> items,
               read_array<strop_shape>(shapes, count, STROP_SHAPE_INIT, "strop_shape"));
  Profiles profiles;
  for (const strop_shape& shape : items) {
    STROP_TRY(require(shape.name, "strop_shape's 'name'"));
    constexpr int32_t kMostAxes = 64;
    if (shape.rank < 0 || shape.rank > kMostAxes)
      return strop::error(ErrorCode::InvalidArgument, "input '{}': {} dimensions", shape.name, shape.rank);
    if (shape.rank > 0 && (shape.min == nullptr || shape.max == nullptr))
      STROP_TRY(require(shape.opt, "strop_shape's 'opt'"));
    const auto& opt = shape.opt != nullptr ? shape.opt : shape.max;
    if (!profiles
             .emplace(shape.name,
                      strop::ShapeProfile{dims_of(shape.min, shape), dims_of(opt, shape), dims_of(shape.max, shape)})
             .second)
      return strop::error(ErrorCode::InvalidArgument, "input '{}' has two shapes", shape.name);
  }
  return profiles;
}

Result<std::map<std::string, strop::PortFormat>> read_io(const strop_port_format* formats, size_t count) {
  STROP_ASSIGN(const std::vector<strop_port_format> items,
               read_array<strop_port_format>(formats, count, STROP_PORT_FORMAT_INIT, "strop_port_format"));
  std::map<std::string, strop::PortFormat> io;
  for (const strop_port_format& format : items) {
    STROP_TRY(require(format.name, "strop_port_format's 'name'"));
    if (format.dtype < STROP_UNDEFINED || format.dtype > STROP_I2)
      return strop::error(ErrorCode::InvalidArgument, "{} is no element type", format.dtype);
    io[format.name] = {static_cast<strop::DType>(format.dtype), strop::c::text_or(format.layout, "")};
  }
  return io;
}

Result<void> check_choices(const strop_build_options& given) {
  if (given.device < STROP_DEVICE_AUTO || given.device > STROP_DEVICE_CUDA)
    return strop::error(ErrorCode::InvalidArgument, "{} is no device kind", given.device);
  if (given.precision < STROP_PRECISION_FP32 || given.precision > STROP_PRECISION_MIXED)
    return strop::error(ErrorCode::InvalidArgument, "{} is no precision", given.precision);
  return {};
}

Result<strop::BuildOptions> read_build_options(const strop_build_options* options) {
  STROP_ASSIGN(const strop_build_options given,
               read_struct<strop_build_options>(options, STROP_BUILD_OPTIONS_INIT, "strop_build_options"));
  STROP_TRY(check_choices(given));
  strop::BuildOptions result;
  result.device = {static_cast<strop::DeviceKind>(given.device), given.device_index};
  result.precision = static_cast<strop::Precision>(given.precision);
  result.effort = given.effort;
  result.route = strop::c::text_or(given.route, "");
  result.target = strop::c::text_or(given.target, "");
  STROP_ASSIGN(result.shapes, read_shapes(given.shapes, given.shape_count));
  STROP_ASSIGN(result.io, read_io(given.io, given.io_count));
  if (given.output_count > 0) STROP_TRY(require(given.outputs, "strop_build_options' 'outputs'"));
  for (size_t i = 0; i < given.output_count; ++i) {
    STROP_TRY(require(given.outputs[i], "the name of an output"));
    result.outputs.emplace_back(given.outputs[i]);
  }
  result.timing_cache = strop::c::text_or(given.timing_cache, "");
  result.timing_cache_only = given.timing_cache_only != 0;
  result.memory_limit_bytes = given.memory_limit_bytes;
  if (given.progress != nullptr) {
    result.progress = [report = given.progress, user = given.progress_user](const strop::Progress& at) {
      report(user, std::string(at.stage).c_str(), std::string(at.item).c_str(), at.done, at.total);
    };
  }
  return result;
}

Result<strop::VerifyOptions> read_verify_options(const strop_verify_options* options) {
  STROP_ASSIGN(const strop_verify_options given,
               read_struct<strop_verify_options>(options, STROP_VERIFY_OPTIONS_INIT, "strop_verify_options"));
  if (given.metric < STROP_METRIC_L0 || given.metric > STROP_METRIC_COS)
    return strop::error(ErrorCode::InvalidArgument, "{} is no metric", given.metric);
  strop::VerifyOptions result;
  result.metric = static_cast<strop::Metric>(given.metric);
  if (given.limit != STROP_DEFAULT_LIMIT) result.limit = given.limit;
  result.seed = given.seed;
  STROP_ASSIGN(const Profiles profiles, read_shapes(given.shapes, given.shape_count));
  for (const auto& [name, profile] : profiles) result.shapes[name] = profile.opt;
  return result;
}

std::string report_json(const strop::VerifyReport& report) {
  strop::api::Json json{{"pass", report.pass}, {"pairs", report.pairs}, {"outputs", strop::api::Json::array()}};
  for (const strop::OutputError& output : report.outputs) {
    json["outputs"].push_back({{"name", output.name},
                               {"dtype", std::string(to_string(output.dtype))},
                               {"shape", output.shape},
                               {"l0", output.l0},
                               {"l1", output.l1},
                               {"l2", output.l2},
                               {"linf", output.linf},
                               {"rel_l2", output.rel_l2},
                               {"cos", output.cos},
                               {"nan", output.nan},
                               {"inf", output.inf},
                               {"same_shape", output.same_shape}});
  }
  return strop::api::to_text(json);
}

std::string knobs_text() {
  strop::api::Json list = strop::api::Json::array();
  for (const strop::KnobDescription& knob : strop::knobs()) {
    list.push_back({{"name", knob.name},
                    {"help", knob.help},
                    {"values", knob.values},
                    {"default", knob.default_value},
                    {"effect", knob.effect},
                    {"when", knob.when}});
  }
  return strop::api::to_text(list);
}

Result<void> give(const Result<std::string>& text, char** to) {
  if (!text.ok()) return text.error();
  *to = strop::c::to_c_string(*text);
  return {};
}

}  // namespace

strop_code strop_build(const strop_model* model, const strop_build_options* options, const strop_runtime* runtime,
                       strop_engine** engine, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(engine, "'engine'"));
    STROP_ASSIGN(const strop::Model source, read_model(model));
    STROP_ASSIGN(const strop::BuildOptions read, read_build_options(options));
    STROP_ASSIGN(strop::Engine built, strop::build(source, read, strop::c::runtime_of(runtime)));
    *engine = new strop_engine(std::move(built));
    return {};
  });
}

strop_code strop_verify(const strop_engine* engine, const strop_model* model, const strop_verify_options* options,
                        int32_t* pass, char** report, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(engine, "'engine'"));
    STROP_TRY(require(pass, "'pass'"));
    STROP_ASSIGN(const strop::Model source, read_model(model));
    STROP_ASSIGN(const strop::VerifyOptions read, read_verify_options(options));
    STROP_ASSIGN(const strop::VerifyReport made, strop::verify(engine->engine, source, read));
    if (report != nullptr) *report = strop::c::to_c_string(report_json(made));
    *pass = made.pass ? 1 : 0;
    return {};
  });
}

strop_code strop_engine_inspect_json(const strop_engine* engine, char** json, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(engine, "'engine'"));
    STROP_TRY(require(json, "'json'"));
    return give(engine->engine.inspect_json(), json);
  });
}

strop_code strop_inspect_model_json(const strop_model* model, char** json, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(json, "'json'"));
    STROP_ASSIGN(const strop::Model source, read_model(model));
    return give(strop::inspect_model_json(source), json);
  });
}

strop_code strop_knobs_json(char** json, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(json, "'json'"));
    return give(knobs_text(), json);
  });
}

strop_code strop_doctor_json(const char* engine_path, char** json, strop_error* error) {
  return guarded(error, [&]() -> Result<void> {
    STROP_TRY(require(json, "'json'"));
    return give(strop::doctor_json(strop::c::text_or(engine_path, "")), json);
  });
}
