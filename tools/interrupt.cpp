#include "interrupt.h"

#include <unistd.h>

#include <csignal>
#include <ctime>

#include "console.h"

namespace strop::tool {
namespace {

sigset_t signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

void block_interrupts() {
  const sigset_t set = signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Interrupt::Interrupt(Runtime runtime) : runtimes_{std::move(runtime)}, thread_([this] { wait(); }) {}

Interrupt::~Interrupt() {
  stop_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);  // wakes sigwait
  thread_.join();
}

void Interrupt::add(Runtime runtime) {
  const std::lock_guard lock(mutex_);
  runtimes_.push_back(std::move(runtime));
  if (happened_) runtimes_.back().cancel();
}

void Interrupt::wait() {
  const sigset_t set = signals();
  for (int signal = 0; sigwait(&set, &signal) == 0;) {
    if (stop_) return;
    if (happened_.exchange(true)) _exit(exit_code(ErrorCode::Cancelled));
    if (finish_) {
      say("stopping after what is running now; once more to end at once");
      continue;
    }
    say("stopping; once more to end at once");
    const std::lock_guard lock(mutex_);
    for (Runtime& runtime : runtimes_) runtime.cancel();
  }
}

}  // namespace strop::tool
