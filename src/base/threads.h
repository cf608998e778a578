/// The threads that kernels run on. A Runtime owns one Threads object and hands it to every launch; nothing is global.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/function_ref.h"

namespace strop {

/// An executor of fork-join loops. Implementations may be replaced by the caller of the API.
class Threads {
 public:
  virtual ~Threads() = default;

  /// Number of workers, the calling thread included; at least 1.
  virtual int count() const = 0;

  /// Calls task(index, worker) once for every index in [0, tasks), on at most count() threads at a time, and returns
  /// when all are done. `worker` is in [0, count()) and unique among concurrently running calls. Tasks are handed out
  /// in index order. The task must not throw. Not reentrant: a task must not call run on the same object.
  virtual void run(int64_t tasks, FunctionRef<void(int64_t index, int worker)> task) = 0;
};

/// Runs everything on the calling thread.
class SingleThread final : public Threads {
 public:
  int count() const override { return 1; }
  void run(int64_t tasks, FunctionRef<void(int64_t, int)> task) override {
    for (int64_t i = 0; i < tasks; ++i) task(i, 0);
  }
};

/// A pool of `count - 1` threads beside the caller. Workers wait for work by spinning for a short, bounded time and
/// then sleeping, so that an idle pool costs nothing. Calls of run from several threads are serialised.
std::unique_ptr<Threads> make_thread_pool(int count);

/// Number of CPUs this process may run on (affinity mask respected), at least 1.
int available_cpus();

/// Splits [0, count) into contiguous ranges of at least `grain` items and calls body(begin, end, worker) for each.
/// With one worker or one range, body runs inline with no synchronisation.
template <class Body>
void parallel_for(Threads& threads, int64_t count, int64_t grain, Body&& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t ranges = std::min<int64_t>((count + grain - 1) / grain, int64_t{threads.count()} * 4);
  if (threads.count() == 1 || ranges <= 1) {
    body(int64_t{0}, count, 0);
    return;
  }
  threads.run(ranges,
              [&](int64_t index, int worker) { body(count * index / ranges, count * (index + 1) / ranges, worker); });
}

}  // namespace strop
