/// A device for tests: time passes only as scripted. Work takes the time it is said to take, changed by noise, drift
/// and spikes of a seeded generator; launches and allocations fail where the script says so.
#pragma once

#include <random>

#include "device/device.h"

namespace strop::device {

struct FakeScript {
  uint64_t seed = 0;
  double noise = 0;                         ///< standard deviation of each duration, relative to it
  double drift_per_second = 0;              ///< relative growth of all durations per second of the device's clock
  double spike_probability = 0;             ///< of a duration to be five times as long
  int64_t memory_bytes = int64_t{1} << 40;  ///< what can be allocated in all
  std::string name = "fake";
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(FakeScript script = {});

  const Properties& properties() const override { return properties_; }
  Result<std::unique_ptr<Memory>> allocate(int64_t bytes) override;
  Result<void> upload(const Memory& to, int64_t offset, std::span<const std::byte> from) override;
  Result<void> download(const Memory& from, int64_t offset, std::span<std::byte> to) override;
  std::unique_ptr<Stream> make_stream() override;
  std::unique_ptr<Event> make_event() override;
  Result<double> elapsed_us(const Event& from, const Event& to) override;

  /// The fake device that a stream of one belongs to.
  static FakeDevice& on(Stream& stream);
  /// Work on a stream of this device: the clock advances by about `duration_us`.
  Result<void> work(Stream& stream, double duration_us);
  /// The launch with this number (from now on, the first is 1) fails with ErrorCode::Device; 0: none.
  void fail_launch(int64_t number) { failing_launch_ = number == 0 ? 0 : launches_ + number; }

  double now_us() const { return now_us_; }
  int64_t launches() const { return launches_; }
  int64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  friend class FakeMemory;
  FakeScript script_;
  Properties properties_;
  std::mt19937_64 random_;
  double now_us_ = 0;
  int64_t launches_ = 0;
  int64_t failing_launch_ = 0;
  int64_t allocated_bytes_ = 0;
};

}  // namespace strop::device
