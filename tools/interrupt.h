/// Ctrl-C ends what a runtime is doing; a second one ends the process.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "strop/strop.h"

namespace strop::tool {

/// Blocks SIGINT and SIGTERM in this thread and those it starts, so that only Interrupt sees them. Call first in main.
void block_interrupts();

/// While it lives, a signal cancels its runtimes; after finish_current(), the caller looks at happened() instead.
class Interrupt {
 public:
  explicit Interrupt(Runtime runtime);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  void add(Runtime runtime);
  /// From now on a signal cancels nothing: what is running ends, and what was done is kept.
  void finish_current() { finish_ = true; }
  bool happened() const { return happened_; }

 private:
  void wait();

  std::mutex mutex_;
  std::vector<Runtime> runtimes_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> happened_ = false;
  std::atomic<bool> finish_ = false;
  std::thread thread_;
};

}  // namespace strop::tool
