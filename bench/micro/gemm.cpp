/// Throughput of run_gemm beside the peak of fused multiply-adds and beside OpenBLAS and oneDNN, where the dynamic
/// linker finds them. Every round times each of them once, the first one changing from round to round, and measures the
/// peak. Prints best and median of GFLOP/s, and the median over rounds of Strop's time divided by the library's time in
/// the same round, with its 95 % interval.
///
/// Usage: bench_gemm [--rounds N] [--threads MOST] [--filter TEXT] [--tune] [--config TEXT]... [--json FILE]
///   --tune also times every candidate config, in rounds of their own with the default and the libraries.
///   --config does so for the default config with changes instead: any of mr, nr, kc, mc, nc, copy_a and copy_b, for
///   example "kc=256,copy_a=1".
///   --json also writes the figures, with machine, date and command.
#include "kernels/gemm/gemm.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <immintrin.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace strop {
namespace {

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
  constexpr int kSteps = 100000;
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    __m256 sum[12];
#pragma GCC unroll 12
    for (auto& s : sum) s = _mm256_set1_ps(0.5f);
    const __m256 x = _mm256_set1_ps(0.999f);
    const auto keep = [&]()
        __attribute__((target("avx2,fma"))) {  // the compiler may not move the sums' computation past this point
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
      {"square 512", packed(512, 512, 512)},
      {"square 1024", packed(1024, 1024, 1024)},
      {"square 2048", packed(2048, 2048, 2048)},
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
      {"nchw 64x3136x64", {64, 3136, 64}},
      {"nchw 128x784x512", {128, 784, 512}},
      {"nchw 512x49x2048", {512, 49, 2048}},
      {"heads 12x128x128x32 Q.K'", heads(12, 128, 128, 32, true)},
      {"heads 12x128x32x128 P.V", heads(12, 128, 32, 128, false)},
      {"heads 12x16x16x32 Q.K'", heads(12, 16, 16, 32, true)},
      {"heads 12x16x32x16 P.V", heads(12, 16, 32, 16, false)},
      {"row 1x384x384", packed(1, 384, 384)},
      {"row 1x1536x384", packed(1, 1536, 384)},
      {"row 1x4096x4096", packed(1, 4096, 4096)},
      {"row 1x4096x4096", {1, 4096, 4096}},
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

/// A library that multiplies plain matrices.
struct Rival {
  std::string name;
  std::function<void(const GemmProblem&, Data&)> run;
  std::function<void(int)> set_threads;
};

std::optional<Rival> load_openblas() {
  using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                         const float* b, int ldb, float beta, float* c, int ldc);
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const auto config = reinterpret_cast<const char* (*)()>(dlsym(library, "openblas_get_config"));
  if (sgemm == nullptr || set_threads == nullptr) return std::nullopt;
  const auto run = [sgemm](const GemmProblem& p, Data& data) {
    constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
    for (int64_t i = 0; i < p.batch; ++i) {
      sgemm(kRowMajor, p.trans_a ? kTransposed : kPlain, p.trans_b ? kTransposed : kPlain, static_cast<int>(p.m),
            static_cast<int>(p.n), static_cast<int>(p.k), 1.0f, data.a.data + i * p.stride_a,
            static_cast<int>(p.trans_a ? p.m : p.k), data.b.data + i * p.stride_b,
            static_cast<int>(p.trans_b ? p.k : p.n), 0.0f, data.c.data + i * p.stride_c, static_cast<int>(p.n));
    }
  };
  return Rival{config ? config() : "OpenBLAS", run, set_threads};
}

/// Its builds with OpenMP: the number of threads is that of the calling thread's next parallel regions.
std::optional<Rival> load_onednn() {
  struct Version {  // the first fields of dnnl_version_t
    int major, minor, patch;
  };
  using Sgemm = int (*)(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                        int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
  void* library = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "dnnl_sgemm"));
  const auto version = reinterpret_cast<const Version* (*)()>(dlsym(library, "dnnl_version"));
  const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  if (sgemm == nullptr || version == nullptr || set_threads == nullptr) return std::nullopt;
  const auto run = [sgemm](const GemmProblem& p, Data& data) {
    for (int64_t i = 0; i < p.batch; ++i) {
      sgemm(p.trans_a ? 'T' : 'N', p.trans_b ? 'T' : 'N', p.m, p.n, p.k, 1.0f, data.a.data + i * p.stride_a,
            p.trans_a ? p.m : p.k, data.b.data + i * p.stride_b, p.trans_b ? p.k : p.n, 0.0f,
            data.c.data + i * p.stride_c, p.n);
    }
  };
  const Version* v = version();
  return Rival{fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch), run, set_threads};
}

/// One way to compute a shape, and its times: of the thread's own clock when there is one thread, so that other
/// processes' turns on its core do not count, otherwise of the wall.
struct Contender {
  std::function<void()> run;
  std::vector<double> times_us;

  void time(int repeats, clockid_t clock) {
    const double start = clock_us(clock);
    for (int i = 0; i < repeats; ++i) run();
    times_us.push_back((clock_us(clock) - start) / repeats);
  }
  double best() const { return *std::min_element(times_us.begin(), times_us.end()); }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// The median of paired ratios, and an interval that holds the true one with a probability of 95 %: between two order
/// statistics (the number of values below the median is binomial; its normal approximation).
struct Ratio {
  double median, low, high;
};

Ratio paired_ratio(const Contender& us, const Contender& them) {
  std::vector<double> ratios(us.times_us.size());
  for (size_t i = 0; i < ratios.size(); ++i) ratios[i] = us.times_us[i] / them.times_us[i];
  std::sort(ratios.begin(), ratios.end());
  const auto count = static_cast<double>(ratios.size());
  const double reach = 0.98 * std::sqrt(count);
  const auto low = static_cast<size_t>(std::max(std::floor(count / 2 - reach), 0.0));
  const size_t high = ratios.size() - 1 - low;
  return {ratios[ratios.size() / 2], ratios[low], ratios[high]};
}

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

struct Options {
  int rounds = 15;
  int threads = 2;  ///< at most
  std::string filter;
  std::vector<std::string> configs;
  bool tune = false;
  std::string json;
  std::string command;
};

/// What a run has found out.
struct Report {
  std::vector<Rival> rivals;
  double peak_gflops = 0;  ///< best of all rounds so far
  nlohmann::json rows = nlohmann::json::array();
};

/// The default config with the changes of one --config.
GemmConfig config_of(const GemmProblem& p, std::string_view changes) {
  GemmConfig c = kernels::default_config(p);
  while (!changes.empty()) {
    const std::string_view item = changes.substr(0, changes.find(','));
    changes.remove_prefix(std::min(item.size() + 1, changes.size()));
    const std::string_view name = item.substr(0, item.find('='));
    const int64_t value = std::atoll(std::string(item.substr(std::min(name.size() + 1, item.size()))).c_str());
    if (name == "mr") c.mr = static_cast<int>(value);
    if (name == "nr") c.nr = static_cast<int>(value);
    if (name == "kc") c.kc = value;
    if (name == "mc") c.mc = value;
    if (name == "nc") c.nc = value;
    if (name == "copy_a") c.copy_a = value != 0;
    if (name == "copy_b") c.copy_b = value != 0;
  }
  return c;
}

std::string describe(const GemmConfig& c) {
  return fmt::format("{}x{} kc {} mc {} nc {}{}{}", c.mr, c.nr, c.kc, c.mc, c.nc, c.copy_a ? " copy_a" : "",
                     c.copy_b ? " copy_b" : "");
}

double flops_of(const GemmProblem& p) { return 2.0 * static_cast<double>(p.m * p.n * p.k * p.batch); }

/// Rounds that alternate between the contenders; also measures the peak.
void race(std::vector<Contender>& contenders, const GemmProblem& p, const Options& options, int threads,
          double& peak_gflops) {
  const double flops = flops_of(p);
  const int rounds = flops > 1e10 ? std::min(options.rounds, 31) : options.rounds;
  const int repeats = static_cast<int>(std::clamp(2e7 / flops, 1.0, 10000.0));
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  for (auto& contender : contenders) contender.run();
  for (int round = 0; round < rounds; ++round) {
    peak_gflops = std::max(peak_gflops, fma_peak_gflops());
    for (size_t turn = 0; turn < contenders.size(); ++turn) {
      contenders[(turn + static_cast<size_t>(round)) % contenders.size()].time(repeats, clock);
      // The libraries' workers spin for a while after their last call, on the cores that the next one needs.
      if (threads > 1 && contenders.size() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
  }
}

void tune(const GemmProblem& p, const Options& options, Threads& threads, Report& report) {
  Data data(p);
  auto configs = kernels::candidate_configs(p);
  if (!options.configs.empty()) configs.resize(1);
  for (const auto& changes : options.configs) configs.push_back(config_of(p, changes));
  std::vector<Contender> contenders;
  std::vector<std::string> names;
  for (const auto& config : configs) {
    auto ours = std::make_shared<Ours>(p, config, data, threads);
    contenders.push_back({[ours] { (*ours)(); }, {}});
    names.push_back(describe(config));
  }
  for (const Rival& rival : report.rivals) {
    contenders.push_back({[&] { rival.run(p, data); }, {}});
    names.push_back(rival.name);
  }
  race(contenders, p, options, threads.count(), report.peak_gflops);
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Ratio ratio = paired_ratio(contenders[i], contenders[0]);
    fmt::print("    {:6.1f} {:6.1f}  {:.3f} of the default's time ({:.3f}-{:.3f})  {}\n",
               flops_of(p) / contenders[i].best() * 1e-3, flops_of(p) / median(contenders[i].times_us) * 1e-3,
               ratio.median, ratio.low, ratio.high, names[i]);
  }
}

void compare(const Shape& shape, const Options& options, Threads& threads, Report& report) {
  const GemmProblem& p = shape.problem;
  Data data(p);
  const GemmConfig config = kernels::default_config(p);
  Ours ours(p, config, data, threads);
  std::vector<Contender> contenders{{[&] { ours(); }, {}}};
  for (const Rival& rival : report.rivals) {
    rival.set_threads(threads.count());
    contenders.push_back({[&] { rival.run(p, data); }, {}});
  }
  race(contenders, p, options, threads.count(), report.peak_gflops);

  const auto best = [&](const Contender& c) { return flops_of(p) / c.best() * 1e-3; };
  const auto middle = [&](const Contender& c) { return flops_of(p) / median(c.times_us) * 1e-3; };
  const double of_peak = best(contenders[0]) / (report.peak_gflops * threads.count());
  nlohmann::json row = {{"shape", shape.name},
                        {"threads", threads.count()},
                        {"b_packed_ahead", p.packed_b},
                        {"config", describe(config)},
                        {"rounds", contenders[0].times_us.size()},
                        {"best_us", contenders[0].best()},
                        {"gflops_best", best(contenders[0])},
                        {"gflops_median", middle(contenders[0])},
                        {"of_peak", of_peak}};
  fmt::print("{:26} {:3} {:1} {:9.1f} {:6.1f} {:6.1f} {:4.0f} %", shape.name, threads.count(), p.packed_b ? "B" : "-",
             contenders[0].best(), best(contenders[0]), middle(contenders[0]), 100 * of_peak);
  for (size_t i = 0; i < report.rivals.size(); ++i) {
    const Contender& them = contenders[i + 1];
    const Ratio ratio = paired_ratio(contenders[0], them);
    fmt::print(" | {:6.1f} {:6.1f}  {:.3f} ({:.3f}-{:.3f})", best(them), middle(them), ratio.median, ratio.low,
               ratio.high);
    row["rivals"].push_back({{"name", report.rivals[i].name},
                             {"gflops_best", best(them)},
                             {"gflops_median", middle(them)},
                             {"time_ratio", ratio.median},
                             {"time_ratio_ci95", {ratio.low, ratio.high}}});
  }
  fmt::print("\n");
  report.rows.push_back(row);
  if (options.tune) tune(p, options, threads, report);
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

bool write_json(const Options& options, const Report& report) {
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  utsname system{};
  uname(&system);
  nlohmann::json libraries = nlohmann::json::array();
  for (const Rival& rival : report.rivals) libraries.push_back(rival.name);
  const nlohmann::json json = {{"date", date},
                               {"command", options.command},
                               {"cpu", cpu_model()},
                               {"cores", available_cpus()},
                               {"kernel", system.release},
                               {"target", kernels::to_string(kernels::best_cpu_target())},
                               {"fma_peak_gflops", report.peak_gflops},
                               {"libraries", libraries},
                               {"rows", report.rows}};
  std::ofstream file(options.json);
  file << json.dump(1) << '\n';
  return file.good();
}

int main_inside(const Options& options) {
  Report report;
  report.peak_gflops = fma_peak_gflops();
  for (auto& rival : {load_openblas(), load_onednn()}) {
    if (rival) report.rivals.push_back(*rival);
  }
  fmt::print("target {}, FMA peak (AVX2) {:.1f} GFLOP/s per core\n", kernels::to_string(kernels::best_cpu_target()),
             report.peak_gflops);
  fmt::print("{:26} {:3} {:1} {:>9} {:>6} {:>6} {:>6}", "m x n x k (batch first)", "thr", "B", "best us", "GF",
             "median", "peak");
  for (const Rival& rival : report.rivals) fmt::print(" | {}: GF, median, our time / its", rival.name);
  fmt::print("\n");
  for (int count = 1; count <= std::min(options.threads, available_cpus()); count *= 2) {
    const auto threads = make_thread_pool(count);
    for (const Shape& shape : shapes()) {
      if (std::string_view(shape.name).find(options.filter) == std::string_view::npos) continue;
      compare(shape, options, *threads, report);
    }
  }
  fmt::print("FMA peak, best of all rounds {:.1f} GFLOP/s. B: packed ahead, for Strop only.\n", report.peak_gflops);
  return options.json.empty() || write_json(options, report) ? 0 : 1;
}

int run(int argc, char** argv) {
  Options options;
  for (int i = 0; i < argc; ++i) options.command += std::string(i > 0 ? " " : "") + argv[i];
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--tune") {
      options.tune = true;
    } else if (name == "--rounds" && i + 1 < argc) {
      options.rounds = std::max(std::atoi(argv[++i]), 1);
    } else if (name == "--threads" && i + 1 < argc) {
      options.threads = std::atoi(argv[++i]);
    } else if (name == "--filter" && i + 1 < argc) {
      options.filter = argv[++i];
    } else if (name == "--config" && i + 1 < argc) {
      options.configs.emplace_back(argv[++i]);
      options.tune = true;
    } else if (name == "--json" && i + 1 < argc) {
      options.json = argv[++i];
    } else {
      fmt::print(
          stderr,
          "bench_gemm [--rounds N] [--threads MOST] [--filter TEXT] [--tune] [--config TEXT]... [--json FILE]\n");
      return 2;
    }
  }
  return main_inside(options);
}

}  // namespace
}  // namespace strop

int main(int argc, char** argv) {
  try {
    return strop::run(argc, argv);
  } catch (const std::exception& e) {  // fmt, JSON and memory
    std::fputs(e.what(), stderr);
    return 1;
  }
}
