#include "device/device.h"

namespace strop::device {

Result<double> time_us(Device& device, Stream& stream, FunctionRef<Result<void>()> work) {
  const auto before = device.make_event(), after = device.make_event();
  STROP_TRY(stream.record(*before));
  STROP_TRY(work());
  STROP_TRY(stream.record(*after));
  STROP_TRY(stream.synchronize());
  return device.elapsed_us(*before, *after);
}

}  // namespace strop::device
