#include "compiler/compile.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/memory.h"
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

/// What measures and chooses during one build, and what is known of times.
class Selection {
 public:
  Selection(const CompileOptions& options, const Route& route, const CompileEnvironment& environment)
      : options_(options), route_(route), environment_(environment) {}

  Result<void> start() {
    if (options_.times) {
      cache_ = *options_.times;
    } else if (!options_.timing_cache.empty()) {
      STROP_ASSIGN(cache_, select::TimingCache::load(options_.timing_cache));
      if (cache_.is_newer()) {
        environment_.log.warning("timing cache '{}' is a newer Strop's: it is neither used nor added to",
                                 options_.timing_cache);
      } else if (cache_.unusable_lines() > 0) {
        environment_.log.warning("timing cache '{}': {} lines cannot be used and were ignored", options_.timing_cache,
                                 cache_.unusable_lines());
      }
    }
    device_ = device::make_cpu_device(kernels::to_string(kernels::best_cpu_target()));
    select::SelectOptions select_options = options_.select;
    select_options.cancel = environment_.cancel;
    select_options.on_measure = [this](std::string_view problem) { report("measure", problem); };
    selector_.emplace(select::SelectEnvironment{tactics::builtin_cpu_tactics(), *device_, environment_.threads,
                                                tactics::fingerprint(), cache_},
                      route_, std::move(select_options));
    return {};
  }

  select::Selector& selector() { return *selector_; }
  const CompileOptions& options() const { return options_; }
  const Route& route() const { return route_; }
  const CompileEnvironment& environment() const { return environment_; }

  /// Adds what was measured to the file.
  Result<void> save() {
    if (options_.timing_cache.empty() || cache_.is_newer() || selector_->stats().measured == 0) return {};
    return cache_.save(options_.timing_cache);
  }

  /// Error: times were to be taken from the cache alone, and it lacks some.
  Result<void> check_complete() const {
    if (selector_->missing().empty()) return {};
    return error(
        ErrorCode::NotFound,
        "timing cache '{}' lacks {} problems on this device: build once without timing_cache_only. The first is {}",
        options_.timing_cache, selector_->missing().size(), selector_->missing().front());
  }

  /// From now on progress counts `nodes`.
  void begin_nodes(int64_t nodes) { total_ = nodes; }
  void on_node(std::string_view node) {
    report("select", node);
    ++done_;
  }

 private:
  void report(std::string_view stage, std::string_view item) const {
    if (options_.progress) options_.progress(stage, item, std::min(done_, total_), total_);
  }

  const CompileOptions& options_;
  const Route& route_;
  const CompileEnvironment& environment_;
  select::TimingCache cache_;
  std::unique_ptr<device::Device> device_;
  std::optional<select::Selector> selector_;
  int64_t done_ = 0;
  int64_t total_ = 0;
};

/// Times of nodes for the passes.
class MeasuredCosts : public passes::StepCosts {
 public:
  MeasuredCosts(select::Selector& selector, const CompileOptions& options) : selector_(selector), options_(options) {}
  Result<std::optional<double>> time_us(const ir::Graph& graph, ir::NodeId id) override {
    return selector_.time_us(make_problem(graph, graph.node(id), options_.ranges));
  }

 private:
  select::Selector& selector_;
  const CompileOptions& options_;
};

/// Passes, then tactics and storage. The model's digest, which takes as long as all passes, is found
/// meanwhile, unless a lockfile asked for it before.
Result<Lowered> optimise_and_lower(const onnx::ImportedModel& model, Selection& selection, Compiled& compiled) {
  ir::Graph& graph = *model.graph;
  const CompileOptions& options = selection.options();
  const CompileEnvironment& environment = selection.environment();
  passes::RunPassesOptions run_options;
  run_options.on_change = [&](const passes::Pass& pass, const ir::Graph&) {
    if (options.progress) options.progress("passes", pass.name, 0, 0);
  };
  MeasuredCosts costs(selection.selector(), options);
  const passes::PassContext context{selection.route(),
                                    options.import.catalogue ? *options.import.catalogue : ops::builtin_operators(),
                                    environment.threads, &costs};
  STROP_ASSIGN(compiled.passes, passes::run_passes(graph, passes::default_pipeline(), context, run_options));
  graph.compact();
  STROP_TRY(check_memory(options.select.memory_limit_bytes, "the graph after all passes", 0));
  STROP_TRY(environment.cancel.check());
  selection.begin_nodes(static_cast<int64_t>(graph.order().size()));
  LowerContext lower_context{selection.selector(), selection.route(), environment.threads, options.ranges};
  lower_context.memory_limit_bytes = options.select.memory_limit_bytes;
  if (options.model_digest.empty()) lower_context.beside = [&] { compiled.model_digest = sha256(model.bytes); };
  lower_context.on_node = [&](std::string_view node) { selection.on_node(node); };
  return lower(graph, lower_context);
}

/// optimise_and_lower with all that is recorded of it. What was measured is saved whether or not that succeeds, so that
/// an interrupted build has not measured in vain.
Result<Lowered> select_and_lower(const onnx::ImportedModel& model, const CompileOptions& options, const Route& route,
                                 const CompileEnvironment& environment, Compiled& compiled) {
  Selection selection(options, route, environment);
  STROP_TRY(selection.start());
  auto lowered = optimise_and_lower(model, selection, compiled);
  STROP_TRY(selection.save());
  if (!lowered.ok()) return lowered.error();
  STROP_TRY(selection.check_complete());
  const select::Selector& selector = selection.selector();
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
  Compiled compiled;
  if (!options.model_digest.empty()) {
    compiled.model_digest = sha256(model.bytes);
    if (compiled.model_digest.hex() != options.model_digest) {
      return error(ErrorCode::InvalidArgument, "{} is another model than the lockfile's: its SHA-256 is {}, not {}",
                   source.name(), compiled.model_digest.hex(), options.model_digest);
    }
  }
  for (const std::string& warning : model.warnings) environment.log.warning("{}: {}", source.name(), warning);
  STROP_TRY(apply_io(*model.graph, options.io));
  STROP_TRY(environment.cancel.check());

  compiled.imported_nodes = static_cast<int64_t>(model.graph->order().size());
  STROP_ASSIGN(Lowered lowered, select_and_lower(model, options, route, environment, compiled));
  STROP_TRY(environment.cancel.check());

  compiled.stats = lowered.stats;
  lowered.plan.devices[0].target = kernels::to_string(kernels::best_cpu_target());
  compiled.image.plan = std::make_shared<const plan::Plan>(std::move(lowered.plan));
  compiled.image.weights = std::move(lowered.weights);
  compiled.image.record = {
      {"model_digest", compiled.model_digest.hex()},
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
