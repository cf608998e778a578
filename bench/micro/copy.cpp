/// Bytes per second (read and written) of the strided copies behind Transpose, Concat, Pad, Expand and Gather, beside
/// memcpy of as many bytes.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "kernels/copy/gather.h"
#include "kernels/copy/strided_copy.h"

namespace strop::kernels {
namespace {

int64_t count_of(const std::vector<CopyAxis>& axes) {
  int64_t count = 1;
  for (const CopyAxis& axis : axes) count *= axis.size;
  return count;
}

void run_copy(benchmark::State& state, const std::vector<CopyAxis>& axes, int64_t element_bytes) {
  const int64_t bytes = count_of(axes) * element_bytes;
  std::vector<char> src(static_cast<size_t>(bytes), 1);
  std::vector<char> dst(static_cast<size_t>(bytes) * 2, 0);
  const StridedCopy copy(axes, element_bytes);
  SingleThread thread;
  for (auto _ : state) {
    copy.run(src.data(), dst.data(), thread);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes * 2);
}

void memcpy_bytes(benchmark::State& state) {
  std::vector<char> src(static_cast<size_t>(state.range(0)), 1);
  std::vector<char> dst(src.size());
  for (auto _ : state) {
    std::memcpy(dst.data(), src.data(), src.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}
BENCHMARK(memcpy_bytes)->Arg(393216)->Arg(3211264);

// [128, 12, 64] to [12, 128, 64]: an encoder's heads.
void heads_f32(benchmark::State& state) { run_copy(state, {{12, 64, 8192}, {128, 768, 64}, {64, 1, 1}}, 4); }
BENCHMARK(heads_f32);

// [128, 12, 64] to [12, 64, 128]: its keys.
void keys_f32(benchmark::State& state) { run_copy(state, {{12, 64, 8192}, {64, 1, 128}, {128, 768, 1}}, 4); }
BENCHMARK(keys_f32);

// [64, 112, 112] to [112, 112, 64].
void nchw_to_nhwc_f32(benchmark::State& state) { run_copy(state, {{12544, 1, 64}, {64, 12544, 1}}, 4); }
BENCHMARK(nchw_to_nhwc_f32);
void nchw_to_nhwc_f16(benchmark::State& state) { run_copy(state, {{12544, 1, 64}, {64, 12544, 1}}, 2); }
BENCHMARK(nchw_to_nhwc_f16);

// A part of a concatenation along a short last axis.
void join_short_rows_f32(benchmark::State& state) { run_copy(state, {{20000, 4, 8}, {4, 1, 1}}, 4); }
BENCHMARK(join_short_rows_f32);

// Four query heads to each of two key heads.
void repeat_heads_f32(benchmark::State& state) { run_copy(state, {{2, 8192, 32768}, {4, 0, 8192}, {8192, 1, 1}}, 4); }
BENCHMARK(repeat_heads_f32);

void broadcast_last_axis_f32(benchmark::State& state) { run_copy(state, {{1024, 1, 768}, {768, 0, 1}}, 4); }
BENCHMARK(broadcast_last_axis_f32);

// The window of a padded image.
void pad_image_f32(benchmark::State& state) { run_copy(state, {{64, 3136, 3364}, {56, 56, 58}, {56, 1, 1}}, 4); }
BENCHMARK(pad_image_f32);

void embedding_f32(benchmark::State& state) {
  constexpr int64_t kRows = 30522;
  constexpr int64_t kTokens = 512;
  const std::vector<float> table(kRows * 384, 1.0f);
  std::vector<int64_t> tokens(kTokens);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int64_t>(i * 7919 % kRows);
  std::vector<float> dst(kTokens * 384);
  SingleThread thread;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        gather_rows({1, kRows, kTokens, 384 * 4}, table.data(), {tokens.data(), true}, dst.data(), thread));
  }
  state.SetBytesProcessed(state.iterations() * kTokens * 384 * 4 * 2);
}
BENCHMARK(embedding_f32);

}  // namespace
}  // namespace strop::kernels

BENCHMARK_MAIN();
