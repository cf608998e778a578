// Compiles a model, keeps the engine, runs it on random inputs.
//
//   minimal MODEL.onnx ENGINE.strop
#include <cstdio>
#include <string>
#include <vector>

#include "strop/strop.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: minimal MODEL.onnx ENGINE.strop\n");
    return 2;
  }
  // Every fallible call returns a Result; value() ends the program with the message if there is none.
  strop::BuildOptions options;
  options.device = strop::Device::cpu();
  strop::build(argv[1], options).value().save(argv[2]).value();

  const strop::Engine engine = strop::Engine::load(argv[2]).value();
  strop::Context context = engine.context().value();

  // The context reads from this memory at every run: it must stay.
  std::vector<strop::HostTensor> inputs;
  const auto shapes = engine.input_shapes().value();
  for (const auto& [name, shape] : shapes) {
    for (const strop::PortInfo& port : engine.inputs()) {
      if (port.name == name) inputs.push_back(strop::random_tensor(port.dtype, shape, 0));
    }
    context.bind(name, inputs.back()).value();
  }
  context.run().value();

  for (const strop::PortInfo& port : engine.outputs()) {
    const strop::TensorView output = context.output(port.name).value();
    std::printf("%s: %s, %lld elements", port.name.c_str(), std::string(to_string(output.dtype)).c_str(),
                static_cast<long long>(output.count()));
    if (output.dtype == strop::DType::F32 && output.count() > 0)
      std::printf(", the first is %g", static_cast<double>(*static_cast<float*>(output.data)));
    std::printf("\n");
  }
  return 0;
}
