// strop bench ENGINE|MODEL
#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "bench_subject.h"
#include "commands.h"
#include "interrupt.h"
#include "numbers.h"
#include "sampling.h"

namespace strop::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  CommonOptions common;
  Subject::Request subject;
  double seconds = 3;
  std::string versus;
  bool per_step = false;
};

constexpr size_t kMinSamples = 5;  // however long one takes

double run_ms(Stream& stream) {
  const Clock::time_point begin = Clock::now();
  stream.run();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double since_s(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// When measuring ends: after some time and a number of samples, or when the user wants it.
class Span {
 public:
  Span(double seconds, const Interrupt& interrupt) : seconds_(seconds), interrupt_(interrupt) {}
  bool goes_on(size_t samples, size_t least) const {
    return !interrupt_.happened() && (samples < least || since_s(begin_) < seconds_);
  }
  bool was_interrupted() const { return interrupt_.happened(); }
  double seconds() const { return seconds_; }
  double elapsed_s() const { return since_s(begin_); }
  /// The same with its own beginning.
  Span begun(double share = 1) const { return {seconds_ * share, interrupt_}; }

 private:
  double seconds_;
  const Interrupt& interrupt_;
  Clock::time_point begin_ = Clock::now();
};

/// Runs until caches, clocks and branch predictors have settled: a tenth of the time, at least twice.
void warm_up(Stream& stream, const Span& span) {
  const Span short_span = span.begun(0.1);
  for (size_t runs = 0; short_span.goes_on(runs, 2); ++runs) stream.run();
}

struct Samples {
  std::vector<double> ms;
  double wall_s = 0;
};

Samples sample(Stream& stream, const Span& span) {
  warm_up(stream, span);
  Samples samples;
  const Span own = span.begun();
  while (own.goes_on(samples.ms.size(), kMinSamples)) samples.ms.push_back(run_ms(stream));
  samples.wall_s = own.elapsed_s();
  return samples;
}

void check_some(const Samples& samples) {
  if (samples.ms.empty()) throw Failure{{ErrorCode::Cancelled, "interrupted before anything was measured"}};
}

/// Each stream in a thread of its own, all at once.
Samples sample_all(Subject& subject, const Span& span) {
  if (subject.streams() == 1) return sample(subject.stream(0), span);
  std::vector<Samples> parts(subject.streams());
  std::vector<std::exception_ptr> failures(subject.streams());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < subject.streams(); ++i) {
    threads.emplace_back([&, i] {
      try {
        parts[i] = sample(subject.stream(i), span);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  Samples all;
  for (const Samples& part : parts) {
    all.ms.insert(all.ms.end(), part.ms.begin(), part.ms.end());
    all.wall_s = std::max(all.wall_s, part.wall_s);
  }
  return all;
}

Json subject_json(const Subject& subject, const Samples& samples) {
  return {{"latency_ms", latency_json(samples.ms)},
          {"throughput_per_s", static_cast<double>(samples.ms.size()) / samples.wall_s},
          {"samples", samples.ms.size()},
          {"streams", subject.streams()},
          {"threads_per_stream", subject.threads_per_stream()},
          {"device", subject.engine().device()},
          {"plan_digest", subject.engine().plan_digest()}};
}

/// The median time of each step over the runs of a quarter of the span, each step timed by itself.
Json step_times_json(Subject& subject, const Span& span) {
  std::vector<std::vector<double>> times;
  const Span quarter = span.begun(0.25);
  for (size_t runs = 0; quarter.goes_on(runs, 3); ++runs) {
    const std::vector<StepTime> profile = or_fail(subject.stream(0).context().profile());
    times.resize(profile.size());
    for (size_t i = 0; i < profile.size(); ++i) times[i].push_back(profile[i].time_us);
  }
  double total = 0;
  for (auto& samples : times) total += median_of(samples).value;
  const Json plan = Json::parse(or_fail(subject.engine().inspect_json()));
  Json steps = Json::array();
  for (size_t i = 0; i < times.size(); ++i) {
    const double time_us = median_of(times[i]).value;
    Json step{{"index", i}, {"time_us", time_us}, {"share", total > 0 ? time_us / total : 0}};
    for (const char* key : {"name", "op", "tactic", "config", "onnx_nodes"}) step[key] = plan["steps"][i][key];
    steps.push_back(std::move(step));
  }
  return steps;
}

void print_steps(const Json& steps) {
  std::vector<Json> sorted(steps.begin(), steps.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const Json& a, const Json& b) {
    return a["time_us"].get<double>() > b["time_us"].get<double>();
  });
  std::vector<std::vector<std::string>> rows;
  for (const Json& step : sorted) {
    rows.push_back({step["index"].dump(), fmt::format("{:.1f}", step["time_us"].get<double>()),
                    fmt::format("{:.1f}", 100 * step["share"].get<double>()), step["op"].get<std::string>(),
                    step["tactic"].get<std::string>(), step["name"].get<std::string>()});
  }
  print_table({"step", "us", "%", "operator", "tactic", "ONNX node"}, rows);
}

void print_latency(const std::string& name, const Json& document) {
  const Json& latency = document["latency_ms"];
  fmt::print("{}: median {:.4f} ms (95 %: {:.4f} .. {:.4f}), p99 {:.4f} ms, {:.1f} per second, {} samples, {} on {}\n",
             name, latency["median"].get<double>(), latency["ci95"][0].get<double>(), latency["ci95"][1].get<double>(),
             latency["p99"].get<double>(), document["throughput_per_s"].get<double>(),
             document["samples"].get<int64_t>(),
             document["streams"] == 1 ? "1 stream" : document["streams"].dump() + " streams",
             document["device"].get<std::string>());
}

/// The exit code; says so where it was not the time that ended the measuring.
int ended(const Span& span) {
  if (!span.was_interrupted()) return 0;
  say("interrupted: the figures are of what was measured until then");
  return exit_code(ErrorCode::Cancelled);
}

int run_alone(const Options& options, const Runtime& runtime, Interrupt& interrupt) {
  Subject subject(options.subject, runtime);
  for (const Runtime& own : subject.runtimes()) interrupt.add(own);
  interrupt.finish_current();
  const Span span(options.seconds, interrupt);
  const Samples samples = sample_all(subject, span);
  check_some(samples);
  Json document = subject_json(subject, samples);
  if (options.per_step && !span.was_interrupted()) document["steps"] = step_times_json(subject, span);
  if (span.was_interrupted()) document["interrupted"] = true;
  if (options.common.json) {
    print_json(document);
    return ended(span);
  }
  if (document.contains("steps")) print_steps(document["steps"]);
  print_latency(options.subject.path, document);
  return ended(span);
}

/// One run of each in turn, so that both see the same machine; ratio of each pair.
int run_versus(const Options& options, const Runtime& runtime, Interrupt& interrupt) {
  Subject a(options.subject, runtime);
  Subject::Request other = options.subject;
  other.path = options.versus;
  Subject b(other, runtime);
  interrupt.finish_current();
  const Span warm_span(options.seconds, interrupt);
  warm_up(a.stream(0), warm_span);
  warm_up(b.stream(0), warm_span);
  Samples first;
  Samples second;
  std::vector<double> ratios;
  const Span span = warm_span.begun();
  while (span.goes_on(ratios.size(), kMinSamples)) {
    const bool a_first = ratios.size() % 2 == 0;
    if (a_first) first.ms.push_back(run_ms(a.stream(0)));
    second.ms.push_back(run_ms(b.stream(0)));
    if (!a_first) first.ms.push_back(run_ms(a.stream(0)));
    ratios.push_back(first.ms.back() / second.ms.back());
  }
  check_some(first);
  for (Samples* samples : {&first, &second}) {
    for (const double ms : samples->ms) samples->wall_s += ms / 1000;
  }
  const Median ratio = median_of(ratios);
  Json document{{"a", subject_json(a, first)},
                {"b", subject_json(b, second)},
                {"ratio", {{"median", ratio.value}, {"ci95", {ratio.low, ratio.high}}}}};
  if (span.was_interrupted()) document["interrupted"] = true;
  if (options.common.json) {
    print_json(document);
    return ended(span);
  }
  print_latency(options.subject.path, document["a"]);
  print_latency(options.versus, document["b"]);
  fmt::print("time(a)/time(b): {:.4f} (95 %: {:.4f} .. {:.4f}); below 1, a is faster\n", ratio.value, ratio.low,
             ratio.high);
  return ended(span);
}

void check_files(const Options& options) {
  CallFiles files;
  files.reads("ENGINE", options.subject.path);
  files.reads("--vs", options.versus);
  add_files(files, options.subject.inputs);
  add_files(files, options.subject.compile);
  files.check();
  if (!options.versus.empty() && !options.subject.compile.write_lockfile.empty())
    refuse("--vs with --write-lockfile: two builds would write it; write it with strop build");
}

int run(const Options& options) {
  check_files(options);
  const Runtime runtime = make_runtime(options.common);
  Interrupt interrupt(runtime);
  if (options.versus.empty()) return run_alone(options, runtime, interrupt);
  if (options.subject.streams != 1 || options.per_step)
    refuse("--vs times single runs in alternation: leave out --streams and --per-step");
  return run_versus(options, runtime, interrupt);
}

}  // namespace

void add_bench(CLI::App& app, Job& job) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("bench", "Time an engine or a model");
  command.add_option("ENGINE", options->subject.path, "Engine or ONNX file")->required();
  add_number(command, "--seconds", options->seconds, {0.01, 86400.0}, "How long to measure");
  add_number(command, "--streams", options->subject.streams, {1, 1024},
             "Contexts that run at once, each in a thread with its share of the threads");
  command.add_option("--vs", options->versus, "Another engine or model, timed in alternation");
  command.add_flag("--per-step", options->per_step, "Also time every step by itself");
  add_inputs(command, options->subject.inputs, true);
  add_compile(command, options->subject.compile);
  add_common(command, options->common);
  command.callback([options, &job] { job = [options] { return run(*options); }; });
}

}  // namespace strop::tool
