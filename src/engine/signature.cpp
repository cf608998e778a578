#include "engine/signature.h"

#include <openssl/evp.h>

#include <memory>

#include "base/check.h"

namespace strop::engine {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Error wrong_key(std::string_view kind, size_t size) {
  return error(ErrorCode::InvalidArgument, "an Ed25519 {} key has 32 bytes, this one has {}", kind, size);
}

}  // namespace

Result<std::string> sign(std::string_view private_key, const Digest& digest) {
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes(private_key), private_key.size()),
                EVP_PKEY_free);
  if (!key) return wrong_key("private", private_key.size());
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string signature(64, '\0');
  size_t size = signature.size();
  const bool done = EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                                   digest.bytes.data(), digest.bytes.size()) == 1;
  STROP_CHECK(done && size == 64, "signing failed");
  return signature;
}

Result<void> check_signature(std::string_view public_key, std::string_view signature, const Digest& digest) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes(public_key), public_key.size()),
                EVP_PKEY_free);
  if (!key) return wrong_key("public", public_key.size());
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const bool valid = EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                     EVP_DigestVerify(context.get(), bytes(signature), signature.size(), digest.bytes.data(),
                                      digest.bytes.size()) == 1;
  if (!valid) return error(ErrorCode::InvalidEngine, "its signature was not made with the required key");
  return {};
}

}  // namespace strop::engine
