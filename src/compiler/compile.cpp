#include "compiler/compile.h"

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

Result<onnx::ImportedModel> import_for(const std::string& model_path, const CompileOptions& options) {
  return onnx::import_model(model_path, options.import);
}

Result<Compiled> compile(const std::string& model_path, const CompileOptions& options,
                         const CompileEnvironment& environment) {
  const auto report = [&](std::string_view stage, std::string_view item) {
    if (options.progress) options.progress(stage, item, 0, 0);
  };
  Route route(compiler_knobs());
  STROP_TRY(route.parse(options.route));
  STROP_TRY(route.check_conditions());

  report("import", model_path);
  STROP_ASSIGN(onnx::ImportedModel model, import_for(model_path, options));
  STROP_TRY(environment.cancel.check());

  Compiled compiled;
  compiled.imported_nodes = static_cast<int64_t>(model.graph->order().size());
  passes::RunPassesOptions run_options;
  run_options.on_change = [&](const passes::Pass& pass, const ir::Graph&) { report("passes", pass.name); };
  const passes::PassContext context{
      route, options.import.catalogue ? *options.import.catalogue : ops::builtin_operators(), environment.threads};
  STROP_ASSIGN(compiled.passes, passes::run_passes(*model.graph, passes::default_pipeline(), context, run_options));
  model.graph->compact();
  STROP_TRY(environment.cancel.check());

  report("select", "");
  STROP_ASSIGN(Lowered lowered, lower(*model.graph, {tactics::builtin_cpu_tactics(), route, options.ranges}));
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
      {"timing_cache_digest", ""},
      {"accuracy", ""},
      {"views", std::to_string(compiled.stats.views)},
      {"in_place", std::to_string(compiled.stats.in_place)},
      {"imported_nodes", std::to_string(compiled.imported_nodes)},
  };
  return compiled;
}

}  // namespace strop::compiler
