#include "select/selector.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/memory.h"
#include "select/problem_text.h"
#include "select/race.h"
#include "select/workbench.h"

namespace strop::select {
namespace {

using tactics::Config;
using tactics::Problem;
using tactics::Tactic;

// Steps that touch more than this never gain from a single worker.
constexpr int64_t kSmallStepBytes = int64_t{1} << 20;
// Candidates this close to the fastest are as fast, if their intervals do not say more.
constexpr double kTie = 0.01;

struct Effort {
  int max_rounds;
  double budget_us;
};
constexpr Effort kEfforts[] = {{0, 0}, {4, 10e3}, {8, 40e3}, {24, 150e3}, {60, 800e3}, {200, 5e6}};

bool is_library(const Tactic& tactic) { return tactic.name.ends_with(".onednn"); }

std::optional<std::string> refusal(const Tactic& tactic, const Problem& problem, Sources sources) {
  if (sources == Sources::Reference) return "switched off by tactics.sources=reference";
  if (sources == Sources::Own && is_library(tactic)) return "switched off by tactics.sources=own";
  return tactic.why_not(problem);
}

int64_t bytes_touched(const Problem& problem) {
  int64_t bytes = 0;
  for (const auto* types : {&problem.inputs, &problem.outputs}) {
    for (const Type& type : *types) {
      if (!type.is_tensor() || !type.tensor.is_static()) continue;
      bytes += byte_size(type.tensor.dtype, element_count(*as_constants(type.tensor.dims())));
    }
  }
  return bytes;
}

bool is_static(const Problem& problem) { return at_values(problem, {}).has_value(); }

/// The problem at its symbols' optimum. Null: something stays open, or the operator is not legal there, which `why_not`
/// says: tactics may rely on the operator's constraints.
std::optional<Problem> at_optimum(const Problem& problem, const std::map<std::string, int64_t>& optimum,
                                  std::string& why_not) {
  std::optional<Problem> concrete = at_values(problem, optimum);
  if (!concrete) why_not = "its dimensions are open and have no optimum";
  if (!concrete || is_static(problem)) return concrete;
  ops::InferContext context(concrete->attrs, concrete->inputs, concrete->outputs.size(), "?");
  context.known_inputs.resize(concrete->inputs.size());
  if (const auto inferred = ops::infer(*concrete->op, context); !inferred.ok()) {
    why_not = "it is not legal at the optimum: " + inferred.error().message;
    return std::nullopt;
  }
  for (size_t i = 0; i < concrete->outputs.size(); ++i) {
    if (context.outputs[i] == concrete->outputs[i]) continue;
    why_not = fmt::format("its result {} is {} at the optimum, not {}", i, to_string(context.outputs[i]),
                          to_string(concrete->outputs[i]));
    return std::nullopt;
  }
  return concrete;
}

std::string described(const Tactic& tactic, const Config& config) {
  return config.values.empty() ? std::string(tactic.name) : fmt::format("{} {}", tactic.name, config.to_string());
}

plan::Candidate listed(const Tactic& tactic, const Config& config) {
  return {std::string(tactic.name), config.to_string(), {}, {}, ""};
}

}  // namespace

std::vector<const KnobInfo*> knobs() { return {&kSources.info, &kStepThreads.info}; }

Selector::Selector(const SelectEnvironment& environment, const Route& route, SelectOptions options)
    : environment_(environment),
      route_(route),
      options_(std::move(options)),
      device_(options_.device.empty() ? environment.device.properties().fingerprint : options_.device),
      threads_(options_.threads == 0 ? environment.threads.count() : options_.threads) {
  STROP_CHECK(options_.effort >= 0 && options_.effort <= 5, "effort {}", options_.effort);
}

std::vector<Config> Selector::configs(const Tactic& tactic, const Problem& problem) const {
  std::vector<Config> result = tactic.configs(problem);
  if (threads_ == 1) return result;
  const StepThreads threads = route_.get(kStepThreads);
  const Config::Item one{std::string(tactics::kThreadsParameter), 1};
  if (threads == StepThreads::One) {
    for (Config& config : result) config.values.push_back(one);
  } else if (threads == StepThreads::Measured && is_static(problem) && bytes_touched(problem) <= kSmallStepBytes) {
    for (size_t i = 0, count = result.size(); i < count; ++i) {
      Config alone = result[i];
      alone.values.push_back(one);
      result.push_back(std::move(alone));
    }
  }
  return result;
}

std::vector<Selector::Candidate> Selector::candidates(const Problem& problem,
                                                      std::vector<plan::Candidate>& refused) const {
  const Sources sources = route_.get(kSources);
  std::vector<Candidate> result;
  for (const Tactic* tactic : environment_.tactics.for_op(problem.op->name, environment_.device.properties().kind)) {
    if (auto reason = refusal(*tactic, problem, sources)) {
      refused.push_back(listed(*tactic, {}));
      refused.back().refused = std::move(*reason);
      continue;
    }
    const double rank = tactic->rank(problem);
    for (Config& config : configs(*tactic, problem)) result.push_back({tactic, std::move(config), rank});
  }
  std::ranges::stable_sort(result, {}, &Candidate::rank);
  return result;
}

Result<CandidateTimes> Selector::measure(const Problem& problem, const std::vector<Candidate>& candidates) {
  if (options_.on_measure) options_.on_measure(problem_text(problem));
  Workbench bench(problem, environment_.device, environment_.threads);
  std::vector<Work> works;
  const bool limited = options_.memory_limit_bytes > 0;
  int64_t bytes = limited ? resident_bytes() : 0;
  CandidateTimes result;
  for (const Candidate& candidate : candidates) {
    CandidateTime time{std::string(candidate.tactic->name), candidate.tactic->version, candidate.config.to_string()};
    if (limited) {
      const auto needed = bench.bytes_needed(*candidate.tactic, candidate.config);
      bytes += needed.ok() ? *needed : 0;
      if (bytes > options_.memory_limit_bytes) return CandidateTimes();
    }
    auto work = bench.add(*candidate.tactic, candidate.config);
    if (!work.ok()) {
      const std::string why = work.error().message;
      time.failure = why;
      works.emplace_back([why](device::Stream&) -> Result<void> { return error(ErrorCode::Device, "{}", why); });
    } else {
      works.push_back(std::move(*work));
    }
    result.push_back(std::move(time));
  }
  const Effort& effort = kEfforts[options_.effort];
  RaceOptions race_options;
  race_options.max_rounds = candidates.size() == 1 ? 3 : effort.max_rounds;
  race_options.budget_us = effort.budget_us;
  race_options.cancel = options_.cancel;
  STROP_ASSIGN(const std::vector<Timing> timings, race(environment_.device, works, race_options));
  for (size_t i = 0; i < timings.size(); ++i) {
    result[i].us = rounded_time(timings[i].us);
    result[i].spread_us = rounded_time(timings[i].spread_us);
    result[i].samples = timings[i].samples;
    result[i].failure = timings[i].failure;
  }
  return result;
}

Result<CandidateTimes> Selector::times(const Problem& problem, const std::vector<Candidate>& candidates,
                                       std::string& why_not) {
  TimingKey key{problem_text(problem), threads_, device_, environment_.software, ""};
  CandidateTimes wanted;
  for (const Candidate& candidate : candidates)
    wanted.push_back({std::string(candidate.tactic->name), candidate.tactic->version, candidate.config.to_string()});
  key.candidates = candidates_text(wanted);
  const CandidateTimes* found = environment_.cache.find(key);
  if (found) {
    ++stats_.cached;
  } else if (options_.cache_only || options_.effort == 0) {
    why_not = options_.cache_only ? "the timing cache has no times of it" : "effort 0 measures nothing";
    if (options_.cache_only && std::ranges::find(missing_, key.problem) == missing_.end())
      missing_.push_back(key.problem);
    return CandidateTimes();
  } else {
    STROP_ASSIGN(CandidateTimes measured, measure(problem, candidates));
    if (measured.empty()) {
      why_not = "measuring it needs more than the memory limit";
      return CandidateTimes();
    }
    ++stats_.measured;
    environment_.cache.insert(key, std::move(measured));
    found = environment_.cache.find(key);
  }
  used_.insert(key, *found);
  // In the order of the candidates: the cache sorts.
  CandidateTimes result;
  for (const CandidateTime& want : wanted) {
    result.push_back(*std::ranges::find_if(*found, [&](const CandidateTime& time) {
      return time.tactic == want.tactic && time.version == want.version && time.config == want.config;
    }));
  }
  return result;
}

// Within noise of the fastest: the smaller workspace, then the more exact numerics, then the better rank.
size_t Selector::decide(const Problem& problem, const std::vector<Candidate>& candidates, const CandidateTimes& times,
                        std::string& why) const {
  constexpr size_t kNone = SIZE_MAX;
  size_t fastest = kNone;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].failure.empty() && (fastest == kNone || times[i].us < times[fastest].us)) fastest = i;
  }
  if (fastest == kNone) {
    why = "every candidate failed when it was timed: best rank";
    return 0;
  }
  std::vector<size_t> close;
  for (size_t i = 0; i < times.size(); ++i) {
    const double noise = std::min(std::max(times[i].spread_us, times[fastest].spread_us), kTie * times[fastest].us);
    if (times[i].failure.empty() && times[i].us <= times[fastest].us + noise) close.push_back(i);
  }
  if (times.size() == 1) {
    why = "the only one that applies besides the reference";
    return fastest;
  }
  if (close.size() == 1) {
    why = fmt::format("the fastest of {}: {} µs", times.size(), times[fastest].us);
    return fastest;
  }
  // Workspace, numerics, rank: the smallest wins.
  using Merit = std::tuple<int64_t, tactics::Numerics, size_t>;
  std::map<size_t, Merit> merits;
  for (const size_t i : close) {
    const auto launch = prepare_candidate(problem, *candidates[i].tactic, candidates[i].config, threads_);
    merits[i] = {launch.ok() ? (*launch)->workspace_bytes() : INT64_MAX, candidates[i].tactic->numerics, i};
  }
  const size_t best = *std::ranges::min_element(close, {}, [&](size_t i) { return merits.at(i); });
  const auto& [workspace, numerics, rank] = merits.at(best);
  if (best == fastest) {
    why = fmt::format("the fastest of {}: {} µs", times.size(), times[fastest].us);
  } else {
    why = fmt::format("as fast as {} ({} µs) within noise, with {}",
                      described(*candidates[fastest].tactic, candidates[fastest].config), times[fastest].us,
                      workspace < std::get<0>(merits.at(fastest))  ? "a smaller workspace"
                      : numerics < std::get<1>(merits.at(fastest)) ? "more exact numerics"
                                                                   : "a better rank");
  }
  return best;
}

Result<std::optional<double>> Selector::time_us(const Problem& problem) {
  STROP_TRY(options_.cancel.check());
  std::vector<plan::Candidate> refused;
  const std::vector<Candidate> found = candidates(problem, refused);
  std::string why_not;
  const std::optional<Problem> concrete = at_optimum(problem, options_.optimum, why_not);
  if (found.empty() || !concrete) return std::optional<double>();
  STROP_ASSIGN(const CandidateTimes measured, times(*concrete, found, why_not));
  std::optional<double> best;
  for (const CandidateTime& time : measured) {
    if (time.failure.empty() && (!best || time.us < *best)) best = time.us;
  }
  return best;
}

Result<Choice> Selector::choose(const Problem& problem) {
  STROP_TRY(options_.cancel.check());
  Choice choice;
  std::vector<plan::Candidate> refused;
  const std::vector<Candidate> found = candidates(problem, refused);
  plan::Candidate reference{tactics::reference_tactic_name(problem.op->name), "", {}, {}, ""};
  if (found.empty()) {
    choice.why = "no other tactic applies";
  } else {
    std::string why_not;
    const std::optional<Problem> concrete = at_optimum(problem, options_.optimum, why_not);
    CandidateTimes measured;
    if (concrete) {
      STROP_ASSIGN(measured, times(*concrete, found, why_not));
    }
    size_t best = 0;
    if (!measured.empty()) {
      best = decide(*concrete, found, measured, choice.why);
    } else if (found.size() == 1) {
      choice.why = "the only one that applies besides the reference";
    } else {
      choice.why = fmt::format("lowest expected cost of {} that apply; not measured: {}", found.size(), why_not);
      ++stats_.estimated;
    }
    choice.tactic = found[best].tactic;
    choice.config = found[best].config;
    for (size_t i = 0; i < found.size(); ++i) {
      plan::Candidate item = listed(*found[i].tactic, found[i].config);
      if (!measured.empty() && measured[i].failure.empty()) {
        item.time_us = measured[i].us;
        item.spread_us = measured[i].spread_us;
      } else if (!measured.empty()) {
        item.refused = "failed when it was timed: " + measured[i].failure;
      }
      choice.candidates.push_back(std::move(item));
    }
    reference.refused = "the last resort: not timed where others apply";
  }
  std::ranges::move(refused, std::back_inserter(choice.candidates));
  choice.candidates.push_back(std::move(reference));
  return choice;
}

}  // namespace strop::select
