#include "device/fake_device.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace strop::device {

class FakeMemory final : public Memory {
 public:
  FakeMemory(FakeDevice& device, int64_t bytes) : device_(device), bytes_(static_cast<size_t>(bytes)) {
    device_.allocated_bytes_ += bytes;
  }
  ~FakeMemory() override { device_.allocated_bytes_ -= bytes(); }
  FakeMemory(const FakeMemory&) = delete;
  FakeMemory& operator=(const FakeMemory&) = delete;
  void* data() const override { return const_cast<std::byte*>(bytes_.data()); }
  int64_t bytes() const override { return static_cast<int64_t>(bytes_.size()); }

 private:
  FakeDevice& device_;
  std::vector<std::byte> bytes_;
};

namespace {

struct FakeEvent final : Event {
  double at_us = -1;
};

struct FakeStream final : Stream {
  explicit FakeStream(FakeDevice& owner) : device(owner) {}
  Result<void> record(Event& event) override {
    static_cast<FakeEvent&>(event).at_us = device.now_us();
    return {};
  }
  Result<void> wait(const Event& event) override {
    STROP_CHECK(static_cast<const FakeEvent&>(event).at_us >= 0, "waiting for an event that was never recorded");
    return {};
  }
  Result<void> synchronize() override { return {}; }
  FakeDevice& device;
};

}  // namespace

FakeDevice::FakeDevice(FakeScript script) : script_(std::move(script)), random_(script_.seed) {
  properties_ = {Kind::Fake, script_.name, "fake", script_.memory_bytes, "fake " + script_.name};
}

Result<std::unique_ptr<Memory>> FakeDevice::allocate(int64_t bytes) {
  if (bytes > script_.memory_bytes - allocated_bytes_)
    return error(ErrorCode::OutOfMemory, "the fake device has no {} bytes left", bytes);
  return std::unique_ptr<Memory>(std::make_unique<FakeMemory>(*this, bytes));
}

Result<void> FakeDevice::upload(const Memory& to, int64_t offset, std::span<const std::byte> from) {
  STROP_CHECK(offset >= 0 && offset + static_cast<int64_t>(from.size()) <= to.bytes(), "an upload beyond the end");
  if (!from.empty()) std::memcpy(static_cast<std::byte*>(to.data()) + offset, from.data(), from.size());
  return {};
}

Result<void> FakeDevice::download(const Memory& from, int64_t offset, std::span<std::byte> to) {
  STROP_CHECK(offset >= 0 && offset + static_cast<int64_t>(to.size()) <= from.bytes(), "a download beyond the end");
  if (!to.empty()) std::memcpy(to.data(), static_cast<const std::byte*>(from.data()) + offset, to.size());
  return {};
}

std::unique_ptr<Stream> FakeDevice::make_stream() { return std::make_unique<FakeStream>(*this); }
std::unique_ptr<Event> FakeDevice::make_event() { return std::make_unique<FakeEvent>(); }

Result<double> FakeDevice::elapsed_us(const Event& from, const Event& to) {
  const double begin = static_cast<const FakeEvent&>(from).at_us, end = static_cast<const FakeEvent&>(to).at_us;
  STROP_CHECK(begin >= 0 && end >= begin, "the time between events that were not recorded in this order");
  return end - begin;
}

FakeDevice& FakeDevice::on(Stream& stream) { return static_cast<FakeStream&>(stream).device; }

Result<void> FakeDevice::work(Stream& stream, double duration_us) {
  STROP_CHECK(&static_cast<FakeStream&>(stream).device == this, "work on another device's stream");
  if (++launches_ == failing_launch_) return error(ErrorCode::Device, "the fake device failed, as scripted");
  std::normal_distribution<double> normal(1, script_.noise);
  double duration = duration_us * std::max(0.1, script_.noise > 0 ? normal(random_) : 1.0);
  duration *= 1 + script_.drift_per_second * now_us_ * 1e-6;
  if (std::bernoulli_distribution(script_.spike_probability)(random_)) duration *= 5;
  now_us_ += duration;
  return {};
}

}  // namespace strop::device
