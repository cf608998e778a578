/// Selection: every applicable tactic and config of a problem is timed once, or read from the timing cache, and the
/// best is kept with the reason.
///
/// What is chosen is a function of the cache's entries alone, so that a build that measures and a later one that reads
/// what was measured give the same engine.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/hash.h"
#include "base/knob.h"
#include "device/device.h"
#include "plan/plan.h"
#include "select/timing_cache.h"
#include "tactics/tactic.h"

namespace strop::select {

/// Which implementations may be chosen: all; own kernels only (no libraries); the reference evaluation only.
enum class Sources : uint8_t { All, Own, Reference };
inline constexpr std::string_view kSourceNames[] = {"all", "own", "reference"};
inline constexpr Knob<Sources> kSources{{.name = "tactics.sources",
                                         .help = "which implementations may be chosen: all, own kernels, the reference",
                                         .default_value = "all",
                                         .values = kSourceNames,
                                         .effect = Effect::Numerics}};

/// How many workers a step uses: whatever was measured to be faster for small ones, or the same for every step.
enum class StepThreads : uint8_t { Measured, All, One };
inline constexpr std::string_view kStepThreadNames[] = {"measured", "all", "one"};
inline constexpr Knob<StepThreads> kStepThreads{
    {.name = "tactics.threads",
     .help = "workers of a step: all or one, whichever is faster; always all; always one",
     .default_value = "measured",
     .values = kStepThreadNames}};

/// The knobs that selecting reads.
std::vector<const KnobInfo*> knobs();

struct Choice {
  const tactics::Tactic* tactic = nullptr;  ///< null: the reference evaluation, which never refuses
  tactics::Config config;
  std::string why;  ///< one sentence
  std::vector<plan::Candidate> candidates;
};

struct SelectOptions {
  /// 0: by the tactics' own ranks, nothing is measured (cached times are used). 1 to 5: how long candidates that are
  /// close are compared.
  int effort = 3;
  bool cache_only = false;                 ///< measure nothing; problems without cached times are listed in missing()
  std::map<std::string, int64_t> optimum;  ///< symbols' values at which problems of open dimensions are measured
  /// Resident memory that measuring may bring the process to; 0: any. Ranks decide what would need more.
  int64_t memory_limit_bytes = 0;
  std::string device;  ///< fingerprint that times are looked up by; "": the device's own
  int threads = 0;     ///< workers that times are looked up by and steps chosen for; 0: those there are
  CancelToken cancel;
  std::function<void(std::string_view problem)> on_measure;  ///< before each race; may be empty
};

struct SelectStats {
  int64_t measured = 0;   ///< problems timed now
  int64_t cached = 0;     ///< problems whose times were in the cache
  int64_t estimated = 0;  ///< problems decided by rank, though several candidates apply
};

/// What selecting works with. All outlive the selector.
struct SelectEnvironment {
  const tactics::TacticList& tactics;
  device::Device& device;
  Threads& threads;
  std::string software;  ///< fingerprint
  TimingCache& cache;
};

class Selector {
 public:
  Selector(const SelectEnvironment& environment, const Route& route, SelectOptions options);

  /// Errors: cancelled. A candidate that cannot be run is not an error: its failure is among the candidates.
  Result<Choice> choose(const tactics::Problem& problem);

  /// The time in µs that the fastest candidate takes, for passes that decide between forms of a graph; measured and
  /// cached as in choose(). Null: nothing is known and nothing may be measured, or only the last resort applies.
  /// Errors: cancelled.
  Result<std::optional<double>> time_us(const tactics::Problem& problem);

  const SelectStats& stats() const { return stats_; }
  /// The texts of problems that cache_only found no times for, each once.
  const std::vector<std::string>& missing() const { return missing_; }
  const std::string& device() const { return device_; }
  int threads() const { return threads_; }
  /// Exactly the entries that choices were made from.
  const TimingCache& used() const { return used_; }

 private:
  struct Candidate {
    const tactics::Tactic* tactic = nullptr;
    tactics::Config config;
    double rank = 0;
  };
  /// The candidates that apply, best rank first; those that do not go to `refused` with their reasons.
  std::vector<Candidate> candidates(const tactics::Problem& problem, std::vector<plan::Candidate>& refused) const;
  std::vector<tactics::Config> configs(const tactics::Tactic& tactic, const tactics::Problem& problem) const;
  // `problem` has constant dimensions in all that follow.
  /// Empty: there are no times, and ranks have to decide; `why_not` says why.
  Result<CandidateTimes> times(const tactics::Problem& problem, const std::vector<Candidate>& candidates,
                               std::string& why_not);
  Result<CandidateTimes> measure(const tactics::Problem& problem, const std::vector<Candidate>& candidates);
  size_t decide(const tactics::Problem& problem, const std::vector<Candidate>& candidates, const CandidateTimes& times,
                std::string& why) const;

  SelectEnvironment environment_;
  const Route& route_;
  SelectOptions options_;
  std::string device_;
  int threads_;
  SelectStats stats_;
  std::vector<std::string> missing_;
  TimingCache used_;
};

}  // namespace strop::select
