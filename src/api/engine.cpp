#include <algorithm>

#include "api/impl.h"
#include "compiler/compile.h"
#include "kernels/cpu_target.h"

namespace strop {
namespace {

/// Hands messages to the caller's function.
class CallbackLog final : public Log {
 public:
  explicit CallbackLog(std::function<void(LogLevel, std::string_view)> sink) : sink_(std::move(sink)) {}
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel level, std::string_view message) override { sink_(level, message); }

 private:
  std::function<void(LogLevel, std::string_view)> sink_;
};

const plan::Block& main_block(const Engine::Impl& impl) { return impl.image.plan->blocks[0]; }

Result<void> check_device(const BuildOptions& options, Log& log) {
  if (options.device.kind == DeviceKind::Cuda) {
    return error(ErrorCode::Device, "this build of Strop has no CUDA backend: use the CPU");
  }
  if (options.device.kind == DeviceKind::Auto) log.info("device: cpu ({})", kernels::to_string(kernels::best_cpu_target()));
  if (options.precision != Precision::Fp32) {
    return error(ErrorCode::Unsupported, "only precision fp32 (the model's own types) is available on the CPU so far");
  }
  if (!options.target.empty() && options.target != kernels::to_string(kernels::best_cpu_target())) {
    return error(ErrorCode::Unsupported, "target '{}' cannot be built for here: this machine is '{}'", options.target,
                 kernels::to_string(kernels::best_cpu_target()));
  }
  if (options.effort < 0 || options.effort > 5) return error(ErrorCode::InvalidArgument, "effort is 0 to 5, not {}", options.effort);
  return {};
}

// Equal min and max fix a dimension; different ones name the range of its symbol.
Result<void> apply_profile(const std::string& input, const ShapeProfile& profile, compiler::CompileOptions& options) {
  const auto& low = profile.min.empty() ? profile.opt : profile.min;
  const auto& high = profile.max.empty() ? profile.opt : profile.max;
  if (low.size() != high.size()) {
    return error(ErrorCode::InvalidArgument, "input '{}': the minimum shape has {} dimensions and the maximum {}", input, low.size(), high.size());
  }
  std::vector<int64_t> fixed;
  for (size_t axis = 0; axis < low.size(); ++axis) {
    if (low[axis] < 0 || low[axis] > high[axis]) {
      return error(ErrorCode::InvalidArgument, "input '{}': dimension {} has minimum {} and maximum {}", input, axis, low[axis], high[axis]);
    }
    fixed.push_back(low[axis] == high[axis] ? low[axis] : -1);
  }
  options.import.shapes.inputs[input] = std::move(fixed);
  return {};
}

Result<compiler::CompileOptions> compile_options(const BuildOptions& options) {
  compiler::CompileOptions out;
  out.route = options.route;
  out.import.outputs = options.outputs;
  for (const auto& [input, profile] : options.shapes) STROP_TRY(apply_profile(input, profile, out));
  if (options.progress) {
    out.progress = [sink = options.progress](std::string_view stage, std::string_view item, int64_t done, int64_t total) {
      sink({stage, item, done, total});
    };
  }
  return out;
}

// The ranges of a profile belong to the symbols of the input's dimensions: known once the model is imported.
Result<void> apply_ranges(const std::string& model_path, const BuildOptions& options, compiler::CompileOptions& out) {
  const bool ranged = std::any_of(options.shapes.begin(), options.shapes.end(), [](const auto& item) { return item.second.min != item.second.max; });
  if (!ranged) return {};
  STROP_ASSIGN(const onnx::ImportedModel model, compiler::import_for(model_path, out));
  for (const ir::Port& port : model.graph->inputs) {
    const auto profile = options.shapes.find(port.name);
    const Type& type = model.graph->value(port.value).type;
    if (profile == options.shapes.end() || !type.is_tensor() || !type.tensor.has_rank()) continue;
    for (size_t axis = 0; axis < profile->second.min.size() && axis < type.tensor.dims().size(); ++axis) {
      const Dim& dim = type.tensor.dims()[axis];
      if (!dim.is_symbol()) continue;
      auto [range, inserted] = out.ranges.try_emplace(dim.to_string(), tactics::Range{profile->second.min[axis], profile->second.max[axis]});
      if (inserted) continue;
      range->second.min = std::max(range->second.min, profile->second.min[axis]);
      range->second.max = std::min(range->second.max, profile->second.max[axis]);
    }
  }
  return {};
}

}  // namespace

const char* version() { return STROP_VERSION; }

Runtime::Runtime(RuntimeOptions options) : impl_(std::make_shared<Impl>()) {
  impl_->threads = make_thread_pool(options.threads > 0 ? options.threads : available_cpus());
  if (options.log) {
    impl_->log = std::make_unique<CallbackLog>(std::move(options.log));
  } else {
    impl_->log = std::make_unique<StderrLog>(LogLevel::Warning);
  }
}

int Runtime::threads() const { return impl_->threads->count(); }
void Runtime::cancel() noexcept { impl_->cancel.cancel(); }

namespace api {

Result<Engine> make_engine(engine::EngineImage image, const Runtime& runtime) {
  auto impl = std::make_shared<Engine::Impl>();
  impl->runtime = runtime;
  STROP_ASSIGN(impl->program, runtime::make_program(image.plan, image.weights, ops::builtin_operators(), tactics::builtin_cpu_tactics()));
  impl->image = std::move(image);
  return Engine(std::shared_ptr<const Engine::Impl>(std::move(impl)));
}

}  // namespace api

Result<Engine> build(const std::string& model_path, const BuildOptions& options, const Runtime& runtime) {
  return api::guarded([&]() -> Result<Engine> {
    STROP_TRY(check_device(options, *runtime.impl()->log));
    STROP_ASSIGN(compiler::CompileOptions compile, compile_options(options));
    STROP_TRY(apply_ranges(model_path, options, compile));
    STROP_ASSIGN(compiler::Compiled compiled,
                 compiler::compile(model_path, compile, {*runtime.impl()->threads, *runtime.impl()->log, runtime.impl()->cancel}));
    return api::make_engine(std::move(compiled.image), runtime);
  });
}

Result<Engine> Engine::load(const std::string& path, const Runtime& runtime, const LoadOptions& options) {
  return api::guarded([&]() -> Result<Engine> {
    STROP_ASSIGN(engine::ReadEngine read, engine::read_engine(path, *runtime.impl()->threads, {options.required_key}));
    const std::string here = kernels::to_string(kernels::best_cpu_target());
    const std::string& target = read.image.plan->devices[0].target;
    const auto level = [](std::string_view name) { return name == "avx512" ? 2 : name == "avx2" ? 1 : 0; };
    if (level(target) > level(here)) {
      return error(ErrorCode::InvalidEngine, "engine '{}' needs {}, this CPU offers {}: build it again here", path, target, here);
    }
    if (const std::string& made = read.image.record["fingerprint"]; made != compiler::fingerprint()) {
      runtime.impl()->log->warning("engine '{}' was made with '{}', this is '{}'", path, made, compiler::fingerprint());
    }
    auto made = api::make_engine(std::move(read.image), runtime);
    if (!made.ok()) return in_context(made.error(), fmt::format("engine '{}'", path));
    auto impl = std::make_shared<Impl>(made->impl());
    impl->digests = read.digests;
    impl->has_digests = true;
    return Engine(std::shared_ptr<const Impl>(std::move(impl)));
  });
}

Result<void> Engine::save(const std::string& path, const SaveOptions& options) const {
  return api::guarded([&]() -> Result<void> {
    STROP_TRY(engine::write_engine(impl_->image, path, *impl_->runtime.impl()->threads, {options.signing_key}));
    return {};
  });
}

namespace {

std::vector<PortInfo> port_infos(const std::vector<plan::PortDesc>& ports, const plan::ShapeProgram& shapes) {
  std::vector<PortInfo> infos;
  for (const plan::PortDesc& port : ports) {
    PortInfo info;
    info.name = port.name;
    info.kind = port.type.kind == TypeKind::Sequence ? "sequence" : port.type.kind == TypeKind::Optional ? "optional" : "tensor";
    info.dtype = port.type.dtype;
    info.known_rank = port.type.dims.has_value();
    if (info.known_rank) info.shape = api::shape_text(port.type, shapes);
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace

std::vector<PortInfo> Engine::inputs() const { return port_infos(main_block(*impl_).inputs, main_block(*impl_).shapes); }
std::vector<PortInfo> Engine::outputs() const { return port_infos(main_block(*impl_).outputs, main_block(*impl_).shapes); }

std::string Engine::device() const {
  const plan::DeviceDesc& device = impl_->image.plan->devices[0];
  return fmt::format("{} ({})", device.kind, device.target);
}

std::string Engine::plan_digest() const {
  return (impl_->has_digests ? impl_->digests : engine::engine_digests(impl_->image, *impl_->runtime.impl()->threads)).plan.hex();
}

std::string Engine::file_digest() const {
  return (impl_->has_digests ? impl_->digests : engine::engine_digests(impl_->image, *impl_->runtime.impl()->threads)).file.hex();
}

std::vector<KnobDescription> knobs() {
  std::vector<KnobDescription> list;
  for (const KnobInfo* knob : compiler::compiler_knobs().all()) {
    KnobDescription item{std::string(knob->name), std::string(knob->help), std::string(knob->default_value), std::string(to_string(knob->effect)), "", {}};
    if (!knob->when_knob.empty()) item.when = fmt::format("{}={}", knob->when_knob, knob->when_value);
    for (const std::string_view value : knob->values) item.values.emplace_back(value);
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace strop
