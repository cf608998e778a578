#include "select/race.h"

#include <algorithm>
#include <cmath>

namespace strop::select {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// A median and half of its 95 % interval, for about normal samples with outliers.
struct Estimate {
  double value = 0;
  double half_width = 0;
};

Estimate estimate(const std::vector<double>& samples) {
  const double centre = median(samples);
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::fabs(sample - centre));
  // 1.4826: deviation to standard deviation; 1.2533: standard error of a median; 1.96: 95 %.
  const double sigma = 1.4826 * median(deviations);
  return {centre, 1.96 * 1.2533 * sigma / std::sqrt(static_cast<double>(samples.size()))};
}

constexpr size_t kTrustedRounds = 12;

struct Runner {
  const Work* work = nullptr;
  int batch = 1;
  std::vector<double> times;  // per round, of one execution
  bool running = true;
  std::string failure;
};

class Race {
 public:
  Race(device::Device& device, const std::vector<Work>& candidates, const RaceOptions& options)
      : device_(device), options_(options), stream_(device.make_stream()) {
    for (const Work& work : candidates) runners_.push_back({&work, 1, {}, true, ""});
  }

  Result<std::vector<Timing>> run() {
    STROP_TRY(warm_up());
    for (int round = 0; round < options_.max_rounds && running() > 0; ++round) {
      if (round >= options_.min_rounds && (is_decided() || spent_us_ > options_.budget_us)) break;
      STROP_TRY(run_round(round));
      if (round + 1 >= options_.min_rounds) drop_losers();
    }
    return timings();
  }

 private:
  // Nullopt: the candidate failed and is out.
  Result<std::optional<double>> measure(Runner& runner) {
    STROP_TRY(options_.cancel.check());
    const auto time = device::time_us(device_, *stream_, [&]() -> Result<void> {
      for (int i = 0; i < runner.batch; ++i) STROP_TRY((*runner.work)(*stream_));
      return {};
    });
    if (!time.ok()) {
      if (time.error().code == ErrorCode::Cancelled) return time.error();
      runner.running = false;
      runner.failure = time.error().message;
      return std::optional<double>();
    }
    spent_us_ += *time;
    return std::optional(*time / runner.batch);
  }

  // Twice, the better one counts: the first run of anything pays for pages and caches.
  Result<void> warm_up() {
    std::vector<double> best(runners_.size(), INFINITY);
    for (int turn = 0; turn < 2; ++turn) {
      for (size_t i = 0; i < runners_.size(); ++i) {
        if (!runners_[i].running) continue;
        STROP_ASSIGN(const std::optional<double> time, measure(runners_[i]));
        if (time) best[i] = std::min(best[i], *time);
      }
    }
    const double fastest = *std::min_element(best.begin(), best.end());
    for (size_t i = 0; i < runners_.size(); ++i) {
      Runner& runner = runners_[i];
      if (!runner.running) continue;
      runner.batch = static_cast<int>(std::clamp(std::ceil(options_.batch_us / std::max(best[i], 1e-3)), 1.0, 1000.0));
      if (best[i] <= fastest * options_.hopeless_ratio) continue;
      runner.times.push_back(best[i]);
      runner.running = false;
      hopeless_.push_back(i);
    }
    warm_best_ = fastest;
    return {};
  }

  // Each round begins with another candidate: nobody always follows the same one.
  Result<void> run_round(int round) {
    const size_t count = runners_.size();
    for (size_t turn = 0; turn < count; ++turn) {
      Runner& runner = runners_[(static_cast<size_t>(round) + turn) % count];
      if (!runner.running) continue;
      STROP_ASSIGN(const std::optional<double> time, measure(runner));
      if (time) runner.times.push_back(*time);
    }
    return {};
  }

  size_t running() const {
    return static_cast<size_t>(std::ranges::count_if(runners_, [](const Runner& runner) { return runner.running; }));
  }

  // The running candidate with the smallest median. All running ones have a time for every round.
  const Runner* leader() const {
    const Runner* best = nullptr;
    double best_median = INFINITY;
    for (const Runner& runner : runners_) {
      if (!runner.running || runner.times.empty()) continue;
      const double its = median(runner.times);
      if (its < best_median) best = &runner, best_median = its;
    }
    return best;
  }

  static Estimate ratio(const Runner& runner, const Runner& leader) {
    std::vector<double> ratios;
    for (size_t round = 0; round < std::min(runner.times.size(), leader.times.size()); ++round)
      ratios.push_back(runner.times[round] / leader.times[round]);
    return estimate(ratios);
  }

  void drop_losers() {
    const Runner* best = leader();
    if (!best) return;
    for (Runner& runner : runners_) {
      if (!runner.running || &runner == best) continue;
      const Estimate its = ratio(runner, *best);
      // This is asked after every round, so 95 % would not be enough; and few samples say little of their own spread:
      // the floor falls with their number.
      const double doubt = std::max(1.6 * its.half_width, 0.15 / std::sqrt(static_cast<double>(runner.times.size())));
      if (its.value - doubt > 1) runner.running = false;
    }
  }

  bool is_decided() const {
    const Runner* best = leader();
    if (!best || running() == 1) return true;
    // A deviation guessed from a few samples is often far too small, unless nothing deviates at all.
    const double target = best->times.size() >= kTrustedRounds ? options_.target_spread : 0;
    return std::ranges::all_of(runners_, [&](const Runner& runner) {
      return !runner.running || &runner == best || ratio(runner, *best).half_width <= target;
    });
  }

  std::vector<Timing> timings() const {
    const Runner* best = leader();
    std::vector<Timing> result;
    for (size_t i = 0; i < runners_.size(); ++i) {
      const Runner& runner = runners_[i];
      Timing timing;
      timing.failure = runner.failure;
      if (runner.failure.empty() && best) {
        const double leader_us = median(best->times);
        const bool hopeless = std::ranges::find(hopeless_, i) != hopeless_.end();
        const Estimate its = hopeless          ? Estimate{runner.times[0] / warm_best_, 0}
                             : &runner == best ? Estimate{1, estimate(runner.times).half_width / leader_us}
                                               : ratio(runner, *best);
        timing.us = leader_us * its.value;
        timing.spread_us = leader_us * its.half_width;
        timing.samples = static_cast<int>(runner.times.size());
      }
      result.push_back(std::move(timing));
    }
    return result;
  }

  device::Device& device_;
  const RaceOptions& options_;
  std::unique_ptr<device::Stream> stream_;
  std::vector<Runner> runners_;
  std::vector<size_t> hopeless_;
  double warm_best_ = 0;
  double spent_us_ = 0;
};

}  // namespace

Result<std::vector<Timing>> race(device::Device& device, const std::vector<Work>& candidates,
                                 const RaceOptions& options) {
  if (candidates.empty()) return std::vector<Timing>();
  return Race(device, candidates, options).run();
}

}  // namespace strop::select
