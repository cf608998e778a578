#include "base/hash.h"

#include <openssl/evp.h>

#include <bit>
#include <cstring>

#include "base/check.h"

namespace strop {
namespace {

// Odd numbers without pattern: 2^64 / golden ratio, and the two multipliers of SplitMix64's finaliser
// (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014; constants of Stafford's mix 13).
constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
constexpr uint64_t kMix1 = 0xBF58476D1CE4E5B9;
constexpr uint64_t kMix2 = 0x94D049BB133111EB;

// A bijection in which every input bit changes every output bit with probability near 1/2.
uint64_t finalize(uint64_t x) {
  x = (x ^ (x >> 30)) * kMix1;
  x = (x ^ (x >> 27)) * kMix2;
  return x ^ (x >> 31);
}

// One step of a lane: a bijection of the state for every word, so that no word is ever lost.
uint64_t absorb(uint64_t state, uint64_t word) { return std::rotl((state ^ word) * kMix1, 29) + kGolden; }

uint64_t load_word(const std::byte* bytes, size_t count) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, count);
  return word;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Digest::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<Digest> Digest::parse(std::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.bytes.size()) {
    return error(ErrorCode::InvalidArgument, "a SHA-256 digest has 64 hexadecimal digits, not {}", hex.size());
  }
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = hex_digit(hex[2 * i]);
    const int low = hex_digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return error(ErrorCode::InvalidArgument, "a SHA-256 digest has hexadecimal digits only, not '{}'",
                   hex.substr(2 * i, 2));
    }
    digest.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return digest;
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  STROP_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::update(std::span<const std::byte> bytes) {
  STROP_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() {
  Digest digest;
  STROP_CHECK(EVP_DigestFinal_ex(context_.get(), digest.bytes.data(), nullptr) == 1);
  STROP_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed) {
  // Two lanes, so that one's multiplication runs while the other's result is awaited.
  uint64_t even = seed ^ kMix2;
  uint64_t odd = seed + kGolden;
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 16; at += 16, left -= 16) {
    even = absorb(even, load_word(at, 8));
    odd = absorb(odd, load_word(at + 8, 8));
  }
  if (left >= 8) {
    even = absorb(even, load_word(at, 8));
    at += 8;
    left -= 8;
  }
  if (left > 0) odd = absorb(odd, load_word(at, left));
  // The length tells apart texts that end in zero bytes.
  return finalize(finalize(even ^ bytes.size() * kGolden) + std::rotl(odd, 32));
}

uint64_t hash_combine(uint64_t hash, uint64_t value) { return finalize(absorb(hash, finalize(value + kGolden))); }

}  // namespace strop
