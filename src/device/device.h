/// A device: its memory, its streams, and events on them, behind one interface that the CPU, CUDA and a scripted fake
/// fill in. Work is timed between two events on a stream, on every device alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/check.h"
#include "base/function_ref.h"
#include "base/result.h"

namespace strop::device {

enum class Kind : uint8_t { Cpu, Cuda, Fake };

struct Properties {
  Kind kind = Kind::Cpu;
  std::string name;          ///< the maker's: "AMD EPYC 7763 64-Core Processor"
  std::string target;        ///< instruction set or "sm_90a"
  int64_t memory_bytes = 0;  ///< in all; 0: not known
  /// What measured times depend on: kind, name, target, caches. Timing caches are keyed by it.
  std::string fingerprint;
};

/// Memory of a device; freed with the object. `data` may be read by the host only where the device is the CPU.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* data() const = 0;  ///< aligned to 256 bytes
  virtual int64_t bytes() const = 0;
};

/// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
};

/// Work in order. Devices without asynchronous work (the CPU) do it while it is enqueued.
class Stream {
 public:
  virtual ~Stream() = default;
  /// The event stands for all work enqueued so far. An event may be recorded again.
  virtual Result<void> record(Event& event) = 0;
  /// Later work waits for what the event stands for; on the same device.
  virtual Result<void> wait(const Event& event) = 0;
  /// Returns when all work is done. Errors: what went wrong since the last call.
  virtual Result<void> synchronize() = 0;
};

/// Not for several threads at once; the objects it makes must not outlive it.
class Device {
 public:
  virtual ~Device() = default;
  virtual const Properties& properties() const = 0;

  /// Errors: OutOfMemory, with the number of bytes.
  virtual Result<std::unique_ptr<Memory>> allocate(int64_t bytes) = 0;
  /// Copies to and from host memory; done when they return. The range must lie inside.
  virtual Result<void> upload(const Memory& to, int64_t offset, std::span<const std::byte> from) = 0;
  virtual Result<void> download(const Memory& from, int64_t offset, std::span<std::byte> to) = 0;

  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Both recorded on one stream and complete.
  virtual Result<double> elapsed_us(const Event& from, const Event& to) = 0;
};

/// Enqueues `work` between two events and returns the time between them, in microseconds.
Result<double> time_us(Device& device, Stream& stream, FunctionRef<Result<void>()> work);

}  // namespace strop::device
