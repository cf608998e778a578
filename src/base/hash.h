/// Hashes: SHA-256 for whatever is kept or compared between machines, a fast one for tables in memory.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace strop {

/// The bytes of a text.
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A SHA-256 digest.
struct Digest {
  std::array<uint8_t, 32> bytes{};

  /// 64 lower-case hexadecimal digits.
  std::string hex() const;
  /// The inverse of hex; capitals are accepted.
  static Result<Digest> parse(std::string_view hex);

  friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// SHA-256 (FIPS 180-4) of a stream of bytes.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept = default;
  Sha256& operator=(Sha256&&) noexcept = default;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(bytes_of(text)); }
  /// The digest of all bytes given since construction or the last finish; starts anew.
  Digest finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

Digest sha256(std::span<const std::byte> bytes);
inline Digest sha256(std::string_view text) { return sha256(bytes_of(text)); }

/// A fast 64-bit hash for tables in memory. The same on every run, but not meant to be stored: it may change between
/// versions. Not resistant to chosen collisions.
uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed = 0);
inline uint64_t hash64(std::string_view text, uint64_t seed = 0) { return hash64(bytes_of(text), seed); }
/// Mixes `value` into the hash of what came before; the order matters.
uint64_t hash_combine(uint64_t hash, uint64_t value);

}  // namespace strop
