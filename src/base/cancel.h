/// Cooperative cancellation: long work looks at a token now and then and returns early.
#pragma once

#include <atomic>
#include <memory>

#include "base/result.h"

namespace strop {

/// A flag that copies share. Once set it stays set. Threads and signal handlers may call any member.
class CancelToken {
 public:
  void cancel() const { flag_->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return flag_->load(std::memory_order_relaxed); }
  /// ErrorCode::Cancelled if cancelled; for STROP_TRY.
  Result<void> check() const {
    if (cancelled()) return error(ErrorCode::Cancelled, "cancelled");
    return {};
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace strop
