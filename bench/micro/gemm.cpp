/// Throughput of run_gemm beside the peak of fused multiply-adds measured in the same run, and beside OpenBLAS where
/// the dynamic linker finds it. Prints best and median of GFLOP/s over rounds that alternate in turns.
///
/// Usage: bench_gemm [--rounds N] [--threads MOST] [--filter TEXT] [--tune]
///   --tune also times every candidate config and prints the best one.
#include "kernels/gemm/gemm.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace strop {
namespace {

using kernels::CpuTarget;
using kernels::GemmConfig;
using kernels::GemmProblem;

double clock_us(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

double thread_us() { return clock_us(CLOCK_THREAD_CPUTIME_ID); }

/// Twelve independent chains of 256-bit multiply-adds: the most that a core with AVX2 delivers.
__attribute__((target("avx2,fma"))) double fma_peak_gflops() {
  constexpr int kSteps = 200000;
  double best = 0;
  for (int round = 0; round < 7; ++round) {
    __m256 sum[12];
#pragma GCC unroll 12
    for (auto& s : sum) s = _mm256_set1_ps(0.5f);
    const __m256 x = _mm256_set1_ps(0.999f);
    const auto keep = [&] {  // the compiler may not move the sums' computation past this point
      asm volatile(""
                   : "+x"(sum[0]), "+x"(sum[1]), "+x"(sum[2]), "+x"(sum[3]), "+x"(sum[4]), "+x"(sum[5])
                   :
                   : "memory");
      asm volatile(""
                   : "+x"(sum[6]), "+x"(sum[7]), "+x"(sum[8]), "+x"(sum[9]), "+x"(sum[10]), "+x"(sum[11])
                   :
                   : "memory");
    };
    keep();
    const double start = thread_us();
    for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
      for (auto& s : sum) s = _mm256_fmadd_ps(s, x, x);
    }
    keep();
    const double time_us = thread_us() - start;
    best = std::max(best, kSteps * 12.0 * 16.0 / time_us * 1e-3);
  }
  return best;
}

using SgemmFunction = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a,
                               int lda, const float* b, int ldb, float beta, float* c, int ldc);

struct OpenBlas {
  SgemmFunction sgemm = nullptr;
  void (*set_threads)(int) = nullptr;
};

OpenBlas load_openblas() {
  OpenBlas blas;
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return blas;
  blas.sgemm = reinterpret_cast<SgemmFunction>(dlsym(library, "cblas_sgemm"));
  blas.set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  return blas;
}

struct Shape {
  const char* name;
  GemmProblem problem;
};

GemmProblem packed(int64_t m, int64_t n, int64_t k) {
  GemmProblem p{m, n, k};
  p.packed_b = true;
  return p;
}

GemmProblem heads(int64_t batch, int64_t m, int64_t n, int64_t k, bool trans_b) {
  GemmProblem p{m, n, k, batch};
  p.trans_b = trans_b;
  p.stride_a = m * k;
  p.stride_b = k * n;
  p.stride_c = m * n;
  return p;
}

std::vector<Shape> shapes() {
  return {
      {"square 512", {512, 512, 512}},
      {"square 1024", {1024, 1024, 1024}},
      {"square 2048", {2048, 2048, 2048}},
      {"bert 128x384x384", packed(128, 384, 384)},
      {"bert 128x1536x384", packed(128, 1536, 384)},
      {"bert 128x384x1536", packed(128, 384, 1536)},
      {"bert 16x1536x384", packed(16, 1536, 384)},
      {"bert 16x384x1536", packed(16, 384, 1536)},
      {"conv 3136x64x64", packed(3136, 64, 64)},
      {"conv 3136x64x256", packed(3136, 64, 256)},
      {"conv 3136x256x64", packed(3136, 256, 64)},
      {"conv 784x128x512", packed(784, 128, 512)},
      {"conv 784x512x128", packed(784, 512, 128)},
      {"conv 196x256x1024", packed(196, 256, 1024)},
      {"conv 49x512x2048", packed(49, 512, 2048)},
      {"nchw 64x3136x64 plain", {64, 3136, 64}},
      {"nchw 128x784x512 plain", {128, 784, 512}},
      {"nchw 512x49x2048 plain", {512, 49, 2048}},
      {"heads 12x128x128x32 Q.K'", heads(12, 128, 128, 32, true)},
      {"heads 12x128x32x128 P.V", heads(12, 128, 32, 128, false)},
      {"heads 12x16x16x32 Q.K'", heads(12, 16, 16, 32, true)},
      {"heads 12x16x32x16 P.V", heads(12, 16, 32, 16, false)},
      {"row 1x384x384", packed(1, 384, 384)},
      {"row 1x1536x384", packed(1, 1536, 384)},
      {"row 1x4096x4096", packed(1, 4096, 4096)},
      {"row 1x4096x4096 plain", {1, 4096, 4096}},
      {"rows 4x1536x384", packed(4, 1536, 384)},
      {"column 4096x1x4096", {4096, 1, 4096}},
  };
}

/// A float array on a cache line, as the engine's arena and weights are.
struct Aligned {
  explicit Aligned(size_t bytes) : memory(bytes + 64) {
    void* p = memory.data();
    size_t space = memory.size();
    data = static_cast<float*>(std::align(64, bytes, p, space));
  }
  std::vector<char> memory;
  float* data;
};

/// Memory of one shape.
struct Data {
  explicit Data(const GemmProblem& p)
      : a(floats(p.batch * p.m * p.k)), b(floats(p.batch * p.k * p.n)), c(floats(p.batch * p.m * p.n)) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-1, 1);
    for (int64_t i = 0; i < p.batch * p.m * p.k; ++i) a.data[i] = values(random);
    for (int64_t i = 0; i < p.batch * p.k * p.n; ++i) b.data[i] = values(random);
  }
  static size_t floats(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }
  Aligned a, b, c;
};

/// One way to compute a shape, and its times: of the thread's own clock when there is one thread, so that other
/// processes' turns on its core do not count, otherwise of the wall.
struct Contender {
  std::vector<double> times_us;
  int repeats = 1;
  clockid_t clock = CLOCK_MONOTONIC;

  template <class Body>
  void time(Body&& body) {
    const double start = clock_us(clock);
    for (int i = 0; i < repeats; ++i) body();
    times_us.push_back((clock_us(clock) - start) / repeats);
  }
  double best() const { return *std::min_element(times_us.begin(), times_us.end()); }
  double median() {
    std::nth_element(times_us.begin(), times_us.begin() + times_us.size() / 2, times_us.end());
    return times_us[times_us.size() / 2];
  }
};

class Ours {
 public:
  Ours(const GemmProblem& p, const GemmConfig& config, Data& data, Threads& threads)
      : p_(p),
        config_(config),
        data_(data),
        threads_(threads),
        workspace_(kernels::gemm_workspace_bytes(p, config, threads.count())),
        packed_(p.packed_b ? kernels::packed_b_bytes(p.k, p.n, config) : 0) {
    if (p.packed_b) kernels::pack_b({p.k, p.n, p.trans_b, 0, data.b.data, packed_.data}, config);
  }
  void operator()() {
    kernels::run_gemm(p_, config_,
                      {data_.a.data, p_.packed_b ? packed_.data : data_.b.data, data_.c.data, workspace_.data,
                       kernels::gemm_workspace_bytes(p_, config_, threads_.count())},
                      {}, threads_);
  }

 private:
  GemmProblem p_;
  GemmConfig config_;
  Data& data_;
  Threads& threads_;
  Aligned workspace_, packed_;
};

void run_openblas(const OpenBlas& blas, const GemmProblem& p, Data& data) {
  constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
  for (int64_t i = 0; i < p.batch; ++i) {
    blas.sgemm(kRowMajor, p.trans_a ? kTransposed : kPlain, p.trans_b ? kTransposed : kPlain, static_cast<int>(p.m),
               static_cast<int>(p.n), static_cast<int>(p.k), 1.0f, data.a.data + i * p.stride_a,
               static_cast<int>(p.trans_a ? p.m : p.k), data.b.data + i * p.stride_b,
               static_cast<int>(p.trans_b ? p.k : p.n), 0.0f, data.c.data + i * p.stride_c, static_cast<int>(p.n));
  }
}

struct Options {
  int rounds = 15;
  std::string filter;
  bool tune = false;
  int threads = 2;  ///< at most
};

clockid_t clock_of(const Threads& threads) { return threads.count() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC; }

std::string describe(const GemmConfig& c) {
  return fmt::format("{}x{} kc {} mc {} nc {}{}{}", c.mr, c.nr, c.kc, c.mc, c.nc, c.copy_a ? " copy_a" : "",
                     c.copy_b ? " copy_b" : "");
}

void tune(const Shape& shape, const Options& options, double flops, Threads& threads) {
  Data data(shape.problem);
  const auto configs = kernels::candidate_configs(shape.problem, kernels::best_cpu_target(), false);
  std::vector<std::unique_ptr<Ours>> ours;
  std::vector<Contender> times(configs.size());
  for (const auto& config : configs) ours.push_back(std::make_unique<Ours>(shape.problem, config, data, threads));
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < configs.size(); ++i) {
      times[i].repeats = static_cast<int>(std::clamp(2e7 / flops, 1.0, 10000.0));
      times[i].clock = clock_of(threads);
      times[i].time(*ours[i]);
    }
  }
  for (size_t i = 0; i < configs.size(); ++i) {
    fmt::print("    {:6.1f} {:6.1f}  {}\n", flops / times[i].best() * 1e-3, flops / times[i].median() * 1e-3,
               describe(configs[i]));
  }
}

void compare(const Shape& shape, const Options& options, const OpenBlas& blas, Threads& threads, double peak) {
  const GemmProblem& p = shape.problem;
  const double flops = 2.0 * static_cast<double>(p.m * p.n * p.k * p.batch);
  Data data(p);
  Ours ours(p, kernels::default_config(p), data, threads);
  Contender us, them;
  us.repeats = them.repeats = static_cast<int>(std::clamp(2e7 / flops, 1.0, 10000.0));
  us.clock = them.clock = clock_of(threads);
  if (blas.set_threads) blas.set_threads(threads.count());
  ours();
  if (blas.sgemm) run_openblas(blas, p, data);
  const int rounds = flops > 1e10 ? std::min(options.rounds, 7) : options.rounds;
  constexpr int kTurns = 3;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int round = 0; round < (rounds + kTurns - 1) / kTurns; ++round) us.time(ours);
    if (!blas.sgemm) continue;
    for (int round = 0; round < (rounds + kTurns - 1) / kTurns; ++round) {
      them.time([&] { run_openblas(blas, p, data); });
    }
    // OpenBLAS's workers spin for tens of milliseconds after their last call, on the core that our worker needs.
    if (threads.count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  fmt::print("{:26} {:>7} {:9.1f} {:7.1f} {:7.1f} {:5.0f} %", shape.name, threads.count(), us.best(),
             flops / us.best() * 1e-3, flops / us.median() * 1e-3,
             100 * flops / us.best() * 1e-3 / (peak * threads.count()));
  if (blas.sgemm) fmt::print("  {:8.1f} {:7.1f}", flops / them.best() * 1e-3, flops / them.median() * 1e-3);
  fmt::print("\n");
  if (options.tune) tune(shape, options, flops, threads);
}

int main_inside(const Options& options) {
  const double peak = fma_peak_gflops();
  const OpenBlas blas = load_openblas();
  fmt::print("target {}, FMA peak (AVX2) {:.1f} GFLOP/s per core, OpenBLAS {}\n",
             kernels::to_string(kernels::best_cpu_target()), peak, blas.sgemm ? "loaded" : "not found");
  fmt::print("{:26} {:>7} {:>9} {:>7} {:>7} {:>7}  {}\n", "m x n x k (batch first)", "threads", "best us", "GF best",
             "median", "of peak", blas.sgemm ? "OpenBLAS best, median" : "");
  for (int count = 1; count <= std::min(options.threads, available_cpus()); count *= 2) {
    const auto threads = make_thread_pool(count);
    for (const Shape& shape : shapes()) {
      if (std::string_view(shape.name).find(options.filter) == std::string_view::npos) continue;
      compare(shape, options, blas, *threads, peak);
    }
  }
  fmt::print("FMA peak at the end {:.1f} GFLOP/s\n", fma_peak_gflops());
  return 0;
}

}  // namespace
}  // namespace strop

int main(int argc, char** argv) {
  strop::Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--tune") == 0) {
      options.tune = true;
    } else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      options.rounds = std::max(std::atoi(argv[++i]), 1);
    } else if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      options.threads = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      options.filter = argv[++i];
    } else {
      fmt::print(stderr, "bench_gemm [--rounds N] [--threads MOST] [--filter TEXT] [--tune]\n");
      return 2;
    }
  }
  return strop::main_inside(options);
}
