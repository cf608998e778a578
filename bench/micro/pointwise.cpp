// Pointwise programs as the tile engine runs them: time per element and, for large tensors, bytes per second.
#include "ops/pointwise/pointwise.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "tactics/tactic.h"

namespace strop {
namespace {

struct Sample {
  const char* name;
  const char* program;
  std::vector<Dims> shapes;  ///< operand 0 has the result's
};

std::vector<Sample> samples(int64_t rows, int64_t columns) {
  const Dims full = {rows, columns};
  return {
      {"add", "(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2", {full, full}},
      {"mul_scalar", "(x0: f32) { v1 = Constant<f32>(0.5); v2 = Mul(x0, v1) } -> v2", {full}},
      {"relu", "(x0: f32) { v1 = Relu(x0) } -> v1", {full}},
      {"add_relu", "(x0: f32, x1: f32) { v2 = Add(x0, x1); v3 = Relu(v2) } -> v3", {full, full}},
      {"row_bias", "(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2", {full, {columns}}},
      {"channel_scale", "(x0: f32, x1: f32) { v2 = Mul(x0, x1) } -> v2", {full, {rows, 1}}},
      {"exp", "(x0: f32) { v1 = Exp(x0) } -> v1", {full}},
      {"tanh", "(x0: f32) { v1 = Tanh(x0) } -> v1", {full}},
      {"erf", "(x0: f32) { v1 = Erf(x0) } -> v1", {full}},
      {"sigmoid", "(x0: f32) { v1 = Sigmoid(x0) } -> v1", {full}},
      {"silu", "(x0: f32) { v1 = Silu(x0) } -> v1", {full}},
      {"gelu", "(x0: f32) { v1 = Gelu(x0) } -> v1", {full}},
      {"gelu_tanh", "(x0: f32) { v1 = GeluTanh(x0) } -> v1", {full}},
      {"bias_gelu", "(x0: f32, x1: f32) { v2 = Add(x0, x1); v3 = Gelu(v2) } -> v3", {full, {columns}}},
      {"f16_add", "(x0: f16, x1: f16) { v2 = Add(x0, x1) } -> v2", {full, full}},
      {"bf16_add", "(x0: bf16, x1: bf16) { v2 = Add(x0, x1) } -> v2", {full, full}},
      {"u8_to_f32", "(x0: u8) { v1 = Cast<f32>(x0) } -> v1", {full}},
      {"i64_add", "(x0: i64, x1: i64) { v2 = Add(x0, x1) } -> v2", {full, full}},
      {"mask", "(x0: f32, x1: f32) { v2 = Less(x0, x1); v3 = Where(v2, x0, x1) } -> v3", {full, full}},
      {"nhwc_bias", "(x0: f32, x1: f32) { v2 = Add(x0, x1) } -> v2", {{rows * columns / 3, 3}, {3}}},
  };
}

void run(benchmark::State& state, const Sample& sample) {
  tactics::Problem problem;
  problem.op = &ops::kPointwise;
  const auto program = ops::parse_scalar_program(sample.program).value();
  problem.attrs = ops::PointwiseAttrs{program};
  std::vector<Tensor> tensors;
  int64_t bytes = 0;
  for (const auto& instr : program.instrs) {
    if (instr.fn != ops::Fn::Input) continue;
    const Dims& shape = sample.shapes[static_cast<size_t>(instr.input)];
    problem.inputs.push_back(Type(instr.dtype, shape));
    tensors.push_back(Tensor(instr.dtype, *as_constants(shape)));
    if (instr.dtype == DType::F32) {
      auto* data = tensors.back().mutable_data<float>();
      for (int64_t i = 0; i < tensors.back().count(); ++i) data[i] = static_cast<float>(i % 1000) / 200 - 2.5f;
    }
    bytes += tensors.back().bytes();
  }
  const DType dtype = program.instrs[static_cast<size_t>(program.outputs[0])].dtype;
  problem.outputs.push_back(Type(dtype, sample.shapes[0]));
  tensors.push_back(Tensor(dtype, *as_constants(sample.shapes[0])));
  bytes += tensors.back().bytes();
  const auto launch =
      tactics::builtin_cpu_tactics().find("Pointwise.cpu.tiles")->prepare({problem, {}, 1, {}, {}}).value();
  std::vector<tactics::Buffer> in;
  for (size_t i = 0; i + 1 < tensors.size(); ++i) in.push_back({tensors[i].mutable_raw(), 0});
  const std::vector<tactics::Buffer> out = {{tensors.back().mutable_raw(), 0}};
  SingleThread thread;
  (void)launch->run({in, out, nullptr, thread}).ok();  // the first touch of memory is not what is measured
  for (auto _ : state) {
    benchmark::DoNotOptimize(launch->run({in, out, nullptr, thread}).ok());
    benchmark::ClobberMemory();
  }
  const auto elements = static_cast<double>(tensors.back().count());
  state.counters["ns_per_element"] =
      benchmark::Counter(elements * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.SetBytesProcessed(state.iterations() * bytes);
}

}  // namespace
}  // namespace strop

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  struct Size {
    const char* name;
    int64_t rows, columns;
  };
  for (const Size size : {Size{"tiny", 1, 16}, Size{"l2", 64, 768}, Size{"memory", 4096, 3072}}) {
    for (const strop::Sample& sample : strop::samples(size.rows, size.columns)) {
      benchmark::RegisterBenchmark((std::string(sample.name) + "/" + size.name).c_str(),
                                   [sample](benchmark::State& state) { strop::run(state, sample); });
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
