#include <cmath>

#include "api/compile_options.h"
#include "api/impl.h"
#include "base/text.h"
#include "compiler/compile.h"
#include "ir/graph.h"

namespace strop {
namespace {

using HostTensors = std::map<std::string, HostTensor>;

/// The dimensions that the engine has fixed; the reference must have them too.
onnx::FixedShapes fixed_shapes(const plan::Block& block, const compiler::IoFormats& io) {
  onnx::FixedShapes fixed;
  for (const plan::PortDesc& port : block.inputs) {
    if (port.type.kind != TypeKind::Tensor || !port.type.dims) continue;
    std::vector<int64_t> dims;
    for (const plan::Reg reg : *port.type.dims) {
      const plan::ShapeInstr& instr = block.shapes.instrs[static_cast<size_t>(reg)];
      dims.push_back(instr.op == plan::ShapeOp::Constant ? instr.value : -1);
    }
    if (const auto format = io.find(port.name); format != io.end())
      dims = compiler::in_model_order(format->second.layout, std::move(dims));
    fixed.inputs[port.name] = std::move(dims);
  }
  return fixed;
}

template <class Ports>
std::vector<std::string> names(const Ports& ports) {
  std::vector<std::string> list;
  for (const auto& port : ports) list.push_back(port.name);
  return list;
}

/// The model as the engine's source: same fixed shapes, same outputs, same types and layouts of both, so that a
/// reference's answer is converted as the engine's is.
Result<onnx::ImportedModel> import_reference(const Model& source, const engine::EngineImage& image) {
  const plan::Block& block = image.plan->blocks[0];
  STROP_ASSIGN(const compiler::IoFormats io, compiler::recorded_io(image.record));
  compiler::CompileOptions options;
  options.import.shapes = fixed_shapes(block, io);
  auto imported = compiler::import_for(api::source_of(source), options);
  if (!imported.ok()) {
    if (imported.error().code != ErrorCode::InvalidArgument) return imported.error();
    return error(ErrorCode::InvalidArgument, "{} is another model than the engine's: {}", api::source_of(source).name(),
                 imported.error().message);
  }
  onnx::ImportedModel model = std::move(imported).value();
  if (names(model.graph->outputs) != names(block.outputs)) {
    options.import.outputs = names(block.outputs);
    STROP_ASSIGN(model, compiler::import_for(api::source_of(source), options));
  }
  if (names(model.graph->inputs) != names(block.inputs)) {
    return error(
        ErrorCode::InvalidArgument, "{} is another model than the engine's: its inputs are {}, the engine's {}",
        api::source_of(source).name(), join(names(model.graph->inputs), ", "), join(names(block.inputs), ", "));
  }
  STROP_TRY(compiler::apply_io(*model.graph, io));
  return model;
}

/// Values for the block's inputs: those given, random ones for the rest.
class Inputs {
 public:
  Inputs(const engine::EngineImage& image, const VerifyOptions& options, Log& log)
      : image_(image), block_(image.plan->blocks[0]), options_(options), log_(log) {}

  Result<std::vector<Value>> of_pair(size_t pair) const {
    static const HostTensors kNone;
    const HostTensors& given = pair < options_.inputs.size() ? options_.inputs[pair] : kNone;
    STROP_TRY(check_names(given, pair));
    // Given tensors decide the symbols, so that random ones have matching shapes.
    auto shapes = options_.shapes;
    for (const auto& [name, tensor] : given) shapes[name] = tensor.shape();
    std::vector<Value> values;
    std::optional<std::vector<Type>> types;
    for (size_t i = 0; i < block_.inputs.size(); ++i) {
      const plan::PortDesc& port = block_.inputs[i];
      if (const auto found = given.find(port.name); found != given.end()) {
        values.emplace_back(api::borrow(found->second.view()));
        continue;
      }
      if (port.type.kind != TypeKind::Tensor) {
        return error(ErrorCode::InvalidArgument,
                     "input '{}' is a sequence or optional: no random value can be made for it", port.name);
      }
      if (!types) {
        STROP_ASSIGN(types, api::input_types(image_, shapes));
      }
      log_.info("pair {}, input '{}': random values, {}, seed {}", pair, port.name, to_string((*types)[i]),
                options_.seed + i);
      values.emplace_back(random_input(port, (*types)[i], i));
    }
    return values;
  }

 private:
  Result<void> check_names(const HostTensors& given, size_t pair) const {
    for (const auto& [name, tensor] : given) {
      const std::vector<std::string> known = names(block_.inputs);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::vector<std::string_view> candidates(known.begin(), known.end());
      return error(ErrorCode::InvalidArgument, "pair {}: the engine has no input '{}'{}; its inputs are {}", pair, name,
                   did_you_mean(name, candidates), join(known, ", "));
    }
    return {};
  }

  Value random_input(const plan::PortDesc& port, const Type& type, size_t index) const {
    const auto dims = as_constants(type.tensor.dims());
    STROP_CHECK(dims.has_value());
    const HostTensor tensor = random_tensor(port.type.dtype, *dims, options_.seed + index);  // as strop run does
    return api::borrow(tensor.view()).clone();
  }

  const engine::EngineImage& image_;
  const plan::Block& block_;
  const VerifyOptions& options_;
  Log& log_;
};

double measure(const OutputError& error, Metric metric) {
  switch (metric) {
    case Metric::L0: return static_cast<double>(error.l0);
    case Metric::L1: return error.l1;
    case Metric::L2: return error.l2;
    case Metric::Linf: return error.linf;
    case Metric::RelL2: return error.rel_l2;
    case Metric::Cos: return -error.cos;  // so that more is worse everywhere
  }
  STROP_UNREACHABLE();
}

bool within(const OutputError& error, const VerifyOptions& options) {
  const double given = options.limit.value_or(default_limit(options.metric));
  const double limit = options.metric == Metric::Cos ? -given : given;
  return error.same_shape && error.nan == 0 && error.inf == 0 && measure(error, options.metric) <= limit;
}

/// Keeps the worst pair per output.
class Worst {
 public:
  explicit Worst(const VerifyOptions& options) : options_(options) {}

  void add(OutputError error) {
    pass_ = pass_ && within(error, options_);
    for (OutputError& known : errors_) {
      if (known.name != error.name) continue;
      const bool worse = within(known, options_) != within(error, options_)
                             ? within(known, options_)
                             : measure(error, options_.metric) > measure(known, options_.metric);
      if (worse) known = std::move(error);
      return;
    }
    errors_.push_back(std::move(error));
  }

  void add(const std::string& name, const Value& actual, const Value& reference) {
    const auto got = api::flatten(name, actual);
    const auto wanted = api::flatten(name, reference);
    if (got.size() != wanted.size()) {
      OutputError error;
      error.name = name;
      error.same_shape = false;
      return add(std::move(error));
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      OutputError error = api::compare(got[i].tensor, wanted[i].tensor);
      error.name = wanted[i].name;
      add(std::move(error));
    }
  }

  VerifyReport report(int64_t pairs) && { return {pass_ && !errors_.empty(), pairs, std::move(errors_)}; }

 private:
  const VerifyOptions& options_;
  bool pass_ = true;
  std::vector<OutputError> errors_;
};

/// What one pair's outputs should be.
class References {
 public:
  References(const Engine::Impl& engine, const Model& source, const VerifyOptions& options)
      : engine_(engine), source_(source), options_(options) {}

  Result<void> prepare() {
    if (!options_.references.empty()) return {};
    STROP_ASSIGN(const onnx::ImportedModel model, import_reference(source_, engine_.image));
    const auto made_from = engine_.image.record.find("model_digest");
    if (made_from != engine_.image.record.end() && made_from->second != sha256(model.bytes).hex()) {
      engine_.runtime.impl()->log->warning("{} is not the file that the engine was built from (the digests differ)",
                                           api::source_of(source_).name());
    }
    graph_ = model.graph;
    return {};
  }

  /// By output name; those without an expectation are absent.
  Result<std::map<std::string, Value>> of_pair(size_t pair, const std::vector<Value>& inputs) const {
    std::map<std::string, Value> expected;
    if (!graph_) {
      for (const auto& [name, tensor] : options_.references[pair]) expected.emplace(name, api::borrow(tensor.view()));
      return expected;
    }
    ir::InterpretOptions options;
    options.memory = engine_.runtime.impl()->memory_limit.get();
    auto values = ir::interpret(*graph_, inputs, *engine_.runtime.impl()->threads, options);
    if (!values.ok()) return in_context(values.error(), "the reference interpreter");
    for (size_t i = 0; i < values->size(); ++i) expected.emplace(graph_->outputs[i].name, std::move((*values)[i]));
    return expected;
  }

 private:
  const Engine::Impl& engine_;
  const Model& source_;
  const VerifyOptions& options_;
  std::shared_ptr<const ir::Graph> graph_;
};

/// "with inputs f32[1, 3, 48, 640], i64[1]": shapes that nobody wrote down explain most failures.
std::string inputs_text(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "with inputs " : ", ") + to_string(value.type());
  return text;
}

Result<void> check_limit(const VerifyOptions& options) {
  if (!options.limit) return {};
  const double limit = *options.limit;
  if (options.metric == Metric::Cos) {
    if (limit >= -1 && limit <= 1) return {};
    return error(ErrorCode::InvalidArgument, "a limit of {} for the cosine: write a number from -1 to 1", limit);
  }
  if (std::isfinite(limit) && limit >= 0) return {};
  return error(ErrorCode::InvalidArgument, "a limit of {} for an error: write a number from 0", limit);
}

Result<void> check_options(const plan::Block& block, const VerifyOptions& options) {
  STROP_TRY(check_limit(options));
  if (options.references.empty()) return {};
  if (options.references.size() != options.inputs.size()) {
    return error(ErrorCode::InvalidArgument, "{} sets of references for {} sets of inputs", options.references.size(),
                 options.inputs.size());
  }
  const std::vector<std::string> known = names(block.outputs);
  for (const HostTensors& pair : options.references) {
    if (pair.empty()) return error(ErrorCode::InvalidArgument, "a pair has no references");
    for (const auto& [name, tensor] : pair) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      return error(ErrorCode::InvalidArgument, "the engine has no output '{}'; its outputs are {}", name,
                   join(known, ", "));
    }
  }
  return {};
}

}  // namespace

double default_limit(Metric metric) {
  switch (metric) {
    case Metric::L0: return 0;
    case Metric::L1: return 1e-4;
    case Metric::L2: return 1e-2;
    case Metric::Linf: return 1e-3;
    case Metric::RelL2: return 1e-4;
    case Metric::Cos: return 1 - 1e-4 * 1e-4 / 2;  // an error of 1e-4 across the reference: 1 / sqrt(1 + 1e-8)
  }
  STROP_UNREACHABLE();
}

Result<VerifyReport> verify(const Engine& engine, const Model& model, const VerifyOptions& options) {
  return api::guarded([&]() -> Result<VerifyReport> {
    const Engine::Impl& impl = engine.impl();
    const plan::Block& block = impl.image.plan->blocks[0];
    Runtime::Impl& environment = *impl.runtime.impl();
    STROP_TRY(check_options(block, options));
    References references(impl, model, options);
    STROP_TRY(references.prepare());
    const Inputs inputs(impl.image, options, *environment.log);
    runtime::Executor executor(impl.program, environment.threads, {1, environment.cancel});
    const size_t pairs = std::max<size_t>(options.inputs.size(), 1);
    Worst worst(options);
    for (size_t pair = 0; pair < pairs; ++pair) {
      STROP_TRY(environment.cancel.check());
      STROP_ASSIGN(const std::vector<Value> values, inputs.of_pair(pair));
      std::vector<Value> outputs(block.outputs.size());
      if (auto ran = executor.run(values, outputs); !ran.ok()) return in_context(ran.error(), inputs_text(values));
      STROP_ASSIGN(const auto expected, references.of_pair(pair, values));
      for (size_t i = 0; i < outputs.size(); ++i) {
        const auto found = expected.find(block.outputs[i].name);
        if (found != expected.end()) worst.add(found->first, outputs[i], found->second);
      }
    }
    return std::move(worst).report(static_cast<int64_t>(pairs));
  });
}

}  // namespace strop
