// Runtimes: threads, memory and log, ours or the caller's.
#include <algorithm>
#include <atomic>

#include "api/impl.h"

namespace strop {
namespace {

/// Hands messages to the caller's function.
class CallbackLog final : public Log {
 public:
  explicit CallbackLog(std::function<void(LogLevel, std::string_view)> sink) : sink_(std::move(sink)) {}
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel level, std::string_view message) override { sink_(level, message); }

 private:
  std::function<void(LogLevel, std::string_view)> sink_;
};

/// Loops on the caller's threads: each of its calls is one worker, which takes the next task until there is none. So it
/// does not matter in which order, and on which threads, the pool makes the calls.
class CallerThreads final : public Threads {
 public:
  explicit CallerThreads(std::shared_ptr<ThreadPool> pool)
      : pool_(std::move(pool)), count_(std::max(pool_->size(), 1)) {}

  int count() const override { return count_; }

  void run(int64_t tasks, FunctionRef<void(int64_t, int)> task) override {
    std::atomic<int64_t> next{0};
    const auto work = [&](int worker) {
      for (int64_t i = next++; i < tasks; i = next++) task(i, worker);
    };
    const auto workers = static_cast<int>(std::min<int64_t>(count_, tasks));
    if (workers > 1) pool_->run(workers, std::ref(work));  // a reference: such a function allocates nothing
    work(0);  // all of it with one worker; nothing is left otherwise, unless the pool did not do its part
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  const int count_;
};

/// Memory from the caller's allocator.
class CallerMemory final : public runtime::Memory {
 public:
  explicit CallerMemory(std::shared_ptr<Allocator> allocator) : allocator_(std::move(allocator)) {}
  void* allocate(size_t bytes, size_t alignment) override { return allocator_->allocate(bytes, alignment); }
  void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    allocator_->deallocate(memory, bytes, alignment);
  }

 private:
  std::shared_ptr<Allocator> allocator_;
};

/// Of runs: the caller's, or three quarters of the memory there is. 0: none.
int64_t run_limit_bytes(int64_t given) {
  if (given != 0) return std::max<int64_t>(given, 0);
  return usable_memory_bytes() / 4 * 3;
}

}  // namespace

const char* version() { return STROP_VERSION; }

ThreadPool::~ThreadPool() = default;
Allocator::~Allocator() = default;

Runtime::Runtime(RuntimeOptions options) : impl_(std::make_shared<Impl>()) {
  if (options.thread_pool) {
    impl_->threads = std::make_shared<CallerThreads>(std::move(options.thread_pool));
  } else {
    impl_->threads = make_thread_pool(options.threads > 0 ? options.threads : available_cpus());
  }
  if (options.allocator) impl_->memory = std::make_shared<CallerMemory>(std::move(options.allocator));
  impl_->memory_limit_bytes = options.memory_limit_bytes;
  const int64_t limit = run_limit_bytes(options.memory_limit_bytes);
  if (limit > 0) impl_->memory_limit = std::make_shared<MemoryLimit>(limit);
  if (options.log) {
    impl_->log = std::make_unique<CallbackLog>(std::move(options.log));
  } else {
    impl_->log = std::make_unique<StderrLog>(LogLevel::Warning);
  }
}

int Runtime::threads() const { return impl_->threads->count(); }
int64_t Runtime::memory_limit_bytes() const { return impl_->memory_limit_bytes; }
void Runtime::cancel() noexcept { impl_->cancel.cancel(); }

}  // namespace strop
