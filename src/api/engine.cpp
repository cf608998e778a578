#include "api/impl.h"
#include "kernels/cpu_target.h"
#include "plan/arena.h"
#include "runtime/block_types.h"
#include "tactics/fingerprint.h"

namespace strop {
namespace {

const plan::Block& main_block(const Engine::Impl& impl) { return impl.image.plan->blocks[0]; }

}  // namespace

namespace api {

Result<Engine> make_engine(engine::EngineImage image, const Runtime& runtime) {
  auto impl = std::make_shared<Engine::Impl>();
  impl->runtime = runtime;
  STROP_ASSIGN(impl->program, runtime::make_program(image.plan, image.weights, ops::builtin_operators(),
                                                    tactics::builtin_cpu_tactics()));
  impl->image = std::move(image);
  return Engine(std::shared_ptr<const Engine::Impl>(std::move(impl)));
}

}  // namespace api

namespace {

/// A read engine, if this machine can run it. `name` is how messages call it.
Result<Engine> open_engine(engine::ReadEngine read, const std::string& name, const Runtime& runtime) {
  const kernels::CpuTarget here = kernels::best_cpu_target();
  const std::string& target = read.image.plan->devices[0].target;
  const std::string& kind = read.image.plan->devices[0].kind;
  if (kind != "cpu")
    return error(ErrorCode::InvalidEngine, "{} is for device '{}', which this Strop cannot use", name, kind);
  const auto needed = kernels::parse_cpu_target(target);
  if (!needed || *needed > here) {
    return error(ErrorCode::InvalidEngine, "{} needs {}, this CPU offers {}: build it again here", name, target,
                 kernels::to_string(here));
  }
  if (const std::string& made = read.image.record["fingerprint"]; made != tactics::fingerprint())
    runtime.impl()->log->warning("{} was made with '{}', this is '{}'", name, made, tactics::fingerprint());
  auto made = api::make_engine(std::move(read.image), runtime);
  if (!made.ok()) return in_context(made.error(), name);
  Engine::Impl::KnownDigests& known = *made->impl().known_digests;
  std::call_once(known.once, [&] { known.value = read.digests; });
  return made;
}

}  // namespace

Result<Engine> Engine::load(const std::string& path, const Runtime& runtime, const LoadOptions& options) {
  return api::guarded([&]() -> Result<Engine> {
    STROP_ASSIGN(engine::ReadEngine read, engine::read_engine(path, *runtime.impl()->threads, {options.required_key}));
    return open_engine(std::move(read), fmt::format("engine '{}'", path), runtime);
  });
}

Result<Engine> Engine::load_from_memory(std::span<const std::byte> bytes, const Runtime& runtime,
                                        const LoadOptions& options) {
  return api::guarded([&]() -> Result<Engine> {
    static_assert(plan::kArenaAlignment >= engine::kWeightAlignment);
    const auto copy = runtime::allocate(runtime.impl()->memory, static_cast<int64_t>(bytes.size()));
    if (!copy) return error(ErrorCode::OutOfMemory, "there is no memory for an engine of {} bytes", bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.get());
    auto read = engine::read_engine({copy.get(), bytes.size()}, copy, *runtime.impl()->threads, {options.required_key});
    if (!read.ok()) return in_context(read.error(), "engine in memory");
    return open_engine(std::move(*read), "engine in memory", runtime);
  });
}

Result<void> Engine::save(const std::string& path, const SaveOptions& options) const {
  return api::guarded([&]() -> Result<void> {
    STROP_TRY(engine::write_engine(impl_->image, path, *impl_->runtime.impl()->threads, {options.signing_key}));
    return {};
  });
}

namespace {

std::vector<PortInfo> port_infos(const plan::Block& block, const std::vector<plan::PortDesc>& ports) {
  const runtime::BlockTypes types(block);
  std::vector<PortInfo> infos;
  for (const plan::PortDesc& port : ports) {
    PortInfo info;
    info.name = port.name;
    info.kind = port.type.kind == TypeKind::Sequence   ? "sequence"
                : port.type.kind == TypeKind::Optional ? "optional"
                                                       : "tensor";
    info.dtype = port.type.dtype;
    info.known_rank = port.type.dims.has_value();
    if (info.known_rank) {
      const Type type = types.type(port.type);
      for (const Dim& dim : type.tensor.dims()) info.shape.push_back(dim.to_string());
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

/// Limits and optimum of an input, if any of its dimensions has a range.
ShapeProfile profile_of(const engine::EngineImage& image, const plan::PortDesc& port) {
  const plan::Block& block = image.plan->blocks[0];
  if (port.type.kind != TypeKind::Tensor || !port.type.dims) return {};
  ShapeProfile profile;
  bool is_ranged = false;
  for (const plan::Reg reg : *port.type.dims) {
    const plan::ShapeInstr& instr = block.shapes.instrs[static_cast<size_t>(reg)];
    const auto symbol = static_cast<size_t>(instr.value);
    plan::SymbolRange range;
    int64_t opt = 1;
    if (instr.op == plan::ShapeOp::Constant) {
      range = {instr.value, instr.value};
      opt = instr.value;
    } else if (instr.op == plan::ShapeOp::Symbol) {
      if (symbol < block.ranges.size()) range = block.ranges[symbol];
      opt = api::usual_size(image, block.shapes.symbols[symbol]);
      is_ranged |= range.max != INT64_MAX;
    }
    profile.min.push_back(range.min);
    profile.opt.push_back(opt);
    profile.max.push_back(range.max);
  }
  return is_ranged ? profile : ShapeProfile();
}

}  // namespace

std::vector<PortInfo> Engine::inputs() const {
  const plan::Block& block = main_block(*impl_);
  std::vector<PortInfo> infos = port_infos(block, block.inputs);
  for (size_t i = 0; i < infos.size(); ++i) infos[i].profile = profile_of(impl_->image, block.inputs[i]);
  return infos;
}
std::vector<PortInfo> Engine::outputs() const { return port_infos(main_block(*impl_), main_block(*impl_).outputs); }

Result<std::map<std::string, std::vector<int64_t>>> Engine::input_shapes(
    const std::map<std::string, std::vector<int64_t>>& given) const {
  return api::guarded([&]() -> Result<std::map<std::string, std::vector<int64_t>>> {
    STROP_ASSIGN(const std::vector<Type> types, api::input_types(impl_->image, given));
    std::map<std::string, std::vector<int64_t>> shapes;
    for (size_t i = 0; i < types.size(); ++i)
      shapes[main_block(*impl_).inputs[i].name] = *as_constants(types[i].tensor.dims());
    return shapes;
  });
}

Engine Engine::on(const Runtime& runtime) const {
  auto impl = std::make_shared<Impl>(*impl_);
  impl->runtime = runtime;
  return Engine(std::shared_ptr<const Impl>(std::move(impl)));
}

std::string Engine::device() const {
  const plan::DeviceDesc& device = impl_->image.plan->devices[0];
  return fmt::format("{} ({})", device.kind, device.target);
}

const engine::Digests& Engine::Impl::digests() const {
  std::call_once(known_digests->once,
                 [&] { known_digests->value = engine::engine_digests(image, *runtime.impl()->threads); });
  return known_digests->value;
}

std::string Engine::plan_digest() const { return impl_->digests().plan.hex(); }
std::string Engine::file_digest() const { return impl_->digests().file.hex(); }

}  // namespace strop
