/// Ctrl-C ends what a runtime is doing; a second one ends the process.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "strop/strop.h"

namespace strop::tool {

/// Blocks SIGINT and SIGTERM in this thread and those it starts, so that only Interrupt sees them. Call first in main.
void block_interrupts();

/// While it lives, a signal cancels the runtimes.
class Interrupt {
 public:
  explicit Interrupt(std::vector<Runtime> runtimes);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool happened() const { return happened_; }

 private:
  void wait();

  std::vector<Runtime> runtimes_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> happened_ = false;
  std::thread thread_;
};

}  // namespace strop::tool
