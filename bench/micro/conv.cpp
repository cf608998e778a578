// Convolution kernels on layers of ResNet-50, MobileNetV2 and others: GFLOP/s of direct convolution (two operations per
// multiply-add, whatever the method does inside), best and median, beside the multiply-add peak of the same moment.
//
//   bench_conv [SUBSTRING] [--threads=N] [--seconds=S] [--k-block=N] [--pixel-block=N]
//
// measures only layers and methods whose name contains SUBSTRING.
#include "kernels/conv/conv.h"

#include <fmt/core.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/pool/pool.h"
#include "kernels/transpose/transpose.h"

namespace strop::kernels {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Multiply-add peak of one core, GFLOP/s: independent chains in registers, best of several short runs.
__attribute__((target("avx2,fma"))) double peak_gflops() {
  constexpr int64_t kRounds = 400000;
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    __m256 sum[12];
    for (auto& s : sum) s = _mm256_set1_ps(0.5F);
    const __m256 a = _mm256_set1_ps(0.999F);
    const auto start = Clock::now();
    for (int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
      for (auto& s : sum) s = _mm256_fmadd_ps(s, a, a);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    for (auto& s : sum) asm volatile("" : : "x"(s));
    best = std::min(best, seconds);
  }
  return kRounds * 12 * 16 / best / 1e9;
}

struct Layer {
  std::string name;
  ConvProblem problem;
};

Layer layer(const char* name, int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride,
            int64_t groups = 1) {
  ConvProblem p{.batch = 1, .in = {1, size, size}, .in_channels = in, .out_channels = out, .groups = groups};
  p.window.kernel = {1, kernel, kernel};
  p.window.stride = {1, stride, stride};
  p.window.pad_begin = p.window.pad_end = {0, kernel / 2, kernel / 2};
  return {name, p};
}

std::vector<Layer> layers() {
  // clang-format off
  std::vector<Layer> all{
      layer("stem 224x224x3 -> 64 7x7 s2", 224, 3, 64, 7, 2),
      layer("56x56x64 -> 64 1x1", 56, 64, 64, 1, 1),
      layer("56x56x64 -> 64 3x3", 56, 64, 64, 3, 1),
      layer("56x56x64 -> 256 1x1", 56, 64, 256, 1, 1),
      layer("56x56x256 -> 64 1x1", 56, 256, 64, 1, 1),
      layer("56x56x128 -> 128 3x3 s2", 56, 128, 128, 3, 2),
      layer("28x28x128 -> 128 3x3", 28, 128, 128, 3, 1),
      layer("28x28x512 -> 128 1x1", 28, 512, 128, 1, 1),
      layer("56x56x256 -> 512 1x1 s2", 56, 256, 512, 1, 2),
      layer("14x14x256 -> 256 3x3", 14, 256, 256, 3, 1),
      layer("14x14x1024 -> 256 1x1", 14, 1024, 256, 1, 1),
      layer("14x14x256 -> 1024 1x1", 14, 256, 1024, 1, 1),
      layer("14x14x512 -> 512 3x3 s2", 14, 512, 512, 3, 2),
      layer("7x7x512 -> 512 3x3", 7, 512, 512, 3, 1),
      layer("7x7x2048 -> 512 1x1", 7, 2048, 512, 1, 1),
      layer("dw 112x112x32 3x3", 112, 32, 32, 3, 1, 32),
      layer("dw 112x112x96 3x3 s2", 112, 96, 96, 3, 2, 96),
      layer("dw 56x56x144 3x3", 56, 144, 144, 3, 1, 144),
      layer("dw 14x14x384 3x3", 14, 384, 384, 3, 1, 384),
      layer("dw 7x7x960 3x3", 7, 960, 960, 3, 1, 960),
      layer("dw 28x28x240 5x5", 28, 240, 240, 5, 1, 240),
      layer("group4 56x56x128 3x3", 56, 128, 128, 3, 1, 32),
      layer("group8 28x28x256 3x3", 28, 256, 256, 3, 1, 32),
      layer("shuffle 28x28x240 1x1 g3", 28, 240, 240, 1, 1, 3),
      layer("dw 8x8x64 3x3, in L1", 8, 64, 64, 3, 1, 64),
  };
  // clang-format on
  all.push_back(all[0]);
  all.back().name = "stem 224x224x3 -> 64 7x7 s2 NCHW";
  all.back().problem.nchw_input = true;
  all.push_back(layer("up 28x28x128 -> 64 4x4 s2", 28, 128, 64, 4, 2));
  all.back().problem.transposed = true;
  all.back().problem.window.pad_begin = all.back().problem.window.pad_end = {0, 1, 1};
  return all;
}

struct Options {
  std::string only;
  int threads = 0;  // 0: one, then two
  double seconds = 0.2;
  ConvConfig config;
};

struct Rate {
  double best, median;
};

Rate measure(const ConvProblem& problem, ConvMethod method, Threads& threads, const Options& options) {
  const ConvPlan plan = plan_conv(problem, method, options.config);
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  const auto fill = [&](size_t count) {
    std::vector<float> values(count);
    for (auto& v : values) v = uniform(engine);
    return values;
  };
  const auto in_pixels = static_cast<size_t>(problem.batch * problem.in[0] * problem.in[1] * problem.in[2]);
  const auto taps = static_cast<size_t>(problem.window.kernel[0] * problem.window.kernel[1] * problem.window.kernel[2]);
  const auto input = fill(in_pixels * static_cast<size_t>(problem.in_channels));
  const auto weights = fill(static_cast<size_t>(problem.out_channels * plan.group_in) * taps);
  const auto bias = fill(static_cast<size_t>(problem.out_channels));
  std::vector<float> packed(packed_weight_bytes(plan) / sizeof(float) + 16);
  auto* aligned = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(packed.data()) + 63) / 64 * 64);
  pack_weights(plan, weights.data(), aligned);
  std::vector<float> output(static_cast<size_t>(plan.out_pixels * problem.out_channels));
  std::vector<std::byte> workspace(conv_workspace_bytes(plan, threads.count()));
  const ConvBuffers buffers{input.data(), aligned, output.data(), workspace.data()};
  const ConvEpilogue epilogue{.bias = bias.data(), .lo = 0.0F};
  std::vector<double> times;
  run_conv(plan, buffers, epilogue, threads);
  for (double total = 0; total < options.seconds || times.size() < 5;) {
    times.push_back(seconds_of([&] { run_conv(plan, buffers, epilogue, threads); }));
    total += times.back();
  }
  std::sort(times.begin(), times.end());
  // Every tap meets every output pixel once, or if transposed every input pixel (borders not deducted).
  const auto pixels = problem.transposed ? static_cast<int64_t>(in_pixels) : plan.out_pixels;
  const double flops =
      2.0 * static_cast<double>(pixels * problem.out_channels * plan.group_in) * static_cast<double>(taps) / 1e9;
  return {flops / times.front(), flops / times[times.size() / 2]};
}

/// One line for work that is bound by memory: GB/s, bytes read once and written once.
void bench_memory(const Options& options, const std::string& name, int64_t floats,
                  const std::function<void(Threads&)>& body) {
  if (name.find(options.only) == std::string::npos) return;
  for (const int count : options.threads ? std::vector<int>{options.threads} : std::vector<int>{1, 2}) {
    const auto threads = make_thread_pool(count);
    std::vector<double> times;
    body(*threads);
    for (double total = 0; total < options.seconds || times.size() < 5; total += times.back()) {
      times.push_back(seconds_of([&] { body(*threads); }));
    }
    std::sort(times.begin(), times.end());
    const double gigabytes = static_cast<double>(floats) * sizeof(float) / 1e9;
    fmt::print("{:<50} {:>8}  {:>8.1f} / {:>7.1f} GB/s\n", name, count, gigabytes / times.front(),
               gigabytes / times[times.size() / 2]);
  }
}

void bench_pool_and_transpose(const Options& options) {
  std::vector<float> from(112 * 112 * 64, 1.0F);
  std::vector<float> to(from.size());
  PoolProblem p{.in = {1, 112, 112}, .channels = 64, .out = {1, 56, 56}};
  p.window.kernel = {1, 3, 3};
  p.window.stride = {1, 2, 2};
  p.window.pad_begin = p.window.pad_end = {0, 1, 1};
  bench_memory(options, "pool 112x112x64 max 3x3 s2", (112 * 112 + 56 * 56) * 64,
               [&](Threads& t) { pool(p, from.data(), to.data(), t); });
  p.kind = PoolKind::Average;
  bench_memory(options, "pool 112x112x64 average 3x3 s2", (112 * 112 + 56 * 56) * 64,
               [&](Threads& t) { pool(p, from.data(), to.data(), t); });
  const PoolProblem g{.kind = PoolKind::Average, .in = {1, 7, 7}, .channels = 2048};
  bench_memory(options, "pool 7x7x2048 global average", 50 * 2048,
               [&](Threads& t) { global_pool(g, from.data(), to.data(), t); });
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{64, 56 * 56}, {56 * 56, 64}, {3, 224 * 224}}) {
    bench_memory(options, fmt::format("transpose {} x {}", rows, cols), 2 * rows * cols,
                 [&, r = rows, c = cols](Threads& t) {
                   transpose({.rows = r, .cols = c}, sizeof(float), from.data(), to.data(), t);
                 });
  }
}

void bench(const Options& options) {
  const std::vector<int> counts = options.threads ? std::vector<int>{options.threads} : std::vector<int>{1, 2};
  fmt::print("{:<34} {:<15} {:>8}  {:>18} {:>8}\n", "layer", "method", "threads", "GFLOP/s best/median", "of peak");
  for (const Layer& l : layers()) {
    for (const ConvMethod method :
         {ConvMethod::ImplicitGemm, ConvMethod::RowGemm, ConvMethod::Depthwise, ConvMethod::GroupedDirect,
          ConvMethod::Winograd2, ConvMethod::Winograd4, ConvMethod::Transposed}) {
      if (why_not(method, l.problem, best_cpu_target())) continue;
      if ((l.name + " " + to_string(method)).find(options.only) == std::string::npos) continue;
      for (const int count : counts) {
        const auto threads = make_thread_pool(count);
        const Rate rate = measure(l.problem, method, *threads, options);
        fmt::print("{:<34} {:<15} {:>8}  {:>8.1f} / {:>7.1f} {:>7.0f}%\n", l.name, to_string(method), count, rate.best,
                   rate.median, 100 * rate.best / (peak_gflops() * count));
        std::fflush(stdout);
      }
    }
  }
  bench_pool_and_transpose(options);
  fmt::print("multiply-add peak of one core: {:.1f} GFLOP/s\n", peak_gflops());
}

}  // namespace
}  // namespace strop::kernels

int main(int argc, char** argv) {
  strop::kernels::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--threads=")) {
      options.threads = std::atoi(argument.c_str() + 10);
    } else if (argument.starts_with("--seconds=")) {
      options.seconds = std::atof(argument.c_str() + 10);
    } else if (argument.starts_with("--k-block=")) {
      options.config.k_block = std::atoi(argument.c_str() + 10);
    } else if (argument.starts_with("--pixel-block=")) {
      options.config.pixel_block = std::atoi(argument.c_str() + 14);
    } else {
      options.only = argument;
    }
  }
  strop::kernels::bench(options);
}
