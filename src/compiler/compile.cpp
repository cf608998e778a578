#include "compiler/compile.h"

#include <algorithm>
#include <utility>

#include "device/cpu_device.h"
#include "kernels/cpu_target.h"
#include "tactics/fingerprint.h"

namespace strop::compiler {

const KnobList& compiler_knobs() {
  static const KnobList kList = [] {
    std::vector<const KnobInfo*> all = passes::pass_knobs();
    for (const auto& group : {select::knobs(), lower_knobs()}) all.insert(all.end(), group.begin(), group.end());
    return KnobList(std::move(all));
  }();
  return kList;
}

namespace {

/// Chooses tactics and lowers; what was measured is saved whether or not that succeeds, so that an interrupted build
/// has not measured in vain.
Result<Lowered> select_and_lower(const ir::Graph& graph, const CompileOptions& options, const Route& route,
                                 const CompileEnvironment& environment, Compiled& compiled) {
  select::TimingCache cache;
  if (options.times) {
    cache = *options.times;
  } else if (!options.timing_cache.empty()) {
    STROP_ASSIGN(cache, select::TimingCache::load(options.timing_cache));
    if (cache.unusable_lines() > 0) {
      environment.log.warning("timing cache '{}': {} lines cannot be used and were ignored", options.timing_cache,
                              cache.unusable_lines());
    }
  }
  const auto device = device::make_cpu_device(kernels::to_string(kernels::best_cpu_target()));
  const auto report = [&](std::string_view stage, std::string_view item, int64_t done, int64_t total) {
    if (options.progress) options.progress(stage, item, done, total);
  };
  const auto total = static_cast<int64_t>(graph.order().size());
  int64_t done = 0;
  select::SelectOptions select_options = options.select;
  select_options.cancel = environment.cancel;
  select_options.on_measure = [&](std::string_view problem) { report("measure", problem, done - 1, total); };
  select::Selector selector(
      {tactics::builtin_cpu_tactics(), *device, environment.threads, tactics::fingerprint(), cache}, route,
      std::move(select_options));
  LowerContext context{selector, route, options.ranges};
  context.memory_limit_bytes = options.select.memory_limit_bytes;
  context.on_node = [&](std::string_view node) { report("select", node, std::min(done++, total), total); };
  auto lowered = lower(graph, context);
  if (!options.timing_cache.empty() && selector.stats().measured > 0) STROP_TRY(cache.save(options.timing_cache));
  if (!lowered.ok()) return lowered.error();
  if (!selector.missing().empty()) {
    return error(
        ErrorCode::NotFound,
        "timing cache '{}' lacks {} problems on this device: build once without timing_cache_only. The first is {}",
        options.timing_cache, selector.missing().size(), selector.missing().front());
  }
  compiled.selected = selector.stats();
  compiled.used = selector.used();
  compiled.device = selector.device();
  compiled.threads = selector.threads();
  environment.log.debug("selection: {} problems measured, {} from the timing cache, {} by estimate",
                        compiled.selected.measured, compiled.selected.cached, compiled.selected.estimated);
  return lowered;
}

}  // namespace

Result<onnx::ImportedModel> import_for(const ModelSource& source, const CompileOptions& options) {
  if (!source.bytes) return onnx::import_model(source.path, options.import);
  onnx::ImportOptions import = options.import;
  if (!source.folder.empty()) import.folder = source.folder;
  return onnx::import_bytes(*source.bytes, source.bytes, import);
}

Result<Compiled> compile(const ModelSource& source, const CompileOptions& options,
                         const CompileEnvironment& environment) {
  const auto report = [&](std::string_view stage, std::string_view item) {
    if (options.progress) options.progress(stage, item, 0, 0);
  };
  Route route(compiler_knobs());
  STROP_TRY(route.parse(options.route));
  STROP_TRY(route.check_conditions());

  report("import", source.path);
  STROP_ASSIGN(onnx::ImportedModel model, import_for(source, options));
  if (!options.model_digest.empty() && model.digest.hex() != options.model_digest) {
    return error(ErrorCode::InvalidArgument, "{} is another model than the lockfile's: its SHA-256 is {}, not {}",
                 source.name(), model.digest.hex(), options.model_digest);
  }
  for (const std::string& warning : model.warnings) environment.log.warning("{}: {}", source.name(), warning);
  STROP_TRY(apply_io(*model.graph, options.io));
  STROP_TRY(environment.cancel.check());

  Compiled compiled;
  compiled.imported_nodes = static_cast<int64_t>(model.graph->order().size());
  passes::RunPassesOptions run_options;
  run_options.on_change = [&](const passes::Pass& pass, const ir::Graph&) { report("passes", pass.name); };
  const passes::PassContext context{
      route, options.import.catalogue ? *options.import.catalogue : ops::builtin_operators(), environment.threads};
  STROP_ASSIGN(compiled.passes, passes::run_passes(*model.graph, passes::default_pipeline(), context, run_options));
  model.graph->compact();
  STROP_TRY(check_memory(options.select.memory_limit_bytes, "the graph after all passes", 0));
  STROP_TRY(environment.cancel.check());

  STROP_ASSIGN(Lowered lowered, select_and_lower(*model.graph, options, route, environment, compiled));
  STROP_TRY(environment.cancel.check());

  compiled.stats = lowered.stats;
  lowered.plan.devices[0].target = kernels::to_string(kernels::best_cpu_target());
  compiled.image.plan = std::make_shared<const plan::Plan>(std::move(lowered.plan));
  compiled.image.weights = std::move(lowered.weights);
  compiled.image.record = {
      {"model_digest", model.digest.hex()},
      {"fingerprint", tactics::fingerprint()},
      {"route", route.to_string()},
      {"route_full", route.full_text()},
      {"precision", options.precision},
      {"timing_cache_digest", compiled.used.size() == 0 ? "" : sha256(compiled.used.text()).hex()},
      {"accuracy", ""},
      {"views", std::to_string(compiled.stats.views)},
      {"in_place", std::to_string(compiled.stats.in_place)},
      {"imported_nodes", std::to_string(compiled.imported_nodes)},
  };
  for (const auto& [symbol, size] : options.select.optimum)
    compiled.image.record[std::string(engine::kOptimumKey) + symbol] = std::to_string(size);
  record_io(options.io, compiled.image.record);
  return compiled;
}

}  // namespace strop::compiler
