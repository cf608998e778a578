#include "base/threads.h"

#include <immintrin.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace strop {
namespace {

// Long enough to cover the gap between two steps of an engine, short enough that an idle pool is asleep at once.
constexpr int kSpins = 4000;

class ThreadPool final : public Threads {
 public:
  explicit ThreadPool(int count) : count_(std::max(count, 1)) {
    for (int worker = 1; worker < count_; ++worker) workers_.emplace_back([this, worker] { work(worker); });
  }

  ~ThreadPool() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& thread : workers_) thread.join();
  }

  int count() const override { return count_; }

  void run(int64_t tasks, FunctionRef<void(int64_t, int)> task) override {
    if (count_ == 1 || tasks <= 1) {
      for (int64_t i = 0; i < tasks; ++i) task(i, 0);
      return;
    }
    std::lock_guard serialise(run_mutex_);
    task_ = &task;
    tasks_ = tasks;
    next_.store(0, std::memory_order_relaxed);
    pending_.store(count_ - 1, std::memory_order_relaxed);
    bool sleepers = false;
    {
      std::lock_guard lock(mutex_);
      generation_.fetch_add(1, std::memory_order_release);
      sleepers = sleeping_ > 0;
    }
    if (sleepers) wake_.notify_all();
    drain(0);
    int spins = 0;
    while (pending_.load(std::memory_order_acquire) != 0) {
      if (++spins < kSpins) {
        _mm_pause();
      } else {
        std::this_thread::yield();  // a worker may have lost its CPU to another process
      }
    }
    task_ = nullptr;
  }

 private:
  void drain(int worker) {
    const auto& task = *task_;
    for (int64_t i = next_.fetch_add(1, std::memory_order_relaxed); i < tasks_;
         i = next_.fetch_add(1, std::memory_order_relaxed)) {
      task(i, worker);
    }
  }

  void work(int worker) {
    uint64_t seen = 0;
    while (true) {
      for (int spins = 0; spins < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spins) _mm_pause();
      if (generation_.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex_);
        ++sleeping_;
        wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
        --sleeping_;
      }
      seen = generation_.load(std::memory_order_acquire);
      if (stop_) return;
      drain(worker);
      pending_.fetch_sub(1, std::memory_order_release);
    }
  }

  const int count_;
  std::vector<std::thread> workers_;
  std::mutex run_mutex_;  // one loop at a time
  std::mutex mutex_;      // guards sleeping_ and the sleep/wake handshake
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};
  int sleeping_ = 0;
  bool stop_ = false;
  const FunctionRef<void(int64_t, int)>* task_ = nullptr;
  int64_t tasks_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<int> pending_{0};
};

}  // namespace

std::unique_ptr<Threads> make_thread_pool(int count) {
  if (count <= 1) return std::make_unique<SingleThread>();
  return std::make_unique<ThreadPool>(count);
}

int available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace strop
