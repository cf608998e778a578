#include "device/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

namespace strop::device {
namespace {

constexpr int64_t kAlignment = 256;

class HostMemory final : public Memory {
 public:
  HostMemory(void* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  ~HostMemory() override { std::free(data_); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  void* data() const override { return data_; }
  int64_t bytes() const override { return bytes_; }

 private:
  void* data_;
  int64_t bytes_;
};

using Clock = std::chrono::steady_clock;

struct ClockEvent final : Event {
  Clock::time_point at;
};

struct HostStream final : Stream {
  Result<void> record(Event& event) override {
    static_cast<ClockEvent&>(event).at = Clock::now();
    return {};
  }
  Result<void> wait(const Event&) override { return {}; }
  Result<void> synchronize() override { return {}; }
};

int64_t cache_bytes(int name) { return std::max(sysconf(name), 0L); }

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::string target) {
    properties_.name = cpu_name();
    properties_.target = std::move(target);
    properties_.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    properties_.fingerprint = fmt::format("cpu {} {} l1d={} l2={} l3={}", properties_.name, properties_.target,
                                          cache_bytes(_SC_LEVEL1_DCACHE_SIZE), cache_bytes(_SC_LEVEL2_CACHE_SIZE),
                                          cache_bytes(_SC_LEVEL3_CACHE_SIZE));
  }

  const Properties& properties() const override { return properties_; }

  Result<std::unique_ptr<Memory>> allocate(int64_t bytes) override {
    const int64_t rounded = (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    void* data = std::aligned_alloc(kAlignment, static_cast<size_t>(rounded));
    if (!data) return error(ErrorCode::OutOfMemory, "the CPU has no {} bytes left", bytes);
    return std::unique_ptr<Memory>(std::make_unique<HostMemory>(data, bytes));
  }
  Result<void> upload(const Memory& to, int64_t offset, std::span<const std::byte> from) override {
    STROP_CHECK(offset >= 0 && offset + static_cast<int64_t>(from.size()) <= to.bytes(), "an upload beyond the end");
    if (!from.empty()) std::memcpy(static_cast<std::byte*>(to.data()) + offset, from.data(), from.size());
    return {};
  }
  Result<void> download(const Memory& from, int64_t offset, std::span<std::byte> to) override {
    STROP_CHECK(offset >= 0 && offset + static_cast<int64_t>(to.size()) <= from.bytes(), "a download beyond the end");
    if (!to.empty()) std::memcpy(to.data(), static_cast<const std::byte*>(from.data()) + offset, to.size());
    return {};
  }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<HostStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<ClockEvent>(); }
  Result<double> elapsed_us(const Event& from, const Event& to) override {
    return std::chrono::duration<double, std::micro>(static_cast<const ClockEvent&>(to).at -
                                                     static_cast<const ClockEvent&>(from).at)
        .count();
  }

 private:
  Properties properties_;
};

}  // namespace

std::string cpu_name() {
  const auto text = read_file("/proc/cpuinfo", int64_t{1} << 24);
  if (text.ok()) {
    for (const std::string_view line : split(*text, '\n')) {
      const size_t colon = line.find(':');
      if (colon != std::string_view::npos && trim(line.substr(0, colon)) == "model name")
        return std::string(trim(line.substr(colon + 1)));
    }
  }
  return "unknown CPU";
}

std::unique_ptr<Device> make_cpu_device(std::string target) { return std::make_unique<CpuDevice>(std::move(target)); }

}  // namespace strop::device
