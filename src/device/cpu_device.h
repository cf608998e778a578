/// The CPU as a device: host memory, work done while it is enqueued, the monotonic clock.
#pragma once

#include "device/device.h"

namespace strop::device {

/// `target`: the instruction set that kernels use. The name and the caches are what the operating system says.
std::unique_ptr<Device> make_cpu_device(std::string target);

/// "AMD EPYC 7763 64-Core Processor"; "unknown CPU" where /proc/cpuinfo does not tell.
std::string cpu_name();

}  // namespace strop::device
