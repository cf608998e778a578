/// Changes to a protobuf message as a fuzzer makes them: fields are dropped, repeated, moved and changed, with the
/// lengths of all messages around them put right. Bytes changed at random mostly end in a wrong length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace strop::fuzz {

/// `words` are names that mean something to the reader: fields of text become one of them now and then. The same result
/// for the same seed; empty where the bytes are no message.
std::string mutate_message(std::string_view bytes, uint32_t seed, std::span<const std::string_view> words);

}  // namespace strop::fuzz
