/// Memory that this process holds.
#pragma once

#include <cstdint>

namespace strop {

/// Resident memory in bytes that is no file's (mapped models and engines are not counted). 0 where the operating system
/// does not tell.
int64_t resident_bytes();

}  // namespace strop
