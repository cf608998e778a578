#include "fuzz/wire_mutator.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace strop::fuzz {
namespace {

using Random = std::mt19937;

size_t below(Random& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

constexpr int kMaxDepth = 24;

/// A field of a message: a number, raw bytes (fixed-width values, texts, packed runs), or a message.
struct Field {
  uint64_t tag = 0;  // field number and wire type
  uint64_t number = 0;
  std::string bytes;
  std::optional<std::vector<Field>> message;
};
using Message = std::vector<Field>;

std::optional<uint64_t> read_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Whether a field of bytes is a message cannot be told from the bytes: it is taken for one if it reads as one.
std::optional<Message> parse(std::string_view bytes, int depth) {
  Message message;
  while (!bytes.empty()) {
    Field field;
    const auto tag = read_varint(bytes);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 64) return std::nullopt;
    field.tag = *tag;
    size_t size = 0;
    switch (*tag & 7) {
      case 0: {
        const auto number = read_varint(bytes);
        if (!number) return std::nullopt;
        field.number = *number;
        message.push_back(std::move(field));
        continue;
      }
      case 1: size = 8; break;
      case 5: size = 4; break;
      case 2: {
        const auto length = read_varint(bytes);
        if (!length) return std::nullopt;
        size = *length;
        break;
      }
      default: return std::nullopt;
    }
    if (size > bytes.size()) return std::nullopt;
    field.bytes = bytes.substr(0, size);
    bytes.remove_prefix(size);
    if ((*tag & 7) == 2 && size > 1 && depth < kMaxDepth) field.message = parse(field.bytes, depth + 1);
    message.push_back(std::move(field));
  }
  return message;
}

void write_varint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string to_bytes(const Message& message) {
  std::string out;
  for (const Field& field : message) {
    write_varint(field.tag, out);
    if ((field.tag & 7) == 0) {
      write_varint(field.number, out);
      continue;
    }
    const std::string inner = field.message ? to_bytes(*field.message) : field.bytes;
    if ((field.tag & 7) == 2) write_varint(inner.size(), out);
    out += inner;
  }
  return out;
}

void gather(Message& message, std::vector<Message*>& all) {
  all.push_back(&message);
  for (Field& field : message) {
    if (field.message) gather(*field.message, all);
  }
}

uint64_t changed(uint64_t number, Random& random) {
  constexpr std::array<int64_t, 10> kCorners = {0,  1, -1, 2, INT64_MAX, INT64_MIN, int64_t{1} << 31, int64_t{1} << 40,
                                                -2, 7};
  switch (below(random, 4)) {
    case 0: return static_cast<uint64_t>(kCorners[below(random, kCorners.size())]);
    case 1: return number + 1;
    case 2: return number - 1;
    default: return below(random, 30);
  }
}

void change_bytes(std::string& bytes, Random& random, std::span<const std::string_view> words) {
  switch (below(random, 5)) {
    case 0: bytes = words[below(random, words.size())]; break;
    case 1: bytes.erase(below(random, bytes.size() + 1), 1 + below(random, 8)); break;
    case 2: bytes.insert(below(random, bytes.size() + 1), 1 + below(random, 8), static_cast<char>(random())); break;
    default:
      if (!bytes.empty()) bytes[below(random, bytes.size())] = static_cast<char>(random());
  }
}

void change_field(Field& field, Random& random, std::span<const std::string_view> words) {
  if (below(random, 12) == 0) {
    field.tag = (1 + below(random, 26)) << 3 | (field.tag & 7);
  } else if ((field.tag & 7) == 0) {
    field.number = changed(field.number, random);
  } else if (field.message && below(random, 4) != 0) {
    field.message.emplace();
  } else if ((field.tag & 7) == 2) {
    if (field.message) field.bytes = to_bytes(*field.message);
    field.message.reset();
    change_bytes(field.bytes, random, words);
  } else if (!field.bytes.empty()) {
    field.bytes[below(random, field.bytes.size())] = static_cast<char>(random());
  }
}

void change(Message& root, Random& random, std::span<const std::string_view> words) {
  std::vector<Message*> all;
  gather(root, all);
  Message& message = *all[below(random, all.size())];
  const Message& other = *all[below(random, all.size())];
  const auto place = [&] { return message.begin() + static_cast<std::ptrdiff_t>(below(random, message.size() + 1)); };
  const size_t what = below(random, 8);
  if (what == 0 && !other.empty()) {
    Field copy = other[below(random, other.size())];
    message.insert(place(), std::move(copy));
    return;
  }
  if (message.empty()) return;
  const size_t i = below(random, message.size());
  switch (what) {
    case 1: message.erase(message.begin() + static_cast<std::ptrdiff_t>(i)); break;
    case 2: {
      Field copy = message[i];
      message.insert(place(), std::move(copy));
      break;
    }
    case 3: std::swap(message[i], message[below(random, message.size())]); break;
    default: change_field(message[i], random, words); break;
  }
}

}  // namespace

std::string mutate_message(std::string_view bytes, uint32_t seed, std::span<const std::string_view> words) {
  auto message = parse(bytes, 0);
  if (!message || message->empty()) return {};
  Random random(seed);
  for (size_t count = 1 + below(random, 3); count > 0; --count) change(*message, random, words);
  return to_bytes(*message);
}

}  // namespace strop::fuzz
