#include "bench_subject.h"

#include <algorithm>

#include "engine_source.h"

namespace strop::tool {

Stream::Stream(const Engine& engine, const Inputs& inputs) : context_(or_fail(engine.context())) {
  for (const auto& [name, tensor] : inputs.tensors) or_fail(context_.bind(name, tensor));
  or_fail_with(inputs, context_.run());
  const std::vector<PortInfo> ports = engine.outputs();
  std::vector<std::string> names;
  for (const PortInfo& port : ports) {
    if (port.kind != "tensor" || port.dtype == DType::String) continue;  // these are made anew at each run
    const TensorView seen = or_fail(context_.output(port.name));
    outputs_.emplace_back(seen.dtype, seen.shape);
    names.push_back(port.name);
  }
  for (size_t i = 0; i < names.size(); ++i) or_fail(context_.bind(names[i], outputs_[i]));
}

Subject::Subject(const Request& request, const Runtime& runtime)
    : engine_(open_engine(request.path, request.compile, runtime)) {
  Tensors given = read_one_set(request.inputs, engine_.inputs());
  inputs_ =
      complete_inputs(engine_, std::move(given), parse_shapes("--shapes", request.compile.shapes), request.inputs.seed);
  if (request.streams == 1) {
    runtimes_ = {runtime};
  } else {
    RuntimeOptions options;
    options.threads = std::max(runtime.threads() / request.streams, 1);
    options.memory_limit_bytes = runtime.memory_limit_bytes();
    for (int i = 0; i < request.streams; ++i) runtimes_.emplace_back(options);
  }
  for (const Runtime& own : runtimes_) streams_.push_back(std::make_unique<Stream>(engine_.on(own), inputs_));
}

}  // namespace strop::tool
