/// Ed25519 signatures of an engine's header digest (RFC 8032, through OpenSSL).
#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"

namespace strop::engine {

/// 64 bytes. Error: the key is not 32 bytes.
Result<std::string> sign(std::string_view private_key, const Digest& digest);
/// Error: the key is not 32 bytes, or the signature does not fit.
Result<void> check_signature(std::string_view public_key, std::string_view signature, const Digest& digest);

}  // namespace strop::engine
