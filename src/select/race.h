/// Timing of candidates against each other: in rounds, each candidate once per round, so that whatever the machine does
/// meanwhile (frequency, neighbours, heat) happens to all of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "device/device.h"

namespace strop::select {

/// Enqueues the candidate's work once.
using Work = std::function<Result<void>(device::Stream&)>;

struct RaceOptions {
  int min_rounds = 3;
  int max_rounds = 24;
  double budget_us = 200e3;      ///< no further round begins after this much device time; min_rounds come first
  double target_spread = 0.005;  ///< of a candidate's ratio to the leader: known well enough
  double batch_us = 20;          ///< short work is repeated until a measurement takes about this long
  double hopeless_ratio = 4;     ///< after two warm-up runs, candidates this much slower than the best are out
  CancelToken cancel;
};

/// What the race says of one candidate.
struct Timing {
  /// Of one execution: the leader's median, times the median of the ratios to the leader in the rounds that both ran.
  double us = 0;
  double spread_us = 0;  ///< half of the 95 % interval of `us` relative to the leader
  int samples = 0;       ///< rounds
  std::string failure;   ///< it could not be run: why; the other fields are then 0
};

/// Rounds go on until one candidate is left or all that are left are known well enough, within the limits. A candidate
/// leaves when it is surely slower than the leader; one that fails leaves at once. Error: cancelled, nothing else.
///
/// Medians of paired ratios and their interval from the median absolute deviation: Huber, Robust Statistics (1981).
Result<std::vector<Timing>> race(device::Device& device, const std::vector<Work>& candidates,
                                 const RaceOptions& options);

}  // namespace strop::select
