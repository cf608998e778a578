/// Inputs of the engine's fuzzer. A file's sections begin on pages and carry digests, which a mutation always breaks;
/// an input therefore is one byte that says what to do, then a file or only its sections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strop::fuzz {

/// Bits of the first byte.
inline constexpr uint8_t kSections = 1;     ///< what follows are sections (EngineSections), not a file
inline constexpr uint8_t kKeepDigests = 2;  ///< of a file: its bytes stay as they are; else its digests are made right
inline constexpr uint8_t kSigned = 4;       ///< sections are signed, and a signature is required

/// The Ed25519 key that signs inputs: RFC 8032, section 7.1, test 1.
inline constexpr std::string_view kSigningKeyHex = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
inline constexpr std::string_view kPublicKeyHex = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
std::string key_bytes(std::string_view hex);

/// The contents of an engine file. As an input: the first byte, the sizes of plan, notes and record (u32,
/// little-endian), then all four.
struct EngineSections {
  uint8_t flags = kSections;
  std::string plan;
  std::string notes;
  std::string record;
  std::string weights;
};

std::string to_input(const EngineSections& sections);
/// The inverse; sizes beyond the input's end are cut. Null if the input does not hold sections.
std::optional<EngineSections> sections_of(std::string_view input);
/// The sections of a file that the reader accepts.
EngineSections sections_of_file(std::string_view file);

/// The engine file that an input means.
std::string engine_file(std::string_view input);

}  // namespace strop::fuzz
