/// Elements as raw bytes: a type per width, so that loops over them are compiled per width.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace strop::kernels {

struct alignas(1) Bytes16 {
  char bytes[16];
};

/// Calls body(T{}) with the unsigned type of `bytes` (1, 2, 4, 8 or 16) bytes.
template <class Body>
decltype(auto) with_element_type(int64_t bytes, Body&& body) {
  switch (bytes) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 4: return body(uint32_t{});
    case 8: return body(uint64_t{});
    case 16: return body(Bytes16{});
    default: break;
  }
  STROP_UNREACHABLE("elements of {} bytes", bytes);
}

/// Calls body(copy), where copy(dst, src) copies `bytes` bytes: in one instruction or two for common small widths.
template <class Body>
decltype(auto) with_fixed_copy(int64_t bytes, Body&& body) {
  const auto fixed = [&]<int N>(std::integral_constant<int, N>) {
    return body([](char* dst, const char* src) { std::memcpy(dst, src, N); });
  };
  switch (bytes) {
    case 1: return fixed(std::integral_constant<int, 1>{});
    case 2: return fixed(std::integral_constant<int, 2>{});
    case 4: return fixed(std::integral_constant<int, 4>{});
    case 8: return fixed(std::integral_constant<int, 8>{});
    case 16: return fixed(std::integral_constant<int, 16>{});
    case 32: return fixed(std::integral_constant<int, 32>{});
    case 64: return fixed(std::integral_constant<int, 64>{});
    default: return body([bytes](char* dst, const char* src) { std::memcpy(dst, src, static_cast<size_t>(bytes)); });
  }
}

}  // namespace strop::kernels
