// Building: public options become the compiler's.
#include <algorithm>

#include "api/compile_options.h"
#include "api/impl.h"
#include "api/lockfile.h"
#include "kernels/cpu_target.h"

namespace strop {
namespace api {

Result<void> check_environment(const BuildOptions& options, Log& log) {
  if (options.device.kind == DeviceKind::Cuda) {
    return error(ErrorCode::Device, "this build of Strop has no CUDA backend: use the CPU");
  }
  if (options.device.kind == DeviceKind::Auto)
    log.info("device: cpu ({})", kernels::to_string(kernels::best_cpu_target()));
  if (options.precision != Precision::Fp32) {
    return error(ErrorCode::Unsupported, "only precision fp32 (the model's own types) is available on the CPU so far");
  }
  if (!options.target.empty() && options.target != kernels::to_string(kernels::best_cpu_target())) {
    return error(ErrorCode::Unsupported, "target '{}' cannot be built for here: this machine is '{}'", options.target,
                 kernels::to_string(kernels::best_cpu_target()));
  }
  if (options.effort < 0 || options.effort > 5)
    return error(ErrorCode::InvalidArgument, "effort is 0 to 5, not {}", options.effort);
  if (options.memory_limit_bytes < 0)
    return error(ErrorCode::InvalidArgument, "a memory limit of {} bytes cannot be kept", options.memory_limit_bytes);
  if (options.timing_cache_only && options.timing_cache.empty())
    return error(ErrorCode::InvalidArgument, "timing_cache_only needs a timing cache: name its file");
  return {};
}

}  // namespace api

namespace {

// Equal min and max fix a dimension; different ones name the range of its symbol.
Result<void> apply_profile(const std::string& input, const ShapeProfile& profile, compiler::CompileOptions& options) {
  const auto& low = profile.min.empty() ? profile.opt : profile.min;
  const auto& high = profile.max.empty() ? profile.opt : profile.max;
  if (low.size() != high.size()) {
    return error(ErrorCode::InvalidArgument, "input '{}': the minimum shape has {} dimensions and the maximum {}",
                 input, low.size(), high.size());
  }
  const auto& opt = profile.opt.empty() ? high : profile.opt;
  if (opt.size() != high.size()) {
    return error(ErrorCode::InvalidArgument, "input '{}': the optimum shape has {} dimensions and the maximum {}",
                 input, opt.size(), high.size());
  }
  std::vector<int64_t> fixed;
  for (size_t axis = 0; axis < low.size(); ++axis) {
    if (low[axis] < 0 || low[axis] > high[axis]) {
      return error(ErrorCode::InvalidArgument, "input '{}': dimension {} has minimum {} and maximum {}", input, axis,
                   low[axis], high[axis]);
    }
    if (opt[axis] < low[axis] || opt[axis] > high[axis]) {
      return error(ErrorCode::InvalidArgument, "input '{}': dimension {} has optimum {}, outside {}..{}", input, axis,
                   opt[axis], low[axis], high[axis]);
    }
    fixed.push_back(low[axis] == high[axis] ? low[axis] : -1);
  }
  options.import.shapes.inputs[input] = std::move(fixed);
  return {};
}

// Shapes are asked for as the engine's inputs have them; the importer knows the model's.
std::map<std::string, ShapeProfile> model_profiles(const BuildOptions& options) {
  std::map<std::string, ShapeProfile> profiles = options.shapes;
  for (auto& [input, profile] : profiles) {
    const auto format = options.io.find(input);
    if (format == options.io.end()) continue;
    for (std::vector<int64_t>* dims : {&profile.min, &profile.opt, &profile.max})
      *dims = compiler::in_model_order(format->second.layout, std::move(*dims));
  }
  return profiles;
}

// The ranges of a profile belong to the symbols of the input's dimensions: known once the model is imported.
Result<void> apply_ranges(const Model& source, const BuildOptions& options, compiler::CompileOptions& out) {
  const std::map<std::string, ShapeProfile> profiles = model_profiles(options);
  const bool ranged = std::any_of(profiles.begin(), profiles.end(),
                                  [](const auto& item) { return item.second.min != item.second.max; });
  if (!ranged) return {};
  STROP_ASSIGN(const onnx::ImportedModel model, compiler::import_for(api::source_of(source), out));
  for (const ir::Port& port : model.graph->inputs) {
    const auto profile = profiles.find(port.name);
    const Type& type = model.graph->value(port.value).type;
    if (profile == profiles.end() || !type.is_tensor() || !type.tensor.has_rank()) continue;
    for (size_t axis = 0; axis < profile->second.min.size() && axis < type.tensor.dims().size(); ++axis) {
      const Dim& dim = type.tensor.dims()[axis];
      if (!dim.is_symbol()) continue;
      if (axis < profile->second.opt.size()) out.select.optimum.try_emplace(dim.to_string(), profile->second.opt[axis]);
      auto [range, inserted] =
          out.ranges.try_emplace(dim.to_string(), tactics::Range{profile->second.min[axis], profile->second.max[axis]});
      if (inserted) continue;
      range->second.min = std::max(range->second.min, profile->second.min[axis]);
      range->second.max = std::min(range->second.max, profile->second.max[axis]);
    }
  }
  return {};
}

}  // namespace

Model Model::from_memory(std::string bytes, std::string folder) {
  Model model;
  model.bytes_ = std::make_shared<const std::string>(std::move(bytes));
  model.folder_ = std::move(folder);
  return model;
}

namespace api {

compiler::ModelSource source_of(const Model& model) { return {model.path(), model.bytes(), model.folder()}; }

Result<compiler::CompileOptions> compile_options(const BuildOptions& options) {
  compiler::CompileOptions out;
  out.route = options.route;
  out.select.effort = options.effort;
  out.select.cache_only = options.timing_cache_only;
  out.select.memory_limit_bytes = options.memory_limit_bytes;
  out.timing_cache = options.timing_cache;
  out.import.outputs = options.outputs;
  for (const auto& [input, profile] : model_profiles(options)) STROP_TRY(apply_profile(input, profile, out));
  for (const auto& [name, format] : options.io) out.io[name] = {format.dtype, format.layout};
  if (options.progress) {
    out.progress = [sink = options.progress](std::string_view stage, std::string_view item, int64_t done,
                                             int64_t total) {
      sink({stage, item, done, total});
    };
  }
  return out;
}

}  // namespace api

namespace {

/// With a lockfile: its times, threads and model; `options` are its own by now.
Result<Engine> build_engine(const Model& model, const BuildOptions& options, const api::Lockfile* lock,
                            const Runtime& runtime) {
  STROP_ASSIGN(compiler::CompileOptions compile, api::compile_options(options));
  if (compile.select.memory_limit_bytes == 0)
    compile.select.memory_limit_bytes = std::max<int64_t>(runtime.impl()->memory_limit_bytes, 0);
  STROP_TRY(apply_ranges(model, options, compile));
  if (lock) {
    compile.times = &lock->times;
    compile.model_digest = lock->model_digest;
    compile.select.device = lock->device;
    compile.select.threads = lock->threads;
  }
  STROP_ASSIGN(compiler::Compiled compiled,
               compiler::compile(api::source_of(model), compile,
                                 {*runtime.impl()->threads, *runtime.impl()->log, runtime.impl()->cancel}));
  STROP_ASSIGN(Engine engine, api::make_engine(compiled.image, runtime));
  if (!options.write_lockfile.empty())
    STROP_TRY(api::write_lockfile(api::lockfile_of(options, compiled, engine), options.write_lockfile));
  return engine;
}

}  // namespace

Result<Engine> build(const Model& model, const BuildOptions& options, const Runtime& runtime) {
  return api::guarded([&]() -> Result<Engine> {
    STROP_TRY(api::check_environment(options, *runtime.impl()->log));
    if (options.lockfile.empty()) return build_engine(model, options, nullptr, runtime);
    STROP_ASSIGN(const api::Lockfile lock, api::read_lockfile(options.lockfile));
    STROP_ASSIGN(const BuildOptions locked, api::locked_options(lock, options.lockfile, options));
    STROP_ASSIGN(Engine engine, build_engine(model, locked, &lock, runtime));
    if (engine.file_digest() != lock.file_digest) {
      return error(ErrorCode::InvalidArgument,
                   "rebuilding gave another engine than lockfile '{}' says: file digest {}, not {}. Was the lockfile "
                   "changed?",
                   options.lockfile, engine.file_digest(), lock.file_digest);
    }
    return engine;
  });
}

std::vector<KnobDescription> knobs() {
  std::vector<KnobDescription> list;
  for (const KnobInfo* knob : compiler::compiler_knobs().all()) {
    KnobDescription item{std::string(knob->name),
                         std::string(knob->help),
                         std::string(knob->default_value),
                         std::string(to_string(knob->effect)),
                         "",
                         {}};
    if (!knob->when_knob.empty()) item.when = fmt::format("{}={}", knob->when_knob, knob->when_value);
    for (const std::string_view value : knob->values) item.values.emplace_back(value);
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace strop
