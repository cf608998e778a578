/// What timing a problem's candidates needs: operands, results, packed weights and prepared launches.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "select/race.h"
#include "tactics/tactic.h"

namespace strop::select {

/// The candidate's launch for a problem with constant dimensions, with its constant operands packed; `threads`: all
/// workers there are.
Result<std::unique_ptr<tactics::Launch>> prepare_candidate(const tactics::Problem& problem,
                                                           const tactics::Tactic& tactic, const tactics::Config& config,
                                                           int threads);

/// For one problem with constant dimensions. Operands that are not constant hold seeded numbers (floats normal(0, 1),
/// so that no denormal numbers slow anything; integers 0, a legal index).
class Workbench {
 public:
  Workbench(const tactics::Problem& problem, device::Device& device, Threads& threads);

  /// Errors: what `prepare` says, or no memory.
  Result<Work> add(const tactics::Tactic& tactic, const tactics::Config& config);
  /// Bytes that adding it would allocate: its packed weights and workspace, and what all candidates share if it is the
  /// first.
  Result<int64_t> bytes_needed(const tactics::Tactic& tactic, const tactics::Config& config);

 private:
  struct Candidate {
    std::unique_ptr<tactics::Launch> launch;
    std::vector<tactics::Buffer> inputs;
    std::vector<std::unique_ptr<device::Memory>> packed;
    std::unique_ptr<device::Memory> workspace;
    Threads* threads = nullptr;
  };
  Result<void> make_operands();
  Result<std::unique_ptr<device::Memory>> operand(size_t index);

  const tactics::Problem& problem_;
  device::Device& device_;
  Threads& threads_;
  SingleThread single_;
  bool made_ = false;
  std::vector<std::unique_ptr<device::Memory>> memory_;
  std::vector<tactics::Buffer> inputs_;
  std::vector<tactics::Buffer> outputs_;
};

}  // namespace strop::select
