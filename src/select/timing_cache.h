/// The timing cache: what candidates were measured to take, kept between builds and machines.
///
/// A text file of one JSON document per line. The first says what it is and the version of its format; every other is
/// one problem on one device with all candidates that were timed against each other. Lines are sorted, so that equal
/// contents are equal bytes.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace strop::select {

inline constexpr int kTimingCacheVersion = 1;

/// What was measured where: the problem's canonical text, the workers, the device's and the software's fingerprints,
/// and which candidates ran against each other. A candidate that is new or of another version makes another key.
struct TimingKey {
  std::string problem;
  int threads = 1;
  std::string device;
  std::string software;
  std::string candidates;  ///< candidates_text of the times
  // The generated comparison has a literal 0.
  friend auto operator<=>(const TimingKey&, const TimingKey&) = default;  // NOLINT(modernize-use-nullptr)
};

/// One tactic with one config. Times have four significant digits, so that a decision made from what was just measured
/// and one made from what was read back are the same.
struct CandidateTime {
  std::string tactic;
  int version = 1;
  std::string config;
  double us = 0;
  double spread_us = 0;  ///< half of the 95 % interval
  int samples = 0;
  std::string failure;  ///< it could not be run; "" if it could
  friend auto operator<=>(const CandidateTime&, const CandidateTime&) = default;  // NOLINT(modernize-use-nullptr)
};

using CandidateTimes = std::vector<CandidateTime>;

/// "tactic@version config; …", sorted.
std::string candidates_text(const CandidateTimes& times);

/// Four significant digits.
double rounded_time(double us);

class TimingCache {
 public:
  /// Lines that cannot be used (damaged, or of a newer format) are counted, never an error. Errors: the file cannot be
  /// read, or is something else than a timing cache (so that it is not overwritten). A file that is missing or empty is
  /// an empty cache.
  static Result<TimingCache> load(const std::string& path);
  static Result<TimingCache> parse(std::string_view text, const std::string& name);

  const CandidateTimes* find(const TimingKey& key) const;
  /// `key.candidates` is filled in from the times. Of two measurements of one problem the one with more samples stays;
  /// with as many, the one that sorts first: the result of merging does not depend on the order.
  void insert(TimingKey key, CandidateTimes times);
  void merge(const TimingCache& other);

  size_t size() const { return entries_.size(); }
  int64_t unusable_lines() const { return unusable_lines_; }
  /// A newer Strop made the file: none of its lines can be read, and it must not be replaced.
  bool is_newer() const { return newer_; }
  const std::map<TimingKey, CandidateTimes>& entries() const { return entries_; }
  std::string text() const;

  /// Merges into what the file holds by now and replaces it, under a lock: several processes may share the file. What
  /// another process has added is merged into this cache too.
  Result<void> save(const std::string& path);

 private:
  std::map<TimingKey, CandidateTimes> entries_;
  int64_t unusable_lines_ = 0;
  bool newer_ = false;
};

/// The line of a problem as the file holds it; digests are made of these.
std::string timing_line(const TimingKey& key, const CandidateTimes& times);

}  // namespace strop::select
